/* seal.h - a hash inside the bytes that it protects.
 *
 * A sealed file holds `"xxh3":"0123456789abcdef"` in its JSON. The digits are the
 * 64-bit XXH3 hash of all bytes of the file, computed with a 0 in place of each digit.
 * The hash finds damage; it is not a signature. */
#pragma once

#define XXH_STATIC_LINKING_ONLY // for the size of XXH3_state_t
#include <xxhash.h>

#include "base/base.h"

#define CLA_SEAL_KEY   "xxh3"
#define CLA_SEAL_BLANK "0000000000000000" // the digits before cla_seal_put
enum { CLA_HASH_TEXT = 17 };              // 16 digits and a NUL

typedef enum cla_seal { CLA_SEAL_NONE, CLA_SEAL_GOOD, CLA_SEAL_BROKEN } cla_seal;

/* Writes XXH3 of bytes as 16 hexadecimal digits. */
void cla_hash_text(char text[CLA_HASH_TEXT], const void *bytes, size_t size);

/* Writes the hash of bytes into the first seal within the first head bytes. Returns
 * false when there is none. */
bool cla_seal_put(char *bytes, size_t size, size_t head);

/* The check of a file that arrives piece by piece. {0} at first. */
typedef struct cla_seal_watch {
    XXH3_state_t state;
    size_t hashed; // bytes so far
    cla_seal seal; // GOOD before cla_seal_end: digits were found
    char said[CLA_HASH_TEXT - 1];
} cla_seal_watch;

/* Hashes the new bytes among the first size. The first call must contain the first head
 * bytes, which hold the seal; it changes the digits for a moment and restores them. */
void cla_seal_see(cla_seal_watch *watch, char *bytes, size_t size, size_t head);

/* Compares the hash of all hashed bytes with the seal. */
cla_seal cla_seal_end(cla_seal_watch *watch);

/* Checks bytes that are all in memory; changes them for a moment, too. */
cla_seal cla_seal_check(char *bytes, size_t size, size_t head);
