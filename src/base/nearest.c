/* nearest.c - suggests a known word for an unknown one. */
#include "base/nearest.h"

#include <string.h>

enum { WORD_BYTES = 64 };

/* ---- typing errors ----------------------------------------------------------- */

static size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Returns the number of letters to insert, drop, change, or swap with their neighbour
 * (Damerau 1964, each letter edited once). Words are cut at WORD_BYTES. */
static size_t distance(const char *a, const char *b)
{
    size_t rows[3][WORD_BYTES + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    const size_t size = strnlen(b, WORD_BYTES);
    for (size_t j = 0; j <= size; j++) {
        row[j] = j;
    }
    for (size_t i = 0; i < WORD_BYTES && a[i]; i++) {
        size_t *const next = before;
        before = above;
        above = row;
        row = next;
        row[0] = i + 1;
        for (size_t j = 1; j <= size; j++) {
            const size_t changed = above[j - 1] + (a[i] != b[j - 1]);
            row[j] = least_of(least_of(above[j], row[j - 1]) + 1, changed);
            if (i && j > 1 && a[i] == b[j - 2] && a[i - 1] == b[j - 1]) {
                row[j] = least_of(row[j], before[j - 2] + 1);
            }
        }
    }
    return row[size];
}

/* ---- parts and initials ------------------------------------------------------ */

/* Returns the length of the part of a name at word: up to '_', '-' or the end, without
 * the s of a plural. *step is the distance to the next part. */
static size_t part_size(const char *word, size_t *step)
{
    const size_t size = strcspn(word, "_-");
    *step = size + (word[size] != 0);
    return size > 2 && word[size - 1] == 's' ? size - 1 : size;
}

static bool has_part(const char *word, const char *part, size_t size)
{
    for (size_t step = 0; *word; word += step) {
        const size_t here = part_size(word, &step);
        if (here == size && memcmp(word, part, size) == 0) {
            return true;
        }
    }
    return false;
}

/* Returns whether every part of a is also a part of b. */
static bool parts_within(const char *a, const char *b)
{
    for (size_t step = 0; *a; a += step) {
        const size_t size = part_size(a, &step);
        if (!size || !has_part(b, a, size)) {
            return false;
        }
    }
    return true;
}

/* Returns whether a consists of the initials of b, which must have several parts. */
static bool initials(const char *a, const char *b)
{
    const bool several = b[strcspn(b, "_-")] != 0;
    for (size_t step = 0; *b && *a == *b; b += step) {
        part_size(b, &step);
        a++;
    }
    return several && !*a && !*b;
}

static bool same_thing(const char *word, const char *known)
{
    return initials(known, word) || initials(word, known) ||
           parts_within(known, word) || parts_within(word, known);
}

/* ---- the choice -------------------------------------------------------------- */

static const char *least_distant(const char *word, const char *const *words,
                                 size_t most)
{
    const char *best = NULL;
    for (; *words; words++) {
        const size_t slips = distance(word, *words);
        if (slips < strlen(*words) && slips <= most && (slips < most || !best)) {
            most = slips;
            best = *words;
        }
    }
    return best;
}

const char *cla_nearest(const char *word, const char *const *words)
{
    const size_t size = strnlen(word, WORD_BYTES);
    const char *slip = least_distant(word, words, 1);
    for (size_t i = 0; !slip && size > 1 && words[i]; i++) {
        slip = same_thing(word, words[i]) ? words[i] : NULL;
    }
    return slip ? slip : least_distant(word, words, (size + 1) / 3);
}
