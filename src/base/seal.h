/* seal.h - a hash inside the bytes that it protects.
 *
 * A sealed file holds `"xxh3":"0123456789abcdef"` in its JSON. The digits are the XXH3
 * hash (64 bits) of all bytes of the file, where these digits themselves count as
 * zeros. The hash finds damage; it is no signature. */
#pragma once

#include "base/base.h"

#define CLA_SEAL_KEY   "xxh3"
#define CLA_SEAL_BLANK "0000000000000000" // the digits before cla_seal_put
enum { CLA_HASH_TEXT = 17 };              // 16 digits and a NUL

typedef enum cla_seal { CLA_SEAL_NONE, CLA_SEAL_GOOD, CLA_SEAL_BROKEN } cla_seal;

/* Writes XXH3 of bytes as 16 hexadecimal digits. */
void cla_hash_text(char text[CLA_HASH_TEXT], const void *bytes, size_t size);

/* Puts the hash of bytes into the first seal within the first head bytes. Returns false
 * when there is none. */
bool cla_seal_put(char *bytes, size_t size, size_t head);

/* Compares the hash of bytes with the first seal within the first head bytes. Writes to
 * bytes in between, and leaves them as they were. */
cla_seal cla_seal_check(char *bytes, size_t size, size_t head);
