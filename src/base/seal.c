/* seal.c - a hash inside the bytes that it protects. */
#include "base/seal.h"

#include <string.h>
#include <xxhash.h>

enum { DIGITS = CLA_HASH_TEXT - 1 };

static const char key[] = "\"" CLA_SEAL_KEY "\":";

void cla_hash_text(char text[CLA_HASH_TEXT], const void *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    uint64_t hash = XXH3_64bits(size ? bytes : "", size);
    for (int i = DIGITS - 1; i >= 0; i--, hash >>= 4) {
        text[i] = digits[hash & 15];
    }
    text[DIGITS] = '\0';
}

/* The first digit of the first seal. *there: whether its key was found, even where the
 * digits are damaged. */
static char *find(char *bytes, size_t head, bool *there)
{
    char *at = memmem(bytes, head, key, sizeof key - 1);
    const char *end = bytes + head;
    *there = at != NULL;
    if (!at) return NULL;
    at += sizeof key - 1;
    at += at < end && *at == ' ';
    if (end - at < DIGITS + 2 || *at != '"' || at[DIGITS + 1] != '"') return NULL;
    at++;
    for (int i = 0; i < DIGITS; i++) {
        if (!strchr("0123456789abcdef", at[i]) || !at[i]) return NULL;
    }
    return at;
}

bool cla_seal_put(char *bytes, size_t size, size_t head)
{
    bool there = false;
    char hash[CLA_HASH_TEXT], *place = find(bytes, head, &there);
    if (!place) return false;
    memcpy(place, CLA_SEAL_BLANK, DIGITS);
    cla_hash_text(hash, bytes, size);
    memcpy(place, hash, DIGITS);
    return true;
}

cla_seal cla_seal_check(char *bytes, size_t size, size_t head)
{
    bool there = false;
    char *place = find(bytes, head, &there), said[DIGITS], hash[CLA_HASH_TEXT];
    if (!place) return there ? CLA_SEAL_BROKEN : CLA_SEAL_NONE;
    memcpy(said, place, DIGITS);
    memcpy(place, CLA_SEAL_BLANK, DIGITS);
    cla_hash_text(hash, bytes, size);
    memcpy(place, said, DIGITS);
    return memcmp(said, hash, DIGITS) ? CLA_SEAL_BROKEN : CLA_SEAL_GOOD;
}
