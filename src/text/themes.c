/* themes.c - a poets' dictionary: lists of words by theme. */
#include "text/themes.h"

#include <string.h>

#include "base/file.h"
#include "text/lines.h"

void cla_themes_free(cla_themes *t)
{
    free(t->word);
    free(t->end);
    *t = (cla_themes){ 0 };
}

/* ---- files ------------------------------------------------------------------- */

typedef struct reader {
    cla_themes *themes;
    const cla_ranking *ranking;
} reader;

/* Returns whether one is in word [from .. end). */
static bool stands(const int *word, size_t from, size_t end, int one)
{
    for (size_t i = from; i < end; i++) {
        if (word[i] == one) {
            return true;
        }
    }
    return false;
}

static cla_status add_theme(void *to, size_t number, char *text, size_t size)
{
    const reader *r = to;
    cla_themes *t = r->themes;
    const size_t first = t->word_count;
    char *rest = NULL;
    (void)number;
    (void)size;
    for (char *word = strtok_r(text, " \t", &rest); word;
         word = strtok_r(NULL, " \t", &rest)) {
        const int rank = cla_vocab_find(&r->ranking->words, word);
        if (rank < 0 || stands(t->word, first, t->word_count, rank)) {
            continue;
        }
        CLA_TRY(cla_grow(&t->word, &t->word_cap, t->word_count + 1, sizeof *t->word));
        t->word[t->word_count++] = rank;
    }
    if (t->word_count - first < 2) {
        t->word_count = first;
        return CLA_OK;
    }
    CLA_TRY(cla_grow(&t->end, &t->end_cap, t->count + 1, sizeof *t->end));
    t->end[t->count++] = t->word_count;
    return CLA_OK;
}

cla_status cla_themes_read(cla_themes *t, const char *path, const cla_ranking *ranking)
{
    *t = (cla_themes){ 0 };
    reader r = { t, ranking };
    cla_status status = cla_lines_filled(path, add_theme, &r);
    if (!status && !t->count) {
        status = cla_fail(CLA_E_INPUT, "%s: no line has two words of the poems", path);
    }
    if (status) {
        cla_themes_free(t);
    }
    return status;
}

cla_status cla_themes_save(const cla_themes *t, const char *path,
                           const cla_ranking *ranking)
{
    cla_text text = { 0 };
    cla_status status = CLA_OK;
    for (size_t k = 0, i = 0; k < t->count; k++) {
        for (; i < t->end[k] && !status; i++) {
            status = cla_text_add(&text, "%s%s", ranking->words.tokens[t->word[i]],
                                  i + 1 == t->end[k] ? "\n" : " ");
        }
    }
    status = status ? status : cla_file_write(path, text.data, text.size);
    cla_text_free(&text);
    return status;
}

/* ---- words of a theme -------------------------------------------------------- */

/* Returns the rank with the highest count that is not in word [n]; -1: none. */
static int best_of(const int *count, size_t ranked, const int *word, size_t n)
{
    int best = -1;
    for (size_t i = 0; i < ranked; i++) {
        if (count[i] && !stands(word, 0, n, (int)i) &&
            (best < 0 || count[i] > count[best])) {
            best = (int)i;
        }
    }
    return best;
}

cla_status cla_themes_near(const cla_themes *t, size_t ranked, int *word, size_t asked,
                           size_t *n, size_t most)
{
    int *count = NULL, best = 0;
    CLA_TRY(cla_alloc(&count, ranked + 1, sizeof *count));
    for (size_t k = 0, from = 0; k < t->count; from = t->end[k++]) {
        bool has = false;
        for (size_t i = from; i < t->end[k] && !has; i++) {
            has = stands(word, 0, asked, t->word[i]);
        }
        for (size_t i = from; i < t->end[k] && has; i++) {
            count[t->word[i]]++;
        }
    }
    while (*n < most && (best = best_of(count, ranked, word, *n)) >= 0) {
        word[(*n)++] = best;
    }
    free(count);
    return CLA_OK;
}
