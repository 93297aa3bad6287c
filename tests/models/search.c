/* search.c - beam search against decoding by hand: every prefix computed anew. */
#include "models/search.h"

#include <math.h>
#include <stdlib.h>

#include "support/support.h"

enum { SENTENCES = 3, PIECES = 5, END = 1, MOST = 16 };

/* Untrained, so that all pieces are about as likely and searches differ. */
typedef struct fixture {
    cla_runtime *rt;
    cla_params params;
    transformer m;
    cla_ragged *rows;
    transformer_tokens source;
} fixture;

/* Sentences of 4, 1 and 2 pieces, the end among them. */
static const int32_t source_id[] = { 3, 2, 4, 1, 1, 4, 1 };
static const int32_t source_position[] = { 0, 1, 2, 3, 0, 0, 1 };
static const int source_size[] = { 4, 1, 2 };

static void open_model(fixture *f, bool pre_norm)
{
    const transformer_config config = {
        .source_pieces = PIECES,
        .target_pieces = PIECES,
        .layers = 2,
        .tied = TRANSFORMER_SEPARATE,
        .coder = { .model = 16, .heads = 2, .inner = 32, .pre_norm = pre_norm },
    };
    *f = (fixture){ 0 };
    TEST_OK(cla_runtime_new(&f->rt, NULL));
    TEST_OK(transformer_init(&f->m, &config, &f->params));
    TEST_OK(cla_params_build(&f->params, f->rt, test_seed()));
    f->rows = test_ragged(f->rt, SENTENCES, source_size, NULL);
    f->source = (transformer_tokens){ 7, source_id, source_position, f->rows, 0 };
}

static void close_model(fixture *f)
{
    cla_ragged_free(&f->rows);
    transformer_fini(&f->m);
    cla_params_free(&f->params);
    cla_runtime_free(&f->rt);
}

/* log p of each piece after count pieces of a sentence's translation, from a decoder
 * that reads all of them at once. */
static void next_logp(fixture *f, int sentence, const int32_t *id, int count,
                      double logp[PIECES])
{
    const int length = count + 1;
    int first = 0;
    int32_t input[MOST + 1] = { -1 }, position[MOST + 1] = { 0 };
    for (int i = 0; i < sentence; i++) {
        first += source_size[i];
    }
    for (int i = 0; i < count; i++) {
        input[i + 1] = id[i];
        position[i + 1] = i + 1;
    }
    cla_ragged *from = test_ragged(f->rt, 1, &source_size[sentence], NULL);
    cla_ragged *to = test_ragged(f->rt, 1, &length, NULL);
    const transformer_batch batch = {
        { source_size[sentence], source_id + first, source_position + first, from, 0 },
        { length, input, position, to, 0 },
        NULL,
    };
    cla_tape *tape = NULL;
    cla_tensor *memory = NULL, *out = NULL;
    float logits[(MOST + 1) * PIECES];
    TEST_OK(cla_tape_new(&tape, f->rt, false));
    TEST_OK(transformer_encode(&f->m, tape, &memory, &batch));
    TEST_OK(transformer_logits(&f->m, tape, &out, memory, &batch));
    TEST_OK(cla_tensor_download(out, logits));
    const float *row = logits + count * PIECES;
    double sum = 0;
    for (int v = 0; v < PIECES; v++) {
        sum += exp((double)row[v]);
    }
    for (int v = 0; v < PIECES; v++) {
        logp[v] = (double)row[v] - log(sum);
    }
    cla_tape_free(&tape);
    cla_ragged_free(&from);
    cla_ragged_free(&to);
}

static double penalty(int length)
{
    return pow((5 + length) / 6.0, 0.6);
}

/* The likeliest piece each time: the same pieces, and the same probability from kept
 * keys and values. */
static void check_greedy(fixture *f)
{
    const search_options o = { .beam = 1, .alpha = 0.6, .extra = 6, .end = END };
    search_result got[SENTENCES];
    TEST_OK(transformer_search(&f->m, f->rt, &f->source, &o, got));
    for (int s = 0; s < SENTENCES; s++) {
        int32_t id[MOST];
        int count = 0, length = 0;
        double sum = 0;
        for (bool ended = false; !ended && length < source_size[s] + 6; length++) {
            double logp[PIECES];
            int best = 0;
            next_logp(f, s, id, count, logp);
            for (int v = 1; v < PIECES; v++) {
                best = logp[v] > logp[best] ? v : best;
            }
            sum += logp[best];
            ended = best == END;
            if (!ended) {
                id[count++] = best;
            }
        }
        cr_assert_eq(got[s].count, count, "sentence %d: %d pieces, must be %d", s,
                     (int)got[s].count, count);
        cr_assert_arr_eq(got[s].id, id, (size_t)count * sizeof *id);
        cr_assert_float_eq(got[s].score, sum / penalty(length), 1e-4);
        free(got[s].id);
    }
}

/* The best score of all translations of at most most pieces that begin with these. */
static double best_score(fixture *f, int sentence, int32_t *id, int count, int most)
{
    double logp[PIECES];
    double best = -INFINITY;
    static double sums[MOST + 1];
    next_logp(f, sentence, id, count, logp);
    for (int32_t v = 0; v < PIECES; v++) {
        id[count] = v;
        sums[count + 1] = sums[count] + logp[v];
        double score = -INFINITY;
        if (v == END) {
            score = sums[count + 1] / penalty(count + 1);
        } else if (count + 1 < most) {
            score = best_score(f, sentence, id, count + 1, most);
        }
        best = fmax(best, score);
    }
    return best;
}

/* A beam with room for all hypotheses finds the best of all. */
static void check_beam(fixture *f)
{
    const search_options o = { .beam = 40, .alpha = 0.6, .extra = 1, .end = END };
    search_result got[SENTENCES];
    TEST_OK(transformer_search(&f->m, f->rt, &f->source, &o, got));
    for (int s = 1; s < SENTENCES; s++) { // those of at most 2 and 3 pieces
        int32_t id[MOST];
        const double best = best_score(f, s, id, 0, source_size[s] + 1);
        cr_assert_float_eq(got[s].score, best, 1e-4, "sentence %d: %g, the best is %g",
                           s, got[s].score, best);
    }
    for (int s = 0; s < SENTENCES; s++) {
        free(got[s].id);
    }
}

Test(search, equals_decoding_by_hand)
{
    for (int pre_norm = 0; pre_norm < 2; pre_norm++) {
        fixture f;
        open_model(&f, pre_norm);
        check_greedy(&f);
        check_beam(&f);
        close_model(&f);
    }
}

/* Each sentence translated alone as together with others. */
Test(search, knows_no_neighbours)
{
    const search_options o = { .beam = 3, .alpha = 0.6, .extra = 5, .end = END };
    fixture f;
    search_result all[SENTENCES], alone;
    open_model(&f, true);
    TEST_OK(transformer_search(&f.m, f.rt, &f.source, &o, all));
    for (int s = 0, first = 0; s < SENTENCES; first += source_size[s++]) {
        cla_ragged *rows = test_ragged(f.rt, 1, &source_size[s], NULL);
        const transformer_tokens source = { source_size[s], source_id + first,
                                            source_position + first, rows, 0 };
        TEST_OK(transformer_search(&f.m, f.rt, &source, &o, &alone));
        cr_assert_eq(alone.count, all[s].count);
        cr_assert_arr_eq(alone.id, all[s].id, (size_t)alone.count * sizeof *alone.id);
        cr_assert_float_eq(alone.score, all[s].score, 1e-5);
        free(alone.id);
        free(all[s].id);
        cla_ragged_free(&rows);
    }
    close_model(&f);
}
