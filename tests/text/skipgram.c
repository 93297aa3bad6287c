/* skipgram.c - vectors learnt from lines: steps by hand, neighbours, equal bits. */
#include "text/skipgram.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/rng.h"

static void add_line(cla_skipgram *s, const char *line)
{
    while (*line) {
        char word[16] = "";
        const size_t size = strcspn(line, " ");
        memcpy(word, line, size);
        cr_assert_eq(cla_skipgram_add(s, word), CLA_OK);
        line += size + (line[size] == ' ');
    }
    cr_assert_eq(cla_skipgram_end(s), CLA_OK);
}

/* "a b": three epochs of two pairs each without negatives, in double precision. */
Test(skipgram, steps_by_hand)
{
    cla_skipgram s = { 0 };
    cla_vectors out;
    double loss = 0, want_loss = 0, v[2][3], u[2][3] = { { 0 } };
    const cla_skipgram_options o = {
        .dim = 3, .window = 1, .epochs = 3, .rate = 0.5, .seed = 7
    };
    float start[6];
    cla_random_uniform(start, 6, -0.5F / 3, 0.5F / 3, 7, 0);
    for (int i = 0; i < 6; i++) {
        v[i / 3][i % 3] = (double)start[i];
    }
    for (int step = 0; step < 6; step++) {
        const int w = step % 2, c = 1 - w;
        const double rate = 0.5 * (1 - step / 6.0);
        double x = 0;
        for (int k = 0; k < 3; k++) {
            x += v[w][k] * u[c][k];
        }
        const double g = rate * (1 - 1 / (1 + exp(-x)));
        want_loss = step < 4 ? 0 : want_loss + log1p(exp(-x)) / 2;
        for (int k = 0; k < 3; k++) {
            const double old = v[w][k];
            v[w][k] += g * u[c][k];
            u[c][k] += g * old;
        }
    }
    add_line(&s, "a b");
    cr_assert_eq(cla_skipgram_train(&s, &o, &out, &loss), CLA_OK, "%s", cla_error());
    cr_assert_eq(out.dim, 3);
    cr_assert_eq(out.words.count, 2);
    for (int i = 0; i < 6; i++) {
        // six steps of a few float roundings of numbers below 0.2
        cr_assert_float_eq((double)out.value[i], v[i / 3][i % 3], 1e-6);
    }
    cr_assert(fabs(v[0][0] - (double)start[0]) > 1e-3); // it moved
    cr_assert_float_eq(loss, want_loss, 1e-6);
    cla_vectors_free(&out);
    cla_skipgram_free(&s);
}

enum { TOPICS = 3, WORDS = 6, LINES = 240 };

/* Adds lines of "the", which is in all of them, and five words of one topic. */
static void make_lines(cla_skipgram *s)
{
    for (uint32_t line = 0; line < LINES; line++) {
        char text[64] = "the";
        for (uint32_t i = 0; i < 5; i++) {
            const uint32_t counter[4] = { line, i, 0, 0 }, key[2] = { 1, 0 };
            snprintf(text + strlen(text), sizeof text - strlen(text), " %c%u",
                     (char)('a' + line % TOPICS),
                     cla_philox4x32(counter, key).v[0] % WORDS);
        }
        add_line(s, text);
    }
    add_line(s, "the rare a0");
}

static cla_skipgram_options small_options(void)
{
    cla_skipgram_options o = cla_skipgram_defaults();
    o.dim = 16;
    o.epochs = 10;
    o.rate = 0.05;
    return o;
}

Test(skipgram, neighbours_are_of_one_topic)
{
    cla_skipgram s = { 0 };
    cla_vectors v;
    double loss = 0;
    cla_skipgram_options o = small_options();
    make_lines(&s);
    cr_assert_eq(cla_skipgram_train(&s, &o, &v, &loss), CLA_OK, "%s", cla_error());
    cr_assert_eq(v.words.count, 1 + TOPICS * WORDS); // without "rare"
    cr_assert_str_eq(v.words.tokens[0], "the");
    cr_assert_null(cla_vectors_find(&v, "rare"));
    cr_assert(loss < 6 * log(2), "loss %g is that of no knowledge", loss);
    int strangers = 0;
    for (int i = 1; i < (int)v.words.count; i++) {
        const int except[] = { 0, i };
        cla_neighbour near[WORDS - 1];
        size_t found = 0;
        cr_assert_eq(cla_vectors_nearest(&v, v.value + i * o.dim, except, 2, WORDS - 1,
                                         near, &found),
                     CLA_OK);
        cr_assert_eq(found, WORDS - 1);
        for (size_t k = 0; k < found; k++) {
            strangers += v.words.tokens[near[k].word][0] != v.words.tokens[i][0];
        }
    }
    cr_assert_eq(strangers, 0);
    cla_vectors_free(&v);
    cla_skipgram_free(&s);
}

Test(skipgram, same_seed_same_bits)
{
    cla_skipgram s = { 0 };
    cla_vectors v[3];
    cla_skipgram_options o = small_options();
    o.epochs = 2;
    o.sample = 0.01;
    make_lines(&s);
    for (int i = 0; i < 3; i++) {
        o.seed = i < 2 ? 3 : 4;
        cr_assert_eq(cla_skipgram_train(&s, &o, &v[i], NULL), CLA_OK);
    }
    const size_t bytes = v[0].words.count * (size_t)o.dim * sizeof *v[0].value;
    cr_assert_eq(memcmp(v[0].value, v[1].value, bytes), 0);
    cr_assert_neq(memcmp(v[0].value, v[2].value, bytes), 0);
    for (int i = 0; i < 3; i++) {
        cla_vectors_free(&v[i]);
    }
    cla_skipgram_free(&s);
}

/* A word that sampling leaves out takes part in no pair. */
Test(skipgram, frequent_words_are_left_out)
{
    cla_skipgram s = { 0 };
    cla_vectors v;
    double loss = -1;
    cla_skipgram_options o = small_options();
    o.min_count = 0;
    o.sample = 1e-12;
    make_lines(&s);
    cr_assert_eq(cla_skipgram_train(&s, &o, &v, &loss), CLA_OK);
    cr_assert_eq(v.words.count, 2 + TOPICS * WORDS);
    cr_assert_eq(loss, 0); // there was no pair
    cla_vectors_free(&v);
    cla_skipgram_free(&s);
}

Test(skipgram, refuses)
{
    cla_skipgram s = { 0 };
    cla_vectors v;
    const cla_skipgram_options good = small_options();
    add_line(&s, "a b a");
    add_line(&s, "");
    cr_assert_eq(cla_skipgram_train(&s, &good, &v, NULL), CLA_E_INPUT);
    cr_assert(strstr(cla_error(), "none of 2 words occurs 5 times") != NULL);
    for (int i = 0; i < 7; i++) {
        cla_skipgram_options o = good;
        o.min_count = 1;
        o.dim = i == 0 ? 0 : o.dim;
        o.dim = i == 1 ? 5000 : o.dim;
        o.window = i == 2 ? 0 : o.window;
        o.negatives = i == 3 ? -1 : o.negatives;
        o.epochs = i == 4 ? 0 : o.epochs;
        o.rate = i == 5 ? (double)NAN : o.rate;
        o.sample = i == 6 ? -1 : o.sample;
        cr_assert_eq(cla_skipgram_train(&s, &o, &v, NULL), CLA_E_USAGE, "option %d", i);
    }
    cla_skipgram_free(&s);
}
