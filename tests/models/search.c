/* search.c - beam search against decoding by hand, which computes every prefix anew. */
#include "models/search.h"

#include <math.h>
#include <stdlib.h>

#include "models/likelihood.h"
#include "support/way.h"

enum { SENTENCES = 3, PIECES = 5, END = 1, MOST = 16 };

/* An untrained model: all pieces are about as likely, and searches differ. */
typedef struct fixture {
    cla_runtime *rt;
    cla_params params;
    transformer m;
    cla_ragged *rows;
    transformer_tokens source;
} fixture;

/* Sentences of 4, 1 and 2 pieces, including the end. */
static const int32_t source_id[] = { 3, 2, 4, 1, 1, 4, 1 };
static const int32_t source_position[] = { 0, 1, 2, 3, 0, 0, 1 };
static const int source_size[] = { 4, 1, 2 };

static void open_way(fixture *f, bool pre_norm, const char *attention,
                     const cross_hard_config *hard)
{
    transformer_config config = {
        .source_pieces = PIECES,
        .target_pieces = PIECES,
        .layers = 2,
        .tied = TRANSFORMER_SEPARATE,
        .first = 1,
        .last = 2,
        .where = TRANSFORMER_BOTH,
        .coder = { .model = 16,
                   .heads = 2,
                   .inner = 32,
                   .activation = CLA_RELU,
                   .pre_norm = pre_norm,
                   .self = { .model = 16, .heads = 2, .width = 8 },
                   .hard = *hard },
    };
    static const char *const places[] = { "sine",    "rope",  "none",
                                          "learned", "alibi", NULL };
    cla_config settings;
    way_settings(&settings,
                 (const char *const[]){ attention, "clip=2", "area=1", NULL });
    TEST_OK(cla_attn_configure(&config.coder.self, &settings));
    TEST_OK(cla_coder_configure(&config.coder, &settings, places));
    cla_config_fini(&settings);
    *f = (fixture){ 0 };
    TEST_OK(cla_runtime_new(&f->rt, NULL));
    TEST_OK(cla_transformer_init(&f->m, &config, &f->params));
    TEST_OK(cla_params_build(&f->params, f->rt, test_seed()));
    f->rows = test_ragged(f->rt, SENTENCES, source_size, NULL);
    f->source = (transformer_tokens){ 7, source_id, source_position, f->rows, 0 };
}

static void open_variant(fixture *f, bool pre_norm, const char *attention)
{
    open_way(f, pre_norm, attention, &(cross_hard_config){ 0 });
}

static void open_model(fixture *f, bool pre_norm)
{
    open_variant(f, pre_norm, "attention=softmax");
}

static void close_model(fixture *f)
{
    cla_ragged_free(&f->rows);
    cla_transformer_fini(&f->m);
    cla_params_free(&f->params);
    cla_runtime_free(&f->rt);
}

/* Computes log p of each piece after count pieces of a sentence's translation, with a
 * decoder that reads all of them at once. */
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
        NULL,
        NULL,
    };
    cla_tape *tape = NULL;
    cla_tensor *memory = NULL, *out = NULL;
    float logits[(MOST + 1) * PIECES];
    TEST_OK(cla_tape_new(&tape, f->rt, false));
    TEST_OK(cla_transformer_encode(&f->m, tape, &memory, &batch));
    TEST_OK(cla_transformer_logits(&f->m, tape, &out, memory, &batch));
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

/* Checks that a beam of one gives the likeliest piece each time, and the same
 * probability from cached keys and values. */
static void check_greedy(fixture *f)
{
    const search_options o = { .beam = 1, .alpha = 0.6, .extra = 6, .end = END };
    search_result got[SENTENCES];
    TEST_OK(cla_transformer_search(&f->m, f->rt, &f->source, &o, got));
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

/* Returns the best score of all translations of at most `most` pieces that begin with
 * these. */
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

/* Checks that a beam with room for all hypotheses finds the best of all. */
static void check_beam(fixture *f)
{
    const search_options o = { .beam = 40, .alpha = 0.6, .extra = 1, .end = END };
    search_result got[SENTENCES];
    TEST_OK(cla_transformer_search(&f->m, f->rt, &f->source, &o, got));
    for (int s = 1; s < SENTENCES; s++) { // at most 2 and 3 pieces
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

/* Gates by threshold, by their probability and for the best rows, with sums and
 * means. */
Test(search, equals_decoding_by_hand_through_gates)
{
    static const cross_hard_config ways[] = {
        { .on = true, .gate = CLA_GATE_THRESHOLD },
        { .on = true, .gate = CLA_GATE_EXPECTED, .mean = true, .scaled = true },
        { .on = true, .gate = CLA_GATE_TOP, .top = 2 },
    };
    for (int i = 0; i < 3; i++) {
        fixture f;
        open_way(&f, i != 1, "attention=softmax", &ways[i]);
        check_greedy(&f);
        check_beam(&f);
        close_model(&f);
    }
}

/* Computes log p of translations, one of each sentence, with a decoder that reads each
 * at once. */
static void likelihood(fixture *f, const search_result *r, double logp[SENTENCES])
{
    int32_t input[SENTENCES * (MOST + 1)], target[SENTENCES * (MOST + 1)];
    int32_t position[SENTENCES * (MOST + 1)];
    int length[SENTENCES], at = 0;
    for (int s = 0; s < SENTENCES; s++) {
        length[s] = (int)r[s].count + 1;
        for (int i = 0; i < length[s]; i++, at++) {
            input[at] = i ? r[s].id[i - 1] : -1;
            target[at] = i < r[s].count ? r[s].id[i] : END;
            position[at] = i;
        }
    }
    cla_ragged *rows = test_ragged(f->rt, SENTENCES, length, NULL);
    const transformer_batch batch = {
        f->source, { at, input, position, rows, 0 }, target, NULL, NULL
    };
    cla_tape *tape = NULL;
    TEST_OK(cla_tape_new(&tape, f->rt, false));
    TEST_OK(cla_transformer_likelihood(&f->m, tape, &batch, logp));
    cla_tape_free(&tape);
    cla_ragged_free(&rows);
}

/* Decoding a piece at a time from cached keys and values, with hypotheses changing
 * places, gives the same probability as reading all at once, also with relative and
 * rotary positions, shared keys, and kinds that are given all queries again.
 * The best are in the order of their scores. */
Test(search, equals_reading_all_at_once)
{
    enum { BEST = 4 };
    const search_options o = {
        .beam = 5, .best = BEST, .alpha = 0.6, .extra = 8, .end = END
    };
    static const char *const ways[] = { "attention=softmax", "attention=softmax",
                                        "attention=rel_pos", "position=rope",
                                        "kv_heads=1",        "position=alibi",
                                        "attention=csan2d",  "attention=local_soft",
                                        "attention=conv2d" };
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
        fixture f;
        search_result got[SENTENCES * BEST], nth[SENTENCES];
        open_variant(&f, way == 1, ways[way]);
        TEST_OK(cla_transformer_search(&f.m, f.rt, &f.source, &o, got));
        for (int i = 0; i < BEST; i++) {
            double logp[SENTENCES];
            bool whole = true;
            for (int s = 0; s < SENTENCES; s++) {
                nth[s] = got[s * BEST + i];
                // of some networks fewer may end
                cr_assert(nth[s].id || (way >= 2 && i));
                whole = whole && nth[s].id;
                cr_assert(!i || nth[s].score <= got[s * BEST + i - 1].score);
            }
            if (!whole) {
                break;
            }
            likelihood(&f, nth, logp);
            for (int s = 0; s < SENTENCES; s++) {
                cr_assert_float_eq(nth[s].logp, logp[s], 1e-4, "%d of sentence %d", i,
                                   s);
                cr_assert_float_eq(nth[s].score,
                                   logp[s] / penalty((int)nth[s].count + 1), 1e-4);
            }
        }
        for (int i = 0; i < SENTENCES * BEST; i++) {
            free(got[i].id);
        }
        close_model(&f);
    }
}

/* Without a penalty the likeliest translation that ended is the best. Where only two
 * pieces are allowed, fewer hypotheses end than are wanted, even in a beam of all. */
Test(search, orders_by_probability_without_a_penalty)
{
    enum { BEST = 40 };
    const search_options o = { .beam = BEST, .best = BEST, .extra = 0, .end = END };
    fixture f;
    search_result got[SENTENCES * BEST];
    open_model(&f, true);
    TEST_OK(cla_transformer_search(&f.m, f.rt, &f.source, &o, got));
    for (int i = 0; i < SENTENCES * BEST; i++) {
        cr_assert_eq(got[i].score, got[i].logp);
        cr_assert(i % BEST == 0 || got[i].logp <= got[i - 1].logp);
    }
    // sentence 1 may have one piece: the end; sentence 2 two: any of four before it
    cr_assert_eq(got[BEST].count, 0);
    cr_assert_null(got[BEST + 1].id);
    cr_assert_eq(got[BEST + 1].logp, -INFINITY);
    cr_assert_not_null(got[2 * BEST + 4].id);
    cr_assert_null(got[2 * BEST + 5].id);
    for (int i = 0; i < SENTENCES * BEST; i++) {
        free(got[i].id);
    }
    close_model(&f);
}

/* Weights that are not finite give an error, not a translation. */
Test(search, refuses_scores_that_are_not_finite)
{
    const search_options o = { .beam = 2, .alpha = 0.6, .extra = 3, .end = END };
    fixture f;
    float weights[PIECES * 16];
    search_result got[SENTENCES];
    open_model(&f, true);
    for (int i = 0; i < PIECES * 16; i++) {
        weights[i] = NAN;
    }
    TEST_OK(cla_tensor_upload(f.m.output_table, weights));
    TEST_FAILS(cla_transformer_search(&f.m, f.rt, &f.source, &o, got), CLA_E_NUMERIC,
               "not finite");
    close_model(&f);
}

/* A sentence alone has the same translation as among others. */
Test(search, independent_of_batch)
{
    const search_options o = { .beam = 3, .alpha = 0.6, .extra = 5, .end = END };
    fixture f;
    search_result all[SENTENCES], alone;
    open_model(&f, true);
    TEST_OK(cla_transformer_search(&f.m, f.rt, &f.source, &o, all));
    for (int s = 0, first = 0; s < SENTENCES; first += source_size[s++]) {
        cla_ragged *rows = test_ragged(f.rt, 1, &source_size[s], NULL);
        const transformer_tokens source = { source_size[s], source_id + first,
                                            source_position + first, rows, 0 };
        TEST_OK(cla_transformer_search(&f.m, f.rt, &source, &o, &alone));
        cr_assert_eq(alone.count, all[s].count);
        cr_assert_arr_eq(alone.id, all[s].id, (size_t)alone.count * sizeof *alone.id);
        cr_assert_float_eq(alone.score, all[s].score, 1e-5);
        free(alone.id);
        free(all[s].id);
        cla_ragged_free(&rows);
    }
    close_model(&f);
}
