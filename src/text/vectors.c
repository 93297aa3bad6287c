/* vectors.c - word vectors: files, and nearest neighbours. */
#include "text/vectors.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "text/lines.h"

#define BLANKS " \t"

enum { MAX_DIM = 4096 };

void cla_vectors_free(cla_vectors *v)
{
    cla_vocab_free(&v->words);
    free(v->value);
    *v = (cla_vectors){ 0 };
}

cla_status cla_vectors_add(cla_vectors *v, const char *word, float **vector)
{
    int id = 0;
    const size_t known = v->words.count, dim = (size_t)v->dim;
    CLA_TRY(cla_vocab_add(&v->words, word, 0, &id));
    if (v->words.count > known) {
        CLA_TRY(cla_grow(&v->value, &v->cap, v->words.count * dim, sizeof *v->value));
        memset(v->value + known * dim, 0, dim * sizeof *v->value);
    }
    *vector = v->value + (size_t)id * dim;
    return CLA_OK;
}

const float *cla_vectors_find(const cla_vectors *v, const char *word)
{
    const int id = cla_vocab_find(&v->words, word);
    return id < 0 ? NULL : v->value + (size_t)id * (size_t)v->dim;
}

size_t cla_vectors_fill(const cla_vectors *v, const cla_vocab *vocab, float *table)
{
    size_t filled = 0;
    const size_t dim = (size_t)v->dim;
    for (size_t i = 0; i < vocab->count; i++) {
        const float *vector = cla_vectors_find(v, vocab->tokens[i]);
        if (vector) {
            memcpy(table + i * dim, vector, dim * sizeof *table);
            filled++;
        }
    }
    return filled;
}

/* ---- reading ----------------------------------------------------------------- */

/* State while a file is read. */
typedef struct reader {
    cla_vectors *vectors;
    const cla_vocab *only;
    const char *path;
    int dim; // required dimension; 0: any
    size_t line;
    int64_t promised; // number of words in the first line; -1: not given
    int64_t seen;
    char *field[MAX_DIM]; // numbers of the line
} reader;

static cla_status bad(const reader *r, const char *what, const char *detail)
{
    return cla_fail(CLA_E_INPUT, "%s:%zu: %s '%.40s'", r->path, r->line, what, detail);
}

/* Reads the first line if it is two integers: the number of words and the dimension. */
static bool read_head(reader *r, const char *line, int64_t *dim)
{
    char words[32], numbers[32], more[2];
    int64_t promised = 0;
    if (sscanf(line, "%31s %31s %1s", words, numbers, more) != 2 ||
        !cla_parse_int(words, &promised) || !cla_parse_int(numbers, dim)) {
        return false;
    }
    r->promised = promised;
    return true;
}

/* Cuts the last n fields off line, which leaves the word before them. Returns false
 * when there is none. */
static bool cut_fields(char *line, int n, char **field)
{
    size_t size = strlen(line);
    for (int k = n; k >= 0; k--) {
        while (size && strchr(BLANKS, line[size - 1])) {
            line[--size] = 0;
        }
        while (k && size && !strchr(BLANKS, line[size - 1])) {
            size--;
        }
        if (k) {
            field[k - 1] = line + size;
        }
    }
    return size > 0;
}

/* Returns whether the word of a line is empty: a blank and a number begin it. */
static bool is_wordless(const char *line)
{
    char first[64];
    double number = 0;
    return *line && strchr(BLANKS, *line) && sscanf(line, "%63s", first) == 1 &&
           cla_parse_double(first, &number);
}

/* Returns whether a word with blanks ends in a number: then the line has too many. */
static bool ends_in_number(const char *word)
{
    double number = 0;
    const char *last = word + strlen(word);
    while (last > word && !strchr(BLANKS, last[-1])) {
        last--;
    }
    return last > word && cla_parse_double(last, &number);
}

static cla_status read_numbers(const reader *r, float *vector)
{
    for (int k = 0; k < r->vectors->dim; k++) {
        double number = 0;
        if (!cla_parse_double(r->field[k], &number) || !isfinite((float)number)) {
            return bad(r, "no number", r->field[k]);
        }
        vector[k] = (float)number;
    }
    return CLA_OK;
}

static cla_status read_vector(reader *r, char *line)
{
    cla_vectors *v = r->vectors;
    float *vector = NULL;
    const bool wordless = is_wordless(line);
    r->seen++;
    if ((!cut_fields(line, v->dim, r->field) && !wordless) || ends_in_number(line)) {
        return cla_fail(CLA_E_INPUT, "%s:%zu: must be a word and %d numbers", r->path,
                        r->line, v->dim);
    }
    if (!*line || (r->only && !cla_vocab_spells(r->only, line)) ||
        cla_vocab_find(&v->words, line) >= 0) {
        v->passed_over++;
        return CLA_OK;
    }
    CLA_TRY(cla_vectors_add(v, line, &vector));
    return read_numbers(r, vector);
}

/* Finds the dimension from the first line. *is_head: the line is no vector. */
static cla_status begin(reader *r, const char *line, bool *is_head)
{
    const int dim = r->dim;
    int64_t found = 0;
    *is_head = read_head(r, line, &found);
    if (!*is_head) {
        found = (int64_t)cla_count_words(line, BLANKS) - !is_wordless(line);
    }
    if (found < 1 || found > MAX_DIM || (dim && found != dim)) {
        return cla_fail(CLA_E_INPUT, "%s:%zu: vectors of %lld numbers, must be %s%d",
                        r->path, r->line, (long long)found, dim ? "" : "1 to ",
                        dim ? dim : MAX_DIM);
    }
    r->vectors->dim = (int)found;
    return CLA_OK;
}

static cla_status read_line(void *to, size_t number, char *line, size_t size)
{
    reader *r = to;
    bool is_head = false;
    (void)size;
    r->line = number;
    if (!r->vectors->dim) {
        CLA_TRY(begin(r, line, &is_head));
    }
    return is_head ? CLA_OK : read_vector(r, line);
}

/* Checks that the file has the promised number of words, and at least one was read. */
static cla_status check_counts(const reader *r)
{
    if (r->promised >= 0 && r->promised != r->seen) {
        return cla_fail(CLA_E_INPUT, "%s:1: says %lld words, there are %lld", r->path,
                        (long long)r->promised, (long long)r->seen);
    }
    return r->vectors->words.count
               ? CLA_OK
               : cla_fail(CLA_E_INPUT, "%s: holds no word%s", r->path,
                          r->only && r->seen ? " that is asked for" : "");
}

cla_status cla_vectors_read(cla_vectors *v, const char *path, const cla_vocab *only,
                            int dim)
{
    reader r = { .vectors = v, .only = only, .path = path, .dim = dim, .promised = -1 };
    *v = (cla_vectors){ 0 };
    cla_status status = cla_lines_filled(path, read_line, &r);
    status = status ? status : check_counts(&r);
    if (status) {
        cla_vectors_free(v);
    }
    return status;
}

cla_status cla_vectors_write(const cla_vectors *v, const char *path)
{
    cla_text text = { 0 };
    cla_status status = cla_text_add(&text, "%zu %d\n", v->words.count, v->dim);
    for (size_t i = 0; i < v->words.count && !status; i++) {
        const char *word = v->words.tokens[i];
        status = cla_text_append(&text, word, strlen(word));
        for (int k = 0; k < v->dim && !status; k++) {
            status = cla_text_add(&text, " %.9g",
                                  (double)v->value[i * (size_t)v->dim + (size_t)k]);
        }
        status = status ? status : cla_text_append(&text, "\n", 1);
    }
    status = status ? status : cla_file_write(path, text.data, text.size);
    cla_text_free(&text);
    return status;
}

/* ---- neighbours -------------------------------------------------------------- */

static double product(const float *a, const float *b, int dim)
{
    double sum = 0;
    for (int k = 0; k < dim; k++) {
        sum += (double)a[k] * (double)b[k];
    }
    return sum;
}

static int nearest_first(const void *a, const void *b)
{
    const cla_neighbour *x = a, *y = b;
    if (x->cosine != y->cosine) {
        return x->cosine < y->cosine ? 1 : -1;
    }
    return (x->word > y->word) - (x->word < y->word);
}

static bool is_among(const int *list, size_t n, int word)
{
    for (size_t i = 0; i < n; i++) {
        if (list[i] == word) {
            return true;
        }
    }
    return false;
}

cla_status cla_vectors_nearest(const cla_vectors *v, const float *vector,
                               const int *except, size_t n_except, size_t n,
                               cla_neighbour *out, size_t *found)
{
    cla_neighbour *all = NULL;
    size_t count = 0;
    const double length = product(vector, vector, v->dim);
    CLA_TRY(cla_alloc(&all, v->words.count + 1, sizeof *all));
    for (size_t i = 0; i < v->words.count && length > 0; i++) {
        const float *other = v->value + i * (size_t)v->dim;
        const double norm = product(other, other, v->dim);
        if (norm > 0 && !is_among(except, n_except, (int)i)) {
            all[count++] = (cla_neighbour){ (int)i, product(vector, other, v->dim) /
                                                        sqrt(length * norm) };
        }
    }
    qsort(all, count, sizeof *all, nearest_first);
    *found = count < n ? count : n;
    memcpy(out, all, *found * sizeof *out);
    free(all);
    return CLA_OK;
}
