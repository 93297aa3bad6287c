/* vectors.c - vectors of words: the three formats, errors, neighbours. */
#include "text/vectors.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "base/file.h"

static char path[] = "/tmp/clattn-vectors-XXXXXX";

static cla_status read_text(cla_vectors *v, const char *text, const cla_vocab *only,
                            int dim)
{
    strcpy(path, "/tmp/clattn-vectors-XXXXXX");
    close(mkstemp(path));
    cr_assert_eq(cla_file_write(path, text, strlen(text)), CLA_OK);
    const cla_status status = cla_vectors_read(v, path, only, dim);
    unlink(path);
    return status;
}

static void holds(const cla_vectors *v, const char *word, float a, float b)
{
    const float *vector = cla_vectors_find(v, word);
    cr_assert_not_null(vector, "'%s' is missing", word);
    cr_assert(vector[0] == a && vector[1] == b, "'%s' is %g %g", word,
              (double)vector[0], (double)vector[1]);
}

Test(vectors, reads_the_formats)
{
    cla_vectors v;
    const char *files[] = { "the 0.5 -1\ncaf\xC3\xA9 1e-3 2\n",             // GloVe
                            "2 2\nthe 0.5 -1 \ncaf\xC3\xA9 1e-3 2 \n",      // word2vec
                            "2 2\r\nthe\t0.5\t-1\r\ncaf\xC3\xA9 0.001 2" }; // others
    for (size_t i = 0; i < 3; i++) {
        cr_assert_eq(read_text(&v, files[i], NULL, 0), CLA_OK, "%s", cla_error());
        cr_assert_eq(v.dim, 2);
        cr_assert_eq(v.words.count, 2);
        holds(&v, "the", 0.5F, -1);
        holds(&v, "caf\xC3\xA9", 1e-3F, 2);
        cr_assert_null(cla_vectors_find(&v, "cafe"));
        cla_vectors_free(&v);
    }
}

/* An empty word, as some files have one, is passed over wherever it stands. Blanks may
 * stand before a word. */
Test(vectors, empty_words)
{
    static const char *const files[] = {
        "the 0.5 -1\n 3 4\nof 1 2\n",
        " 3.5 4\nthe 0.5 -1\nof 1 2\n",
        "3 2\nthe 0.5 -1\nof 1 2\n\t3 4",
        "the 0.5 -1\nof 1 2\n 3 4 \n\n",
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        cla_vectors v;
        cr_assert_eq(read_text(&v, files[i], NULL, 0), CLA_OK, "%zu: %s", i,
                     cla_error());
        cr_assert_eq(v.dim, 2);
        cr_assert_eq(v.words.count, 2);
        cr_assert_eq(v.passed_over, 1);
        holds(&v, "the", 0.5F, -1);
        holds(&v, "of", 1, 2);
        cla_vectors_free(&v);
    }
    cla_vectors v;
    cr_assert_eq(read_text(&v, "  the 0.5 -1\n of 1 2\n", NULL, 0), CLA_OK, "%s",
                 cla_error());
    cr_assert_eq(v.dim, 2);
    cr_assert_eq(v.words.count, 2);
    cla_vectors_free(&v);
}

/* GloVe has words with blanks in them. Of a repeated word the first vector counts. */
Test(vectors, odd_words)
{
    cla_vectors v;
    cr_assert_eq(read_text(&v, "a 1 2\n. . . 3 4\n5 5 6\na 7 8\n", NULL, 2), CLA_OK,
                 "%s", cla_error());
    cr_assert_eq(v.words.count, 3);
    holds(&v, "a", 1, 2);
    holds(&v, ". . .", 3, 4);
    holds(&v, "5", 5, 6);
    cr_assert_eq(v.passed_over, 1);
    cla_vectors_free(&v);
}

/* A first line of two fields is a head when both are integers. */
Test(vectors, first_word_is_an_integer)
{
    cla_vectors v;
    cr_assert_eq(read_text(&v, "1984 0.5\n2024 0.25\nx 1\n", NULL, 0), CLA_OK, "%s",
                 cla_error());
    cr_assert_eq(v.dim, 1);
    cr_assert_eq(v.words.count, 3);
    cr_assert_float_eq(*cla_vectors_find(&v, "1984"), 0.5, 0);
    cr_assert_float_eq(*cla_vectors_find(&v, "2024"), 0.25, 0);
    cla_vectors_free(&v);
}

Test(vectors, only_those_asked_for)
{
    cla_vectors v;
    cla_vocab vocab = { 0 };
    const char *words[] = { "x", "b", "y", "a" };
    for (size_t i = 0; i < 4; i++) {
        cr_assert_eq(cla_vocab_add(&vocab, words[i], 1, NULL), CLA_OK);
    }
    cr_assert_eq(read_text(&v, "a 1 2\nq 9 9\nb 3 4\n", &vocab, 0), CLA_OK);
    cr_assert_eq(v.words.count, 2);
    cr_assert_eq(v.passed_over, 1);
    float table[8] = { -1, -1, -1, -1, -1, -1, -1, -1 };
    const float want[8] = { -1, -1, 3, 4, -1, -1, 1, 2 };
    cr_assert_eq(cla_vectors_fill(&v, &vocab, table), 2);
    cr_assert_arr_eq(table, want, sizeof want);
    cla_vectors_free(&v);
    cla_vocab_free(&vocab);
}

static void refused(const char *text, int dim, const char *message)
{
    cla_vectors v;
    cr_assert_eq(read_text(&v, text, NULL, dim), CLA_E_INPUT, "accepted: %s", text);
    cr_assert(strstr(cla_error(), message) != NULL, "'%s' lacks '%s'", cla_error(),
              message);
    cr_assert(strstr(cla_error(), path) != NULL);
}

Test(vectors, names_what_is_wrong)
{
    cla_vectors v;
    refused("", 0, ": holds no word");
    refused("a\n", 0, ":1: vectors of 0 numbers, must be 1 to 4096");
    refused("\n \n", 0, ": holds no word");
    refused("\nlone\n", 0, ":2: vectors of 0 numbers");
    refused("a 1 2\n", 3, ":1: vectors of 2 numbers, must be 3");
    refused("7 2\na 1 2\n", 3, ":1: vectors of 2 numbers, must be 3");
    refused("1 9999\n", 0, ":1: vectors of 9999 numbers");
    refused("a 1 2\nb 1\n", 0, ":2: must be a word and 2 numbers");
    refused("a 1 2\nb 1 2 3\n", 0, ":2: must be a word and 2 numbers");
    refused("the\t0.5\t1\nof\t0.5\t1\t2\n", 0, ":2: must be a word and 2 numbers");
    refused("a 1 2\nb\t1 2 3\n", 0, ":2: must be a word and 2 numbers");
    refused("a 1 2\n1 2\n", 0, ":2: must be a word and 2 numbers");
    refused("a 1 2\n 1 2 3 4\n", 0, ":2: must be a word and 2 numbers");
    refused("a 1 2\nb 1 x\n", 0, ":2: no number 'x'");
    refused("a 1 nan\n", 0, ":1: no number 'nan'");
    refused("a 1 1e99\n", 0, ":1: no number '1e99'"); // too large for a float
    refused("3 2\na 1 2\nb 3 4\n", 0, ":1: says 3 words, there are 2");
    refused("1 2\na 1 2\nb 3 4\n", 0, ":1: says 1 words, there are 2");
    refused("a 1 2\n\xFF 1 2\n", 0, ":2: not UTF-8 (byte 1)");
    cr_assert_eq(cla_vectors_read(&v, "/nowhere/x", NULL, 0), CLA_E_IO);
    cr_assert_eq(cla_vectors_read(&v, "/tmp", NULL, 0), CLA_E_IO);
}

/* Vectors that are written and read again have the same bits. */
Test(vectors, round_trip)
{
    cla_vectors v = { .dim = 3 }, w;
    float *vector = NULL;
    const float values[2][3] = { { 0.1F, -3.4e38F, 1e-40F },
                                 { 1 / 3.0F, 0, (float)16777217 } };
    const char *words[] = { "x", "\xE6\x98\xA5 y" };
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(cla_vectors_add(&v, words[i], &vector), CLA_OK);
        memcpy(vector, values[i], sizeof values[i]);
    }
    strcpy(path, "/tmp/clattn-vectors-XXXXXX");
    close(mkstemp(path));
    cr_assert_eq(cla_vectors_write(&v, path), CLA_OK);
    cr_assert_eq(cla_vectors_read(&w, path, NULL, 3), CLA_OK, "%s", cla_error());
    unlink(path);
    cr_assert_eq(w.words.count, 2);
    cr_assert_str_eq(w.words.tokens[1], words[1]);
    cr_assert_arr_eq(w.value, values, sizeof values);
    cla_vectors_free(&v);
    cla_vectors_free(&w);
}

Test(vectors, nearest)
{
    cla_vectors v;
    cla_neighbour near[9];
    size_t found = 0;
    cr_assert_eq(read_text(&v, "a 2 0\nb 1 1\nc 0 5\nd -1 0\ne 2 2\nz 0 0\n", NULL, 0),
                 CLA_OK);
    const int except[] = { 0 };
    cr_assert_eq(cla_vectors_nearest(&v, v.value, except, 1, 9, near, &found), CLA_OK);
    const int want[] = { 1, 4, 2, 3 }; // b before e, which is as near
    cr_assert_eq(found, 4);
    for (size_t i = 0; i < found; i++) {
        cr_assert_eq(near[i].word, want[i]);
    }
    cr_assert_float_eq(near[0].cosine, sqrt(0.5), 1e-12);
    cr_assert_float_eq(near[3].cosine, -1, 1e-12);
    cr_assert_eq(cla_vectors_nearest(&v, v.value, NULL, 0, 2, near, &found), CLA_OK);
    cr_assert_eq(found, 2);
    cr_assert_eq(near[0].word, 0);
    cr_assert_eq(cla_vectors_nearest(&v, v.value + 10, NULL, 0, 2, near, &found),
                 CLA_OK);
    cr_assert_eq(found, 0); // a vector of zeros has no neighbours
    cla_vectors_free(&v);
}
