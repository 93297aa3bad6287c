/* poet.c - the poem generator: one level, an empty context, gradients, and lines learnt
 * by heart. */
#include "models/poet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clattn/ops.h"
#include "support/slopes.h"
#include "support/support.h"
#include "support/waits.h"
#include "train/optim.h"

/* Four lines of five characters: keywords of one or two, contexts of 0 to 3 lines. */
enum { V = 14, HIDDEN = 16, B = 4, L = 5, FROM = 3 };

static const int32_t keyword[] = { 3, 4, 5, 6, 7, 8 };
static const int32_t keyword_at[B + 1] = { 0, 2, 3, 5, 6 };
static const int32_t context[] = { 3, 5, 7, 9, 11, 13, 12, 10, 8, 6, 4, 3, 5,  7, 9,
                                   4, 4, 5, 6, 7,  8,  9,  3,  8, 4, 9, 5, 10, 6, 11 };
static const int32_t context_at[B + 1] = { 0, 0, 5, 15, 30 };
static const int32_t nothing_before[B + 1] = { 0 };
static const int32_t line[B * L] = { 3, 9, 4, 8, 10, 11, 12, 13, 3, 4,
                                     5, 6, 7, 8, 9,  13, 12, 11, 3, 5 };
static const poet_batch lines = {
    B, L, keyword, keyword_at, context, context_at, line
};
static const poet_batch first_lines = { B,          L,       keyword,
                                        keyword_at, context, nothing_before,
                                        line };

typedef struct fixture {
    cla_runtime *rt;
    cla_params params;
    poet m;
    cla_tape *tape;
} fixture;

static void open_model(fixture *f, int depth, int score)
{
    const poet_config config = {
        .characters = V, .dim = HIDDEN, .hidden = HIDDEN, .depth = depth, .score = score
    };
    *f = (fixture){ 0 };
    TEST_OK(cla_runtime_new(&f->rt, NULL));
    TEST_OK(cla_poet_init(&f->m, &config, &f->params));
    TEST_OK(cla_params_build(&f->params, f->rt, test_seed()));
    TEST_OK(cla_tape_new(&f->tape, f->rt, true));
}

static void close_model(fixture *f)
{
    cla_tape_free(&f->tape);
    cla_params_free(&f->params);
    cla_runtime_free(&f->rt);
}

/* Runs the first step: step->context [B,2h] is its attention to memory. */
static void find(fixture *f, const poet_batch *b, poet_memory *memory, poet_step *step)
{
    float none[B * HIDDEN] = { 0 };
    cla_tensor *input = NULL;
    TEST_OK(cla_poet_read(&f->m, f->tape, memory, b));
    TEST_OK(cla_tape_tensor(f->tape, &input, CLA_F32, 2, (int64_t[]){ B, HIDDEN }));
    TEST_OK(cla_tensor_upload(input, none));
    *step = (poet_step){ .state = memory->state };
    TEST_OK(cla_poet_even_rows(f->tape, B, 1, &step->ones));
    step->hypotheses = step->ones;
    TEST_OK(cla_poet_next(&f->m, f->tape, step, memory, input));
}

/* The memory of a first line is its keyword alone, and so is its context: to the
 * rounding of the levels' weights, and with one level to the bit. */
Test(poet, first_line_sees_its_keyword)
{
    static const int depths[] = { 1, 3, 3 }, scores[] = { 0, 0, 1 };
    for (int k = 0; k < 3; k++) {
        fixture f;
        poet_memory memory;
        poet_step step;
        float want[B * 2 * HIDDEN], got[B * 2 * HIDDEN];
        open_model(&f, depths[k], scores[k]);
        find(&f, &first_lines, &memory, &step);
        cr_assert_eq(cla_ragged_longest(memory.rows), 1);
        TEST_OK(cla_tensor_download(memory.value, want));
        TEST_OK(cla_tensor_download(step.context, got));
        for (int i = 0; i < B * 2 * HIDDEN; i++) {
            const double slip = fabs((double)(got[i] - want[i]));
            cr_assert(slip <= (depths[k] > 1 ? 1e-6 : 0), "depth %d: %g for %g",
                      depths[k], (double)got[i], (double)want[i]);
        }
        close_model(&f);
    }
}

/* One level is plain attention (to the order of its sums). */
Test(poet, one_level_is_attention)
{
    fixture f;
    poet_memory memory;
    poet_step step;
    cla_tensor *q = NULL, *k = NULL, *plain = NULL;
    float got[B * 2 * HIDDEN], other[B * 2 * HIDDEN];
    double want[B * 2 * HIDDEN];
    open_model(&f, 1, 0);
    find(&f, &lines, &memory, &step);
    const int64_t keys = cla_tensor_dim(memory.value, 0);
    TEST_OK(cla_linear(f.tape, &q, memory.state, f.m.query, NULL, CLA_NONE, NULL));
    TEST_OK(cla_tensor_reshape(f.tape, &q, q, 3, (int64_t[]){ B, 1, 2 * HIDDEN }));
    TEST_OK(cla_tensor_reshape(f.tape, &k, memory.value, 3,
                               (int64_t[]){ keys, 1, 2 * HIDDEN }));
    TEST_OK(cla_attention(f.tape, &plain, q, k, k, step.ones, memory.rows, NULL));
    TEST_OK(cla_tensor_download(step.context, got));
    TEST_OK(cla_tensor_download(plain, other));
    for (int i = 0; i < B * 2 * HIDDEN; i++) {
        want[i] = (double)other[i];
    }
    check_close("context", got, want, B * 2 * HIDDEN, 2e-6);
    close_model(&f);
}

static void go_back(fixture *f, float *loss)
{
    cla_tensor *out = NULL;
    TEST_OK(cla_poet_loss(&f->m, f->tape, &out, &lines));
    TEST_OK(cla_tape_seed(f->tape, out, NULL));
    TEST_OK(cla_tape_backward(f->tape));
    TEST_OK(cla_tensor_download(out, loss));
    TEST_OK(cla_params_fill_gradients(&f->params));
}

static double loss_here(void *model, bool backward)
{
    fixture *f = model;
    float value = 0;
    if (backward) {
        go_back(f, &value);
    } else {
        cla_tensor *loss = NULL;
        TEST_OK(cla_poet_loss(&f->m, f->tape, &loss, &lines));
        TEST_OK(cla_tensor_download(loss, &value));
    }
    cla_tape_reset(f->tape);
    return (double)value;
}

Test(poet, gradients_match_finite_differences)
{
    for (int score = 0; score < 2; score++) {
        fixture f;
        open_model(&f, 2, score);
        check_slopes(
            &(slopes_case){ .params = &f.params, .loss = loss_here, .model = &f });
        close_model(&f);
    }
}

/* A masked second level changes no bit of the loss and the gradients. */
Test(poet, masked_level_has_no_effect)
{
    static const float masked[] = { 0, -1e30f };
    fixture one, two;
    float loss[2];
    open_model(&one, 1, 0);
    open_model(&two, 2, 0);
    TEST_OK(cla_tensor_upload(two.m.levels, masked));
    cla_params_changed(&two.params);
    go_back(&one, &loss[0]);
    go_back(&two, &loss[1]);
    cr_assert(!memcmp(&loss[0], &loss[1], sizeof loss[0]), "losses %g and %g",
              (double)loss[0], (double)loss[1]);
    cr_assert_float_eq(loss[0], log(V), 1, "loss is %g", (double)loss[0]);
    for (size_t i = 0; i < one.params.count; i++) {
        const cla_param *p = &one.params.list[i];
        const cla_param *q = cla_params_find(&two.params, p->name);
        const int64_t n = cla_tensor_size(p->tensor);
        float *a = calloc((size_t)n, sizeof *a), *b = calloc((size_t)n, sizeof *b);
        double sum = 0;
        if (cla_tensor_size(q->tensor) == n) { // all but the levels
            TEST_OK(cla_tensor_download(cla_tensor_grad(p->tensor), a));
            TEST_OK(cla_tensor_download(cla_tensor_grad(q->tensor), b));
            cr_assert(!memcmp(a, b, (size_t)n * sizeof *a), "%s: other gradients",
                      p->name);
            for (int64_t k = 0; k < n; k++) {
                sum += fabs((double)a[k]);
            }
            cr_assert(sum > 0, "%s has no gradient", p->name);
        }
        free(a);
        free(b);
    }
    close_model(&one);
    close_model(&two);
}

/* ---- by heart ------------------------------------------------------------------ */

/* Eight poems of four lines, 32 in all. No two lines begin alike: the keyword
 * determines the first character, and the beginning of a line the rest. */
enum { POEMS = 8, LINES = 4 * POEMS, WORDS = 40 };

typedef struct heart {
    int32_t keyword[LINES], keyword_at[LINES + 1];
    int32_t context[LINES * 3 * L], context_at[LINES + 1], line[LINES * L];
} heart;

static void make_poems(heart *h)
{
    for (int i = 0; i < LINES; i++) {
        h->keyword[i] = FROM + i;
        h->keyword_at[i + 1] = i + 1;
        for (int k = 0; k < L; k++) {
            h->line[i * L + k] = FROM + (i * 7 + k * k * (i % 5 + 3) + k) % WORDS;
        }
        const int before = i % 4 * L;
        memcpy(h->context + h->context_at[i], h->line + i * L - before,
               (size_t)before * sizeof *h->context);
        h->context_at[i + 1] = h->context_at[i] + before;
    }
}

static float train(fixture *f, cla_optim *optim, const poet_batch *b, int steps)
{
    cla_tensor *loss = NULL;
    float value = 0;
    waits_begin(f->rt);
    for (int i = 1; i <= steps; i++) {
        cla_params_clear_gradients(&f->params);
        cla_tape_reset(f->tape);
        TEST_OK(cla_poet_loss(&f->m, f->tape, &loss, b));
        TEST_OK(cla_tape_seed(f->tape, loss, NULL));
        TEST_OK(cla_tape_backward(f->tape));
        TEST_OK(cla_optim_step(optim, i));
    }
    waits_end(f->rt, 0);
    cla_tape_reset(f->tape);
    TEST_OK(cla_poet_loss(&f->m, f->tape, &loss, b));
    TEST_OK(cla_tensor_download(loss, &value));
    return value;
}

/* 32 lines are learnt and written again with either beam. Their log probability is that
 * of the loss: sums of 160 logarithms, each good to 1e-6 or so. */
Test(poet, learns_lines_by_heart)
{
    static heart h;
    fixture f = { 0 };
    const poet_config config = {
        .characters = FROM + WORDS, .dim = 16, .hidden = 32, .depth = 3
    };
    cla_optim optim = {
        .kind = cla_optimiser_named("adam"),
        .rates = { .lr = 0.02, .epsilon = 1e-8, .decay = { 0.9, 0.98 } },
    };
    int32_t out[LINES * L];
    double logp[LINES], sum = 0;
    make_poems(&h);
    const poet_batch b = { LINES,        L,     h.keyword, h.keyword_at, h.context,
                           h.context_at, h.line };
    TEST_OK(cla_runtime_new(&f.rt, NULL));
    TEST_OK(cla_poet_init(&f.m, &config, &f.params));
    TEST_OK(cla_params_build(&f.params, f.rt, test_seed()));
    TEST_OK(cla_tape_new(&f.tape, f.rt, true));
    TEST_OK(cla_optim_init(&optim, &f.params));
    const float loss = train(&f, &optim, &b, 70);
    cr_assert(loss < 0.05f, "loss is %g", (double)loss);
    for (int beam = 1; beam <= 3; beam += 2) {
        TEST_OK(cla_poet_write(&f.m, f.rt, &b, beam, FROM, out, logp));
        cr_assert_arr_eq(out, h.line, sizeof out, "beam %d", beam);
    }
    for (int i = 0; i < LINES; i++) {
        sum -= logp[i];
    }
    cr_assert_float_eq(sum / (LINES * L), (double)loss, 1e-5, "%g for %g",
                       sum / (LINES * L), (double)loss);
    cla_optim_fini(&optim);
    close_model(&f);
}
