/* seal.c - a hash inside the bytes that it protects. */
#include "base/seal.h"

#include <string.h>

#include "base/platform.h"

enum { DIGITS = CLA_HASH_TEXT - 1 };

static const char key[] = "\"" CLA_SEAL_KEY "\":";

static void write_digits(char text[DIGITS], uint64_t hash)
{
    static const char digits[] = "0123456789abcdef";
    for (int i = DIGITS - 1; i >= 0; i--, hash >>= 4) {
        text[i] = digits[hash & 15];
    }
}

void cla_hash_text(char text[CLA_HASH_TEXT], const void *bytes, size_t size)
{
    write_digits(text, XXH3_64bits(size ? bytes : "", size));
    text[DIGITS] = '\0';
}

/* Returns the first digit of the first seal in bytes [head], or NULL. Sets *there to
 * whether its key exists, even where the digits are damaged. */
static char *find(char *bytes, size_t head, bool *there)
{
    char *at = cla_os_find(bytes, head, key, sizeof key - 1);
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

static void begin(cla_seal_watch *w, char *bytes, size_t size, size_t head)
{
    bool there = false;
    char *place = find(bytes, head, &there);
    XXH3_INITSTATE(&w->state);
    XXH3_64bits_reset(&w->state);
    w->seal = place ? CLA_SEAL_GOOD : there ? CLA_SEAL_BROKEN : CLA_SEAL_NONE;
    if (!place) return;
    memcpy(w->said, place, DIGITS);
    memcpy(place, CLA_SEAL_BLANK, DIGITS);
    XXH3_64bits_update(&w->state, bytes, size);
    memcpy(place, w->said, DIGITS);
}

void cla_seal_see(cla_seal_watch *w, char *bytes, size_t size, size_t head)
{
    if (w->hashed == 0) {
        begin(w, bytes, size, head);
    } else if (w->seal == CLA_SEAL_GOOD) {
        XXH3_64bits_update(&w->state, bytes + w->hashed, size - w->hashed);
    }
    w->hashed = size;
}

cla_seal cla_seal_end(cla_seal_watch *w)
{
    char hash[DIGITS];
    if (w->seal != CLA_SEAL_GOOD) return w->seal;
    write_digits(hash, XXH3_64bits_digest(&w->state));
    return memcmp(w->said, hash, DIGITS) ? CLA_SEAL_BROKEN : CLA_SEAL_GOOD;
}

cla_seal cla_seal_check(char *bytes, size_t size, size_t head)
{
    cla_seal_watch watch = { 0 };
    cla_seal_see(&watch, bytes, size, head);
    return cla_seal_end(&watch);
}
