/* r_net.c - properties of R-NET with any weights, and learning. */
#include "models/r_net.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/reader.h"
#include "train/optim.h"

enum { HIDDEN = 8, WIDE = 2 * HIDDEN, GRU = 0, SRU = 1 };
enum { B = SCENE_B, QUESTIONS = SCENE_QUESTIONS, PASSAGES = SCENE_PASSAGES };
static const int *const question_words = scene_questions;
static const int *const passage_words = scene_passages;

static void open_reader(scene *f, int cell, int depth)
{
    const reader_config config = { .hidden = HIDDEN, .depth = depth, .cell = cell };
    scene_open(f, "r_net", config);
}

/* With both kinds of cells and two levels. */
Test(r_net, gradients_match_finite_differences)
{
    for (int cell = GRU; cell <= SRU; cell++) {
        scene f;
        open_reader(&f, cell, 2);
        scene_check_gradient(&f);
        scene_close(&f);
    }
}

/* ---- gates ----------------------------------------------------------------------- */

Test(r_net, zero_gate_weights_halve_the_input)
{
    float x[2 * WIDE], w[WIDE * WIDE], y[2 * WIDE];
    cla_tensor *gated = NULL;
    scene f;
    open_reader(&f, GRU, 0);
    cla_tensor *in = scene_rows(&f, x, 2, WIDE, 1);
    cla_tensor *weights = scene_rows(&f, w, WIDE, WIDE, 2);
    TEST_OK(cla_r_net_gate(f.tape, &gated, in, weights));
    TEST_OK(cla_tensor_download(gated, y));
    cr_assert_float_neq(y[0], x[0] / 2, 1e-6F, "a gate that is always one half");
    TEST_OK(cla_tensor_fill(weights, 0));
    TEST_OK(cla_r_net_gate(f.tape, &gated, in, weights));
    TEST_OK(cla_tensor_download(gated, y));
    for (int i = 0; i < 2 * WIDE; i++) {
        cr_assert_eq(y[i], x[i] / 2);
    }
    scene_close(&f);
}

/* ---- contexts -------------------------------------------------------------------- */

/* Returns the largest difference between a context and the mean of n rows. */
static float from_mean(const float *context, const float *memory, int n)
{
    float most = 0;
    for (int c = 0; c < WIDE; c++) {
        float mean = 0;
        for (int j = 0; j < n; j++) {
            mean += memory[j * WIDE + c] / (float)n;
        }
        most = (float)test_larger((double)most, (double)fabsf(mean - context[c]));
    }
    return most;
}

/* Checks that a context is the mean of n rows: sums of at most eleven numbers, 1e-5. */
static void check_mean(const float *context, const float *memory, int n)
{
    cr_assert_lt(from_mean(context, memory, n), 1e-5F);
}

/* Contexts of two passages' words in the question, of all words in their passages, and
 * of the pointer in the question. */
typedef struct contexts {
    float question[QUESTIONS * WIDE], passage[PASSAGES * WIDE];
    float look[2 * WIDE], reflect[PASSAGES * WIDE], pool[B * WIDE];
} contexts;

static void take_contexts(scene *f, contexts *c)
{
    float host[QUESTIONS * HIDDEN];
    const cla_ragged *rows = NULL;
    cla_tensor *context = NULL;
    r_net_memory memory = { .rows = f->question_rows };
    memory.memory = scene_rows(f, c->question, QUESTIONS, WIDE, 1);
    memory.keys = scene_rows(f, host, QUESTIONS, HIDDEN, 2);
    TEST_OK(cla_reader_single_rows(f->tape, &rows, B, 2));
    TEST_OK(cla_r_net_look(f->r.network, f->tape, &context, &memory,
                           scene_rows(f, host, 2, HIDDEN, 3),
                           scene_rows(f, host, 2, HIDDEN, 4), rows));
    TEST_OK(cla_tensor_download(context, c->look));
    TEST_OK(cla_r_net_reflect(f->r.network, f->tape, &context,
                              scene_rows(f, c->passage, PASSAGES, WIDE, 5),
                              f->passage_rows));
    TEST_OK(cla_tensor_download(context, c->reflect));
    TEST_OK(cla_r_net_pool(f->r.network, f->tape, &context, &memory));
    TEST_OK(cla_tensor_download(context, c->pool));
}

/* With scores of 0 every context is the mean of its memory, also at the second level,
 * whose memory in a passage is then that mean. */
Test(r_net, zero_score_averages_the_memory)
{
    contexts c;
    scene f;
    open_reader(&f, GRU, 2);
    take_contexts(&f, &c);
    cr_assert_gt(from_mean(c.look, c.question, 4), 1e-4F);
    cr_assert_gt(from_mean(c.pool, c.question, 4), 1e-4F);
    /* those of the second level are near the mean, but not equal */
    cr_assert_gt(from_mean(c.reflect, c.passage, 11), 1e-4F);
    TEST_OK(cla_tensor_fill(scene_param(&f, "r_net.score"), 0));
    take_contexts(&f, &c);
    check_mean(c.look, c.question, 4);
    check_mean(c.look + WIDE, c.question + 4 * WIDE, 1);
    for (int b = 0, at = 0, q = 0; b < B;
         at += passage_words[b], q += question_words[b++]) {
        for (int i = 0; i < passage_words[b]; i++) {
            check_mean(c.reflect + (at + i) * WIDE, c.passage + at * WIDE,
                       passage_words[b]);
        }
        check_mean(c.pool + b * WIDE, c.question + q * WIDE, question_words[b]);
    }
    scene_close(&f);
}

/* ---- directions and pointers ----------------------------------------------------- */

/* Reverses the rows of each passage. */
static void turn(float *to, const float *from, int columns)
{
    for (int b = 0, at = 0; b < B; at += passage_words[b++]) {
        for (int i = 0; i < passage_words[b]; i++) {
            memcpy(to + (at + passage_words[b] - 1 - i) * columns,
                   from + (at + i) * columns, (size_t)columns * sizeof *to);
        }
    }
}

/* Checks that with one cell's weights in both directions, right to left over a reversed
 * passage equals left to right over the passage. */
static void walk_both_ways(int cell)
{
    float up[PASSAGES * WIDE], turned[PASSAGES * WIDE], host[QUESTIONS * WIDE];
    float left[PASSAGES * HIDDEN], right[PASSAGES * HIDDEN];
    cla_tensor *states = NULL;
    scene f;
    open_reader(&f, cell, 2);
    r_net *m = f.r.network;
    r_net_memory memory = { .rows = f.question_rows };
    memory.memory = scene_rows(&f, host, QUESTIONS, WIDE, 1);
    memory.keys = scene_rows(&f, host, QUESTIONS, HIDDEN, 2);
    cla_tensor *passage = scene_rows(&f, up, PASSAGES, WIDE, 3);
    TEST_OK(
        cla_r_net_walk(m, f.tape, &states, &memory, passage, f.passage_rows, false));
    TEST_OK(cla_tensor_download(states, turned));
    turn(left, turned, HIDDEN);
    turn(turned, up, WIDE);
    TEST_OK(cla_tensor_upload(passage, turned));
    m->match[1].way[0] = m->match[0].way[0];
    TEST_OK(cla_r_net_walk(m, f.tape, &states, &memory, passage, f.passage_rows, true));
    TEST_OK(cla_tensor_download(states, right));
    for (int i = 0; i < PASSAGES * HIDDEN; i++) {
        cr_assert_float_eq(left[i], right[i], 1e-6F, "%d", i);
    }
    cr_assert_float_neq(left[0], left[HIDDEN], 1e-6F, "all words have one state");
    scene_close(&f);
}

Test(r_net, directions_agree_on_reversed_passages)
{
    walk_both_ways(GRU);
    walk_both_ways(SRU);
}

/* Probabilities of a passage's words sum to 1, eleven of them at most: 1e-5. Those of
 * the last word differ from those of the first. */
Test(r_net, points_at_words_of_the_passage)
{
    float logs[2][PASSAGES];
    scene f;
    open_reader(&f, SRU, 1);
    scene_logs(&f, &f.batch, logs);
    for (int k = 0; k < 2; k++) {
        for (int b = 0, at = 0; b < B; at += passage_words[b++]) {
            float sum = 0;
            for (int i = 0; i < passage_words[b]; i++) {
                sum += expf(logs[k][at + i]);
            }
            cr_assert_float_eq(sum, 1, 1e-5F, "%g", (double)sum);
        }
    }
    cr_assert_float_neq(logs[0][0], logs[1][0], 1e-6F);
    cr_assert_float_neq(logs[0][0], logs[0][1], 1e-6F);
    scene_close(&f);
}

/* ---- levels ---------------------------------------------------------------------- */

Test(r_net, one_level_is_the_network_without_levels)
{
    float none[2] = { 1, 1 };
    scene f, g;
    open_reader(&f, GRU, 0);
    open_reader(&g, GRU, 1);
    cr_assert_eq(f.params.count + 2, g.params.count);
    const float a = scene_loss(&f), b = scene_loss(&g);
    cr_assert(memcmp(&a, &b, sizeof a) == 0, "%.9g and %.9g", (double)a, (double)b);
    cr_assert_eq(scene_same_gradients(&f, &g), (int)f.params.count);
    TEST_OK(cla_tensor_download(cla_tensor_grad(scene_param(&g, "r_net.match.levels")),
                                none));
    TEST_OK(cla_tensor_download(cla_tensor_grad(scene_param(&g, "r_net.self.levels")),
                                none + 1));
    cr_assert(none[0] == 0 && none[1] == 0);
    scene_close(&f);
    scene_close(&g);
}

/* Masked levels leave the loss as it is; others change it, in either place. */
Test(r_net, masked_levels_have_no_effect)
{
    static const char *const sites[] = { "r_net.match.levels", "r_net.self.levels" };
    static const float no_part[] = { 0, -1e30F, -1e30F }, part[] = { 0, 0.5F, -0.5F };
    float levels[3];
    scene f, g;
    open_reader(&f, SRU, 1);
    open_reader(&g, SRU, 3);
    const float one = scene_loss(&f);
    for (int i = 0; i < 2; i++) {
        TEST_OK(cla_tensor_upload(scene_param(&g, sites[i]), no_part));
    }
    cr_assert_float_eq(one, scene_loss(&g), 1e-6F);
    for (int i = 0; i < 2; i++) {
        cla_params_clear_gradients(&g.params);
        cla_tape_reset(g.tape);
        TEST_OK(cla_tensor_upload(scene_param(&g, sites[i]), part));
        cr_assert_float_neq(one, scene_loss(&g), 1e-7F, "%s", sites[i]);
        TEST_OK(
            cla_tensor_download(cla_tensor_grad(scene_param(&g, sites[i])), levels));
        cr_assert(levels[0] != 0 && levels[1] != 0 && levels[2] != 0, "%s", sites[i]);
        TEST_OK(cla_tensor_upload(scene_param(&g, sites[i]), no_part));
    }
    scene_close(&f);
    scene_close(&g);
}

Test(r_net, independent_of_batch)
{
    scene f;
    open_reader(&f, GRU, 2);
    scene_company(&f);
    scene_close(&f);
}

/* ---- learning -------------------------------------------------------------------- */

/* Returns the loss before the last of some steps of Adam. */
static float learn(scene *f, int steps)
{
    cla_optim adam = cla_optim_usual("adam", 0.005);
    float loss = 0;
    TEST_OK(cla_optim_init(&adam, &f->params));
    for (int s = 1; s <= steps; s++) {
        cla_params_clear_gradients(&f->params);
        cla_tape_reset(f->tape);
        loss = scene_loss(f);
        TEST_OK(cla_optim_step(&adam, s));
    }
    cla_optim_fini(&adam);
    return loss;
}

Test(r_net, learns_a_batch_by_heart)
{
    static const int depth[] = { 1, 3 };
    for (int i = 0; i < 2; i++) {
        scene f;
        open_reader(&f, i ? SRU : GRU, depth[i]);
        const float begun = scene_loss(&f), loss = learn(&f, 120);
        cr_assert_gt(begun, 1, "the loss begins at %g", (double)begun);
        cr_assert_lt(loss, 0.2F, "the loss is %g", (double)loss);
        scene_close(&f);
    }
}
