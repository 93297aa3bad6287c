/* r_net.c - what holds for R-NET whatever its weights are, and that it learns. */
#include "models/r_net.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"
#include "train/optim.h"

enum { WORDS = 30, DIM = 6, HIDDEN = 8, WIDE = 2 * HIDDEN };
enum { B = 3, QUESTIONS = 9, PASSAGES = 17, GRU = 1, SRU = 2 };
static const int question_words[B] = { 4, 1, 4 }, passage_words[B] = { 9, 7, 1 };
static const int32_t first[B] = { 3, 6, 0 }, last[B] = { 5, 6, 0 };

typedef struct fixture {
    cla_runtime *rt;
    cla_params params;
    reader r;
    cla_ragged *question_rows, *passage_rows;
    cla_tape *tape;
    int32_t question[QUESTIONS], passage[PASSAGES];
    reader_batch batch;
} fixture;

static void open_reader(fixture *f, int network, int depth)
{
    const reader_config config = { .network = network,
                                   .words = WORDS,
                                   .word_dim = DIM,
                                   .hidden = HIDDEN,
                                   .depth = depth };
    *f = (fixture){ .rt = NULL };
    TEST_OK(cla_runtime_new(&f->rt, NULL));
    TEST_OK(reader_init(&f->r, &config, &f->params));
    TEST_OK(cla_params_build(&f->params, f->rt, test_seed()));
    TEST_OK(cla_tape_new(&f->tape, f->rt, true));
    float *words = test_random(WORDS * DIM, 1, 0); // far enough from each other
    TEST_OK(cla_tensor_upload(f->r.words, words));
    free(words);
    for (int i = 0; i < PASSAGES; i++) {
        f->question[i % QUESTIONS] = (7 * (i % QUESTIONS) + 3) % WORDS;
        f->passage[i] = (11 * i + 5) % WORDS;
    }
    f->question_rows = test_ragged(f->rt, B, question_words, NULL);
    f->passage_rows = test_ragged(f->rt, B, passage_words, NULL);
    f->batch = (reader_batch){ f->question_rows, f->passage_rows, f->question,
                               f->passage,       .first = first,  .last = last };
}

static void close_reader(fixture *f)
{
    cla_tape_free(&f->tape);
    cla_ragged_free(&f->question_rows);
    cla_ragged_free(&f->passage_rows);
    cla_params_free(&f->params);
    reader_fini(&f->r);
    cla_runtime_free(&f->rt);
}

static cla_tensor *param(fixture *f, const char *name)
{
    const cla_param *p = cla_params_find(&f->params, name);
    cr_assert_not_null(p, "%s", name);
    return p->tensor;
}

/* Random rows of the step. */
static cla_tensor *rows_of(fixture *f, float *host, int64_t n, int64_t columns,
                           uint32_t what)
{
    cla_tensor *x = NULL;
    float *random = test_random(n * columns, 1, what);
    memcpy(host, random, (size_t)(n * columns) * sizeof *host);
    free(random);
    TEST_OK(cla_tape_tensor(f->tape, &x, CLA_F32, 2, (int64_t[]){ n, columns }));
    TEST_OK(cla_tensor_upload(x, host));
    return x;
}

static float loss_of(fixture *f)
{
    cla_tensor *loss = NULL;
    float value = 0;
    TEST_OK(reader_loss(&f->r, f->tape, &loss, &f->batch));
    TEST_OK(cla_tensor_download(loss, &value));
    TEST_OK(cla_tape_seed(f->tape, loss, NULL));
    TEST_OK(cla_tape_backward(f->tape));
    return value;
}

/* ---- gates ----------------------------------------------------------------------- */

Test(r_net, a_gate_of_nothing_is_one_half)
{
    float x[2 * WIDE], w[WIDE * WIDE], y[2 * WIDE];
    cla_tensor *gated = NULL;
    fixture f;
    open_reader(&f, GRU, 0);
    cla_tensor *in = rows_of(&f, x, 2, WIDE, 1);
    cla_tensor *weights = rows_of(&f, w, WIDE, WIDE, 2);
    TEST_OK(r_net_gate(f.tape, &gated, in, weights));
    TEST_OK(cla_tensor_download(gated, y));
    cr_assert_float_neq(y[0], x[0] / 2, 1e-6F, "a gate that is always one half");
    TEST_OK(cla_tensor_fill(weights, 0));
    TEST_OK(r_net_gate(f.tape, &gated, in, weights));
    TEST_OK(cla_tensor_download(gated, y));
    for (int i = 0; i < 2 * WIDE; i++) {
        cr_assert_eq(y[i], x[i] / 2);
    }
    close_reader(&f);
}

/* ---- contexts -------------------------------------------------------------------- */

/* How far a context is from the mean of n rows. */
static float from_mean(const float *context, const float *memory, int n)
{
    float most = 0;
    for (int c = 0; c < WIDE; c++) {
        float mean = 0;
        for (int j = 0; j < n; j++) {
            mean += memory[j * WIDE + c] / (float)n;
        }
        most = fmaxf(most, fabsf(mean - context[c]));
    }
    return most;
}

/* Sums of at most nine numbers: 1e-5. */
static void check_mean(const float *context, const float *memory, int n)
{
    cr_assert_lt(from_mean(context, memory, n), 1e-5F);
}

/* Contexts of two passages' words in the question, of all words among themselves, and
 * of the pointer in the question. */
typedef struct contexts {
    float question[QUESTIONS * WIDE], passage[PASSAGES * WIDE];
    float look[2 * WIDE], reflect[PASSAGES * WIDE], pool[B * WIDE];
} contexts;

static void take_contexts(fixture *f, contexts *c)
{
    float host[QUESTIONS * HIDDEN];
    const cla_ragged *rows = NULL;
    cla_tensor *context = NULL;
    r_net_memory memory = { .rows = f->question_rows };
    memory.memory = rows_of(f, c->question, QUESTIONS, WIDE, 1);
    memory.keys = rows_of(f, host, QUESTIONS, HIDDEN, 2);
    TEST_OK(reader_single_rows(f->tape, &rows, B, 2));
    TEST_OK(r_net_look(f->r.network, f->tape, &context, &memory,
                       rows_of(f, host, 2, HIDDEN, 3), rows_of(f, host, 2, HIDDEN, 4),
                       rows));
    TEST_OK(cla_tensor_download(context, c->look));
    TEST_OK(r_net_reflect(f->r.network, f->tape, &context,
                          rows_of(f, c->passage, PASSAGES, WIDE, 5), f->passage_rows));
    TEST_OK(cla_tensor_download(context, c->reflect));
    TEST_OK(r_net_pool(f->r.network, f->tape, &context, &memory));
    TEST_OK(cla_tensor_download(context, c->pool));
}

/* With a score of nothing every context is the mean of its memory, also at the second
 * level, whose memory in a passage is then that mean. */
Test(r_net, without_a_score_contexts_are_means)
{
    contexts c;
    fixture f;
    open_reader(&f, GRU, 2);
    take_contexts(&f, &c);
    cr_assert_gt(from_mean(c.look, c.question, 4), 1e-4F);
    cr_assert_gt(from_mean(c.pool, c.question, 4), 1e-4F);
    /* the second level's are drawn to the mean, but are not there */
    cr_assert_gt(from_mean(c.reflect, c.passage, 9), 1e-4F);
    TEST_OK(cla_tensor_fill(param(&f, "r_net.score"), 0));
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
    close_reader(&f);
}

/* ---- walking and pointing -------------------------------------------------------- */

/* Each passage's rows from the last to the first. */
static void turn(float *to, const float *from, int columns)
{
    for (int b = 0, at = 0; b < B; at += passage_words[b++]) {
        for (int i = 0; i < passage_words[b]; i++) {
            memcpy(to + (at + passage_words[b] - 1 - i) * columns,
                   from + (at + i) * columns, (size_t)columns * sizeof *to);
        }
    }
}

/* With one cell's weights in both directions, right to left over a reversed passage is
 * left to right over the passage. */
static void walk_both_ways(int network)
{
    float up[PASSAGES * WIDE], turned[PASSAGES * WIDE], host[QUESTIONS * WIDE];
    float left[PASSAGES * HIDDEN], right[PASSAGES * HIDDEN];
    cla_tensor *states = NULL;
    fixture f;
    open_reader(&f, network, 2);
    r_net *m = f.r.network;
    r_net_memory memory = { .rows = f.question_rows };
    memory.memory = rows_of(&f, host, QUESTIONS, WIDE, 1);
    memory.keys = rows_of(&f, host, QUESTIONS, HIDDEN, 2);
    cla_tensor *passage = rows_of(&f, up, PASSAGES, WIDE, 3);
    TEST_OK(r_net_walk(m, f.tape, &states, &memory, passage, f.passage_rows, false));
    TEST_OK(cla_tensor_download(states, turned));
    turn(left, turned, HIDDEN);
    turn(turned, up, WIDE);
    TEST_OK(cla_tensor_upload(passage, turned));
    m->match[1].way[0] = m->match[0].way[0];
    TEST_OK(r_net_walk(m, f.tape, &states, &memory, passage, f.passage_rows, true));
    TEST_OK(cla_tensor_download(states, right));
    for (int i = 0; i < PASSAGES * HIDDEN; i++) {
        cr_assert_float_eq(left[i], right[i], 1e-6F, "%d", i);
    }
    cr_assert_float_neq(left[0], left[HIDDEN], 1e-6F, "all words have one state");
    close_reader(&f);
}

Test(r_net, walks_either_way_alike)
{
    walk_both_ways(GRU);
    walk_both_ways(SRU);
}

static void take_logs(fixture *f, const reader_batch *batch, float out[2][PASSAGES])
{
    reader_scores logs = { NULL, NULL };
    TEST_OK(reader_logs(&f->r, f->tape, &logs, batch));
    TEST_OK(cla_tensor_download(logs.first, out[0]));
    TEST_OK(cla_tensor_download(logs.last, out[1]));
}

/* Probabilities of a passage's words sum to 1, nine of them at most: 1e-5. Those of the
 * last word are not those of the first. */
Test(r_net, points_at_words_of_the_passage)
{
    float logs[2][PASSAGES];
    fixture f;
    open_reader(&f, SRU, 1);
    take_logs(&f, &f.batch, logs);
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
    close_reader(&f);
}

/* ---- levels ---------------------------------------------------------------------- */

/* The same bits in both, and none of them all zeros. */
static int compare_gradients(fixture *f, fixture *g)
{
    int compared = 0;
    for (size_t i = 0; i < f->params.count; i++) {
        const cla_param *p = &f->params.list[i];
        const cla_param *q = cla_params_find(&g->params, p->name);
        cla_tensor *const mine = cla_tensor_grad(p->tensor);
        cla_tensor *const other = cla_tensor_grad(q->tensor);
        cr_assert(mine && other, "%s has no gradient", p->name);
        const size_t n = (size_t)cla_tensor_size(mine);
        float *a = calloc(2 * n, sizeof *a), most = 0;
        TEST_OK(cla_tensor_download(mine, a));
        TEST_OK(cla_tensor_download(other, a + n));
        cr_assert(memcmp(a, a + n, n * sizeof *a) == 0, "%s", p->name);
        for (size_t k = 0; k < n; k++) {
            most = fmaxf(most, fabsf(a[k]));
        }
        cr_assert_gt(most, 0, "nothing flows into %s", p->name);
        free(a);
        compared++;
    }
    return compared;
}

Test(r_net, one_level_is_the_network_without_levels)
{
    float none[2] = { 1, 1 };
    fixture f, g;
    open_reader(&f, GRU, 0);
    open_reader(&g, GRU, 1);
    cr_assert_eq(f.params.count + 2, g.params.count);
    const float a = loss_of(&f), b = loss_of(&g);
    cr_assert(memcmp(&a, &b, sizeof a) == 0, "%.9g and %.9g", (double)a, (double)b);
    cr_assert_eq(compare_gradients(&f, &g), (int)f.params.count);
    TEST_OK(
        cla_tensor_download(cla_tensor_grad(param(&g, "r_net.match.levels")), none));
    TEST_OK(
        cla_tensor_download(cla_tensor_grad(param(&g, "r_net.self.levels")), none + 1));
    cr_assert(none[0] == 0 && none[1] == 0);
    close_reader(&f);
    close_reader(&g);
}

/* Levels that have no part leave the loss as it is; those of either site change it. */
Test(r_net, levels_without_a_part_change_nothing)
{
    static const char *const sites[] = { "r_net.match.levels", "r_net.self.levels" };
    static const float no_part[] = { 0, -1e30F, -1e30F }, part[] = { 0, 0.5F, -0.5F };
    float levels[3];
    fixture f, g;
    open_reader(&f, SRU, 1);
    open_reader(&g, SRU, 3);
    const float one = loss_of(&f);
    for (int i = 0; i < 2; i++) {
        TEST_OK(cla_tensor_upload(param(&g, sites[i]), no_part));
    }
    cr_assert_float_eq(one, loss_of(&g), 1e-6F);
    for (int i = 0; i < 2; i++) {
        cla_params_clear_gradients(&g.params);
        cla_tape_reset(g.tape);
        TEST_OK(cla_tensor_upload(param(&g, sites[i]), part));
        cr_assert_float_neq(one, loss_of(&g), 1e-7F, "%s", sites[i]);
        TEST_OK(cla_tensor_download(cla_tensor_grad(param(&g, sites[i])), levels));
        cr_assert(levels[0] != 0 && levels[1] != 0 && levels[2] != 0, "%s", sites[i]);
        TEST_OK(cla_tensor_upload(param(&g, sites[i]), no_part));
    }
    close_reader(&f);
    close_reader(&g);
}

/* Each question alone has the answers that it has among others; sums of products may
 * go another way: 1e-5. */
Test(r_net, company_changes_nothing)
{
    float all[2][PASSAGES], one[2][PASSAGES];
    fixture f;
    open_reader(&f, GRU, 2);
    take_logs(&f, &f.batch, all);
    for (int b = 0, q = 0, p = 0; b < B;
         q += question_words[b], p += passage_words[b++]) {
        reader_batch alone = f.batch;
        cla_ragged *question = test_ragged(f.rt, 1, &question_words[b], NULL);
        cla_ragged *passage = test_ragged(f.rt, 1, &passage_words[b], NULL);
        alone.question_rows = question;
        alone.passage_rows = passage;
        alone.question += q;
        alone.passage += p;
        take_logs(&f, &alone, one);
        for (int i = 0; i < passage_words[b]; i++) {
            cr_assert_float_eq(one[0][i], all[0][p + i], 1e-5F);
            cr_assert_float_eq(one[1][i], all[1][p + i], 1e-5F);
        }
        cla_ragged_free(&question);
        cla_ragged_free(&passage);
    }
    close_reader(&f);
}

/* ---- learning -------------------------------------------------------------------- */

/* The loss before the last of some steps of Adam. */
static float learn(fixture *f, int steps)
{
    cla_optim adam = { .kind = 1, .lr = 0.005, .beta1 = 0.9, .beta2 = 0.999 };
    adam.epsilon = 1e-8;
    float loss = 0;
    TEST_OK(cla_optim_init(&adam, &f->params));
    for (int s = 1; s <= steps; s++) {
        cla_params_clear_gradients(&f->params);
        cla_tape_reset(f->tape);
        loss = loss_of(f);
        TEST_OK(cla_optim_step(&adam, s));
    }
    cla_optim_fini(&adam);
    return loss;
}

Test(r_net, learns_a_batch_by_heart)
{
    static const int depth[] = { 1, 3 };
    for (int i = 0; i < 2; i++) {
        fixture f;
        open_reader(&f, i ? SRU : GRU, depth[i]);
        const float begun = loss_of(&f), loss = learn(&f, 120);
        cr_assert_gt(begun, 1, "the loss begins at %g", (double)begun);
        cr_assert_lt(loss, 0.2F, "the loss is %g", (double)loss);
        close_reader(&f);
    }
}
