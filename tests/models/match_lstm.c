/* match_lstm.c - what holds for Match-LSTM whatever its weights are. */
#include "models/match_lstm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"
#include "tensor/tensor.h"

enum { WORDS = 30, DIM = 6, HIDDEN = 7, B = 3, QUESTIONS = 9, PASSAGES = 21 };
static const int question_words[B] = { 4, 1, 4 }, passage_words[B] = { 11, 9, 1 };
static const int32_t first[B] = { 3, 8, 0 }, last[B] = { 5, 8, 0 };

typedef struct fixture {
    cla_runtime *rt;
    cla_params params;
    reader r;
    cla_ragged *question_rows, *passage_rows;
    cla_tape *tape;
    int32_t question[QUESTIONS], passage[PASSAGES];
    reader_batch batch;
} fixture;

static void fill_batch(fixture *f)
{
    for (int i = 0; i < QUESTIONS; i++) {
        f->question[i] = (7 * i + 3) % WORDS;
    }
    for (int i = 0; i < PASSAGES; i++) {
        f->passage[i] = (11 * i + 5) % WORDS;
    }
    f->question_rows = test_ragged(f->rt, B, question_words, NULL);
    f->passage_rows = test_ragged(f->rt, B, passage_words, NULL);
    f->batch = (reader_batch){ .question_rows = f->question_rows,
                               .passage_rows = f->passage_rows,
                               .question = f->question,
                               .passage = f->passage,
                               .first = first,
                               .last = last };
}

static void open_reader(fixture *f, int depth, bool tie_dir)
{
    const reader_config config = { .words = WORDS,
                                   .word_dim = DIM,
                                   .hidden = HIDDEN,
                                   .depth = depth,
                                   .tie_dir = tie_dir };
    *f = (fixture){ .rt = NULL };
    TEST_OK(cla_runtime_new(&f->rt, NULL));
    TEST_OK(reader_init(&f->r, &config, &f->params));
    TEST_OK(cla_params_build(&f->params, f->rt, test_seed()));
    TEST_OK(cla_tape_new(&f->tape, f->rt, true));
    float *words = test_random(WORDS * DIM, 1, 0); // far enough from each other
    TEST_OK(cla_tensor_upload(f->r.words, words));
    free(words);
    fill_batch(f);
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
static cla_tensor *rows_of(fixture *f, float *host, int64_t n, uint32_t what)
{
    cla_tensor *x = NULL;
    float *random = test_random(n * HIDDEN, 1, what);
    memcpy(host, random, (size_t)(n * HIDDEN) * sizeof *host);
    free(random);
    TEST_OK(cla_tape_tensor(f->tape, &x, CLA_F32, 2, (int64_t[]){ n, HIDDEN }));
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

/* ---- looking --------------------------------------------------------------------- */

/* What two passages of three look at; the third one is at its end. */
typedef struct look {
    float weights[8], context[2 * HIDDEN], memory[QUESTIONS * HIDDEN];
} look;

static void take_look(fixture *f, look *l)
{
    float host[2 * HIDDEN];
    const cla_ragged *rows = NULL;
    cla_tensor *context = NULL, *weights = NULL;
    match_memory memory = { .rows = f->question_rows };
    memory.keys = rows_of(f, l->memory, QUESTIONS, 1);
    memory.memory = rows_of(f, l->memory, QUESTIONS, 2);
    TEST_OK(reader_single_rows(f->tape, &rows, B, 2));
    TEST_OK(match_lstm_look(f->r.network, f->tape, &context, &memory,
                            rows_of(f, host, 2, 3), rows_of(f, host, 2, 4), rows,
                            &weights));
    cr_assert_eq(weights->shape[0], question_words[0] + question_words[1]);
    TEST_OK(cla_tensor_download(weights, l->weights));
    TEST_OK(cla_tensor_download(context, l->context));
}

/* Weights are a distribution over the question's words: sums of up to four numbers. */
Test(match_lstm, looks_at_all_of_the_question)
{
    fixture f;
    look l;
    open_reader(&f, 1, false);
    take_look(&f, &l);
    const float *w = l.weights;
    cr_assert_float_eq(w[0] + w[1] + w[2] + w[3], 1, 1e-6F);
    cr_assert_float_eq(w[4], 1, 1e-6F);
    cr_assert_float_neq(w[0], w[1], 1e-6F, "all words are the same to it");
    close_reader(&f);
}

Test(match_lstm, without_a_score_the_context_is_the_mean)
{
    fixture f;
    look l;
    open_reader(&f, 3, false);
    TEST_OK(cla_tensor_fill(param(&f, "match.attend.score"), 0));
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
    close_reader(&f);
}

/* ---- walking --------------------------------------------------------------------- */

/* With one set of weights, right to left over a reversed passage is left to right over
 * the passage: the same sums of the same numbers. */
Test(match_lstm, walks_either_way_alike)
{
    float hp[PASSAGES * HIDDEN], turned[PASSAGES * HIDDEN], host[QUESTIONS * HIDDEN];
    float left[PASSAGES * HIDDEN], right[PASSAGES * HIDDEN];
    cla_tensor *states = NULL;
    fixture f;
    open_reader(&f, 2, true);
    match_memory memory = { .rows = f.question_rows };
    memory.keys = rows_of(&f, host, QUESTIONS, 1);
    memory.memory = rows_of(&f, host, QUESTIONS, 2);
    cla_tensor *passage = rows_of(&f, hp, PASSAGES, 3);
    TEST_OK(match_lstm_walk(f.r.network, f.tape, &states, &memory, passage,
                            f.passage_rows, false));
    TEST_OK(cla_tensor_download(states, left));
    for (int b = 0, at = 0; b < B; at += passage_words[b++]) {
        for (int i = 0; i < passage_words[b]; i++) {
            memcpy(turned + (at + passage_words[b] - 1 - i) * HIDDEN,
                   hp + (at + i) * HIDDEN, HIDDEN * sizeof *hp);
        }
    }
    TEST_OK(cla_tensor_upload(passage, turned));
    TEST_OK(match_lstm_walk(f.r.network, f.tape, &states, &memory, passage,
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
    close_reader(&f);
}

/* ---- pointing -------------------------------------------------------------------- */

Test(match_lstm, pointers_of_nothing_are_uniform)
{
    fixture f;
    double want = 0;
    open_reader(&f, 1, false);
    TEST_OK(cla_tensor_fill(param(&f, "match.point.states"), 0));
    TEST_OK(cla_tensor_fill(param(&f, "match.point.own"), 0));
    for (int b = 0; b < B; b++) {
        want += 2 * log(passage_words[b]) / B;
    }
    cr_assert_float_eq((double)loss_of(&f), want, 1e-5);
    close_reader(&f);
}

/* ---- levels ---------------------------------------------------------------------- */

static int compare_gradients(fixture *f, fixture *g)
{
    int compared = 0;
    for (size_t i = 0; i < f->params.count; i++) {
        const cla_param *p = &f->params.list[i];
        const cla_param *q = cla_params_find(&g->params, p->name);
        cla_tensor *const mine = cla_tensor_grad(p->tensor);
        if (strcmp(p->name, "match.levels") == 0) {
            continue;
        }
        cla_tensor *const other = cla_tensor_grad(q->tensor);
        cr_assert(mine && other, "%s has no gradient", p->name);
        const size_t n = (size_t)cla_tensor_size(mine);
        float *a = calloc(2 * n, sizeof *a);
        TEST_OK(cla_tensor_download(mine, a));
        TEST_OK(cla_tensor_download(other, a + n));
        cr_assert(memcmp(a, a + n, n * sizeof *a) == 0, "%s", p->name);
        free(a);
        compared++;
    }
    return compared;
}

Test(match_lstm, one_level_is_the_network_without_levels)
{
    fixture f, g;
    float none = 1;
    open_reader(&f, 0, false);
    open_reader(&g, 1, false);
    cr_assert_eq(f.params.count + 1, g.params.count);
    const float a = loss_of(&f), b = loss_of(&g);
    cr_assert(memcmp(&a, &b, sizeof a) == 0, "%.9g and %.9g", (double)a, (double)b);
    cr_assert_eq(compare_gradients(&f, &g), 20);
    TEST_OK(cla_tensor_download(cla_tensor_grad(param(&g, "match.levels")), &none));
    cr_assert_eq(none, 0);
    close_reader(&f);
    close_reader(&g);
}

/* A level that has no part leaves the loss as it is; one that has changes it, and the
 * gradients of all levels sum to nothing. */
Test(match_lstm, a_level_without_a_part_changes_nothing)
{
    static const float no_part[] = { 0, -1e30F, -1e30F }, part[] = { 0, 0.5F, -0.5F };
    float levels[3];
    fixture f, g;
    open_reader(&f, 1, false);
    open_reader(&g, 3, false);
    const float one = loss_of(&f);
    TEST_OK(cla_tensor_upload(param(&g, "match.levels"), no_part));
    const float same = loss_of(&g);
    cr_assert_float_eq(one, same, 1e-6F);
    cla_params_clear_gradients(&g.params);
    cla_tape_reset(g.tape);
    TEST_OK(cla_tensor_upload(param(&g, "match.levels"), part));
    const float other = loss_of(&g);
    cr_assert_float_neq(other, same, 1e-6F);
    TEST_OK(cla_tensor_download(cla_tensor_grad(param(&g, "match.levels")), levels));
    const float most = fmaxf(fabsf(levels[0]), fabsf(levels[1]));
    cr_assert_gt(most, 0);
    const float sum = levels[0] + levels[1] + levels[2];
    /* each is what is left of numbers some thousand times as large */
    cr_assert_lt(fabsf(sum), 0.01F * most, "%g of %g", (double)sum, (double)most);
    close_reader(&f);
    close_reader(&g);
}

/* ---- batches --------------------------------------------------------------------- */

/* Each question alone has the answers that it has among others; sums of products may
 * go another way: 1e-5. */
Test(match_lstm, company_changes_nothing)
{
    float all[2][PASSAGES], one[2][PASSAGES];
    reader_scores logs;
    fixture f;
    open_reader(&f, 2, false);
    TEST_OK(reader_logs(&f.r, f.tape, &logs, &f.batch));
    TEST_OK(cla_tensor_download(logs.first, all[0]));
    TEST_OK(cla_tensor_download(logs.last, all[1]));
    for (int b = 0, q = 0, p = 0; b < B;
         q += question_words[b], p += passage_words[b++]) {
        reader_batch alone = f.batch;
        cla_ragged *question = test_ragged(f.rt, 1, &question_words[b], NULL);
        cla_ragged *passage = test_ragged(f.rt, 1, &passage_words[b], NULL);
        alone.question_rows = question;
        alone.passage_rows = passage;
        alone.question += q;
        alone.passage += p;
        alone.first += b;
        alone.last += b;
        TEST_OK(reader_logs(&f.r, f.tape, &logs, &alone));
        TEST_OK(cla_tensor_download(logs.first, one[0]));
        TEST_OK(cla_tensor_download(logs.last, one[1]));
        for (int i = 0; i < passage_words[b]; i++) {
            cr_assert_float_eq(one[0][i], all[0][p + i], 1e-5F);
            cr_assert_float_eq(one[1][i], all[1][p + i], 1e-5F);
        }
        cla_ragged_free(&question);
        cla_ragged_free(&passage);
    }
    close_reader(&f);
}

Test(match_lstm, refuses_passages_in_another_order)
{
    static const int rising[B] = { 1, 9, 11 }, empty[B] = { 11, 10, 0 };
    reader_scores scores;
    fixture f;
    open_reader(&f, 1, false);
    for (int i = 0; i < 2; i++) {
        cla_ragged_free(&f.passage_rows);
        f.passage_rows = test_ragged(f.rt, B, i ? empty : rising, NULL);
        f.batch.passage_rows = f.passage_rows;
        TEST_FAILS(reader_score(&f.r, f.tape, &scores, &f.batch), CLA_E_USAGE,
                   i ? "passage 2 is empty" : "passage 1 is empty or longer");
    }
    close_reader(&f);
}
