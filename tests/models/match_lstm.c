/* match_lstm.c - properties of Match-LSTM with any weights. */
#include "models/match_lstm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/reader.h"

enum {
    HIDDEN = 7,
    B = SCENE_B,
    QUESTIONS = SCENE_QUESTIONS,
    PASSAGES = SCENE_PASSAGES
};
static const int *const question_words = scene_questions;
static const int *const passage_words = scene_passages;

static void open_reader(scene *f, int depth, bool tie_dir)
{
    const reader_config config = { .hidden = HIDDEN,
                                   .depth = depth,
                                   .tie_dir = tie_dir };
    scene_open(f, "match_lstm", config);
}

static cla_tensor *rows_of(scene *f, float *host, int64_t n, uint32_t what)
{
    return scene_rows(f, host, n, HIDDEN, what);
}

/* ---- attention ------------------------------------------------------------------- */

/* The attention of two passages of three; the third one is at its end. */
typedef struct look {
    float weights[8], context[2 * HIDDEN], memory[QUESTIONS * HIDDEN];
} look;

static void take_look(scene *f, look *l)
{
    float host[2 * HIDDEN];
    const cla_ragged *rows = NULL;
    cla_tensor *context = NULL, *weights = NULL;
    match_memory memory = { .rows = f->question_rows };
    memory.keys = rows_of(f, l->memory, QUESTIONS, 1);
    memory.memory = rows_of(f, l->memory, QUESTIONS, 2);
    TEST_OK(cla_reader_single_rows(f->tape, &rows, B, 2));
    TEST_OK(cla_match_lstm_look(f->r.network, f->tape, &context, &memory,
                                rows_of(f, host, 2, 3), rows_of(f, host, 2, 4), rows,
                                &weights));
    cr_assert_eq(weights->shape[0], question_words[0] + question_words[1]);
    TEST_OK(cla_tensor_download(weights, l->weights));
    TEST_OK(cla_tensor_download(context, l->context));
}

/* Weights are a distribution over the question's words: sums of up to four numbers. */
Test(match_lstm, attention_weights_sum_to_one)
{
    scene f;
    look l;
    open_reader(&f, 1, false);
    take_look(&f, &l);
    const float *w = l.weights;
    cr_assert_float_eq(w[0] + w[1] + w[2] + w[3], 1, 1e-6F);
    cr_assert_float_eq(w[4], 1, 1e-6F);
    cr_assert_float_neq(w[0], w[1], 1e-6F, "all words are the same to it");
    scene_close(&f);
}

Test(match_lstm, zero_score_averages_the_question)
{
    scene f;
    look l;
    open_reader(&f, 3, false);
    TEST_OK(cla_tensor_fill(scene_param(&f, "match.attend.score"), 0));
    take_look(&f, &l);
    for (int j = 0; j < 4; j++) {
        cr_assert_float_eq(l.weights[j], 0.25F, 1e-6F);
    }
    for (int c = 0; c < HIDDEN; c++) {
        float mean = 0;
        for (int j = 0; j < 4; j++) {
            mean += l.memory[j * HIDDEN + c] / 4;
        }
        cr_assert_float_eq(l.context[c], mean, 1e-5F);
        cr_assert_float_eq(l.context[HIDDEN + c], l.memory[4 * HIDDEN + c], 1e-5F);
    }
    scene_close(&f);
}

/* ---- directions ------------------------------------------------------------------ */

/* With one set of weights, right to left over a reversed passage equals left to right
 * over the passage: the same sums of the same numbers. */
Test(match_lstm, directions_agree_on_reversed_passages)
{
    float hp[PASSAGES * HIDDEN], turned[PASSAGES * HIDDEN], host[QUESTIONS * HIDDEN];
    float left[PASSAGES * HIDDEN], right[PASSAGES * HIDDEN];
    cla_tensor *states = NULL;
    scene f;
    open_reader(&f, 2, true);
    match_memory memory = { .rows = f.question_rows };
    memory.keys = rows_of(&f, host, QUESTIONS, 1);
    memory.memory = rows_of(&f, host, QUESTIONS, 2);
    cla_tensor *passage = rows_of(&f, hp, PASSAGES, 3);
    TEST_OK(cla_match_lstm_walk(f.r.network, f.tape, &states, &memory, passage,
                                f.passage_rows, false));
    TEST_OK(cla_tensor_download(states, left));
    for (int b = 0, at = 0; b < B; at += passage_words[b++]) {
        for (int i = 0; i < passage_words[b]; i++) {
            memcpy(turned + (at + passage_words[b] - 1 - i) * HIDDEN,
                   hp + (at + i) * HIDDEN, HIDDEN * sizeof *hp);
        }
    }
    TEST_OK(cla_tensor_upload(passage, turned));
    TEST_OK(cla_match_lstm_walk(f.r.network, f.tape, &states, &memory, passage,
                                f.passage_rows, true));
    TEST_OK(cla_tensor_download(states, right));
    for (int b = 0, at = 0; b < B; at += passage_words[b++]) {
        for (int i = 0; i < passage_words[b]; i++) {
            for (int c = 0; c < HIDDEN; c++) {
                cr_assert_float_eq(left[(at + i) * HIDDEN + c],
                                   right[(at + passage_words[b] - 1 - i) * HIDDEN + c],
                                   1e-6F);
            }
        }
    }
    cr_assert_float_neq(left[0], left[HIDDEN], 1e-6F, "all words have one state");
    scene_close(&f);
}

/* ---- pointers -------------------------------------------------------------------- */

Test(match_lstm, zero_pointer_weights_are_uniform)
{
    scene f;
    double want = 0;
    open_reader(&f, 1, false);
    TEST_OK(cla_tensor_fill(scene_param(&f, "match.point.states"), 0));
    TEST_OK(cla_tensor_fill(scene_param(&f, "match.point.own"), 0));
    for (int b = 0; b < B; b++) {
        want += 2 * log(passage_words[b]) / B;
    }
    cr_assert_float_eq((double)scene_loss(&f), want, 1e-5);
    scene_close(&f);
}

/* ---- levels ---------------------------------------------------------------------- */

Test(match_lstm, one_level_is_the_network_without_levels)
{
    scene f, g;
    float none = 1;
    open_reader(&f, 0, false);
    open_reader(&g, 1, false);
    cr_assert_eq(f.params.count + 1, g.params.count);
    const float a = scene_loss(&f), b = scene_loss(&g);
    cr_assert(memcmp(&a, &b, sizeof a) == 0, "%.9g and %.9g", (double)a, (double)b);
    cr_assert_eq(scene_same_gradients(&f, &g), 20);
    TEST_OK(
        cla_tensor_download(cla_tensor_grad(scene_param(&g, "match.levels")), &none));
    cr_assert_eq(none, 0);
    scene_close(&f);
    scene_close(&g);
}

/* A masked level leaves the loss as it is; another changes it, and the gradients of all
 * levels sum to 0. */
Test(match_lstm, masked_level_has_no_effect)
{
    static const float no_part[] = { 0, -1e30F, -1e30F }, part[] = { 0, 0.5F, -0.5F };
    float levels[3];
    scene f, g;
    open_reader(&f, 1, false);
    open_reader(&g, 3, false);
    const float one = scene_loss(&f);
    TEST_OK(cla_tensor_upload(scene_param(&g, "match.levels"), no_part));
    const float same = scene_loss(&g);
    cr_assert_float_eq(one, same, 1e-6F);
    cla_params_clear_gradients(&g.params);
    cla_tape_reset(g.tape);
    TEST_OK(cla_tensor_upload(scene_param(&g, "match.levels"), part));
    const float other = scene_loss(&g);
    cr_assert_float_neq(other, same, 1e-6F);
    TEST_OK(
        cla_tensor_download(cla_tensor_grad(scene_param(&g, "match.levels")), levels));
    const float most = fmaxf(fabsf(levels[0]), fabsf(levels[1]));
    cr_assert_gt(most, 0);
    const float sum = levels[0] + levels[1] + levels[2];
    /* each is a small difference of numbers some thousand times as large */
    cr_assert_lt(fabsf(sum), 0.01F * most, "%g of %g", (double)sum, (double)most);
    scene_close(&f);
    scene_close(&g);
}

/* ---- batches --------------------------------------------------------------------- */

Test(match_lstm, gradients_match_finite_differences)
{
    for (int tied = 0; tied < 2; tied++) {
        scene f;
        open_reader(&f, 2, tied);
        scene_check_gradient(&f);
        scene_close(&f);
    }
}

Test(match_lstm, independent_of_batch)
{
    scene f;
    open_reader(&f, 2, false);
    scene_company(&f);
    scene_close(&f);
}

Test(match_lstm, refuses_passages_in_another_order)
{
    static const int rising[B] = { 1, 9, 11 }, empty[B] = { 11, 10, 0 };
    reader_scores scores;
    scene f;
    open_reader(&f, 1, false);
    for (int i = 0; i < 2; i++) {
        cla_ragged_free(&f.passage_rows);
        f.passage_rows = test_ragged(f.rt, B, i ? empty : rising, NULL);
        f.batch.passage_rows = f.passage_rows;
        TEST_FAILS(cla_reader_score(&f.r, f.tape, &scores, &f.batch), CLA_E_USAGE,
                   i ? "passage 2 is empty" : "passage 1 is empty or longer");
    }
    scene_close(&f);
}
