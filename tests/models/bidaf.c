/* bidaf.c - what holds for bidirectional attention flow whatever its weights are. */
#include "models/bidaf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"
#include "tensor/tensor.h"

enum { WORDS = 30, DIM = 6, HIDDEN = 4, B = 3, QUESTIONS = 9, PASSAGES = 21 };
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

static void open_reader(fixture *f, int depth)
{
    reader_config config = {
        .words = WORDS, .word_dim = DIM, .hidden = HIDDEN, .depth = depth
    };
    json_t *values = json_pack("{s:s}", "network", "bidaf");
    cla_config settings = { .values = values, .known = json_object() };
    reader_config named;
    *f = (fixture){ .rt = NULL };
    TEST_OK(cla_strdup(&settings.path, "test"));
    TEST_OK(reader_configure(&named, &settings));
    cla_config_fini(&settings);
    config.network = named.network;
    TEST_OK(cla_runtime_new(&f->rt, NULL));
    TEST_OK(reader_init(&f->r, &config, &f->params));
    TEST_OK(cla_params_build(&f->params, f->rt, test_seed()));
    TEST_OK(cla_tape_new(&f->tape, f->rt, true));
    float *words = test_random(WORDS * DIM, 1, 0); // far enough from each other
    TEST_OK(cla_tensor_upload(f->r.words, words));
    free(words);
    for (int i = 0; i < PASSAGES; i++) {
        f->question[i % QUESTIONS] = (7 * i + 3) % WORDS;
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

static void close_reader(fixture *f)
{
    cla_tape_free(&f->tape);
    cla_ragged_free(&f->question_rows);
    cla_ragged_free(&f->passage_rows);
    cla_params_free(&f->params);
    reader_fini(&f->r);
    cla_runtime_free(&f->rt);
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

/* ---- passage and question meet --------------------------------------------------- */

/* One passage and one question of width d, from numbers; out [P,4d]. */
static void match(cla_runtime *rt, float *out, const float *passage, int P,
                  const float *question, int Q, int d, int depth)
{
    cla_tape *tape = NULL;
    cla_tensor *h = NULL, *u = NULL, *levels = NULL, *got = NULL;
    cla_ragged *rows = test_ragged(rt, 1, &P, NULL);
    cla_ragged *memory = test_ragged(rt, 1, &Q, NULL);
    TEST_OK(cla_tape_new(&tape, rt, false));
    TEST_OK(cla_tape_tensor(tape, &h, CLA_F32, 2, (int64_t[]){ P, d }));
    TEST_OK(cla_tape_tensor(tape, &u, CLA_F32, 2, (int64_t[]){ Q, d }));
    TEST_OK(cla_tape_tensor(tape, &levels, CLA_F32, 1, (int64_t[]){ depth }));
    TEST_OK(cla_tensor_upload(h, passage));
    TEST_OK(cla_tensor_upload(u, question));
    TEST_OK(cla_tensor_fill(levels, 0));
    TEST_OK(bidaf_match(tape, &got, h, u, levels, rows, memory));
    TEST_OK(cla_tensor_download(got, out));
    cla_tape_free(&tape);
    cla_ragged_free(&memory);
    cla_ragged_free(&rows);
}

/* sin(0.9 k + 0.37 s) for k = 0, 1, ... */
static void waves(float *x, int n, int s)
{
    for (int k = 0; k < n; k++) {
        x[k] = (float)sin(0.9 * k + 0.37 * s);
    }
}

/* Known numbers, computed in double elsewhere and printed to six digits. */
Test(bidaf, match_has_the_known_numbers)
{
    enum { P = 4, Q = 2, D = 3 };
    static const double found[] = { 0.642203, 0.933685, 0.518573 };
    static const double about[] = { 0.192449, 0.186360, 0.039237 };
    static const double twice[] = { 0.638627, 0.926560, 0.513292 };
    float h[P * D], u[Q * D], out[P * 4 * D], g[D], sum = 0;
    cla_runtime *rt = NULL;
    TEST_OK(cla_runtime_new(&rt, NULL));
    waves(h, P * D, 1);
    waves(u, Q * D, 2);
    match(rt, out, h, P, u, Q, D, 1);
    check_close("found", out + D, found, D, 2e-6);
    for (int c = 0; c < D; c++) {
        cr_assert_float_eq(out[c], h[c], 0);
        cr_assert_float_eq(out[2 * D + c], h[c] * out[D + c], 1e-7F);
        g[c] = out[3 * D + c] / h[c];
    }
    check_close("about", g, about, D, 2e-6);
    for (int i = 0; i < P * 4 * D; i++) {
        sum += out[i];
    }
    cr_assert_float_eq(sum, 6.905994F, 5e-6F, "%g", (double)sum);
    match(rt, out, h, P, u, Q, D, 2);
    check_close("two levels", out + D, twice, D, 2e-6);
    cla_runtime_free(&rt);
}

/* With words of the question in another order, the same; with one word, that word. */
Test(bidaf, match_knows_no_order_of_the_question)
{
    enum { P = 5, Q = 4, D = 8, OUT = 4 * P * D };
    float *h = test_random(P * D, 1, 1), *u = test_random(Q * D, 1, 2), turned[Q * D];
    float a[OUT], b[OUT];
    cla_runtime *rt = NULL;
    TEST_OK(cla_runtime_new(&rt, NULL));
    for (int j = 0; j < Q; j++) {
        memcpy(turned + j * D, u + (Q - 1 - j) * D, D * sizeof *u);
    }
    match(rt, a, h, P, u, Q, D, 2);
    match(rt, b, h, P, turned, Q, D, 2);
    for (int i = 0; i < OUT; i++) {
        cr_assert_float_eq(a[i], b[i], 1e-5F);
    }
    match(rt, a, h, P, u, 1, D, 2);
    for (int i = 0; i < P; i++) {
        for (int c = 0; c < D; c++) {
            cr_assert_float_eq(a[(4 * i + 1) * D + c], u[c], 1e-6F);
        }
    }
    free(u);
    free(h);
    cla_runtime_free(&rt);
}

/* A column more, of ones in the passage and of threes in the question, adds three to
 * all products: nothing changes in the other columns. */
Test(bidaf, match_knows_differences_of_products_only)
{
    enum { P = 5, Q = 4, D = 8, MORE = D + 1 };
    float *h = test_random(P * D, 1, 1), *u = test_random(Q * D, 1, 2);
    float h2[P * MORE], u2[Q * MORE], a[4 * P * D], b[4 * P * MORE];
    cla_runtime *rt = NULL;
    TEST_OK(cla_runtime_new(&rt, NULL));
    for (int i = 0; i < P; i++) {
        memcpy(h2 + i * MORE, h + i * D, D * sizeof *h);
        h2[i * MORE + D] = 1;
    }
    for (int j = 0; j < Q; j++) {
        memcpy(u2 + j * MORE, u + j * D, D * sizeof *u);
        u2[j * MORE + D] = 3;
    }
    match(rt, a, h, P, u, Q, D, 1);
    match(rt, b, h2, P, u2, Q, MORE, 1);
    for (int i = 0; i < 4 * P; i++) {
        for (int c = 0; c < D; c++) {
            cr_assert_float_eq(a[i * D + c], b[i * MORE + c], 1e-5F);
        }
    }
    free(u);
    free(h);
    cla_runtime_free(&rt);
}

/* ---- pointing -------------------------------------------------------------------- */

static void scores_of(fixture *f, float at[2][PASSAGES])
{
    reader_scores scores;
    TEST_OK(reader_score(&f->r, f->tape, &scores, &f->batch));
    TEST_OK(cla_tensor_download(scores.first, at[0]));
    TEST_OK(cla_tensor_download(scores.last, at[1]));
}

/* Sums of at most eleven numbers. */
Test(bidaf, pointers_are_distributions)
{
    float at[2][PASSAGES];
    fixture f;
    open_reader(&f, 1);
    scores_of(&f, at);
    for (int k = 0; k < 2; k++) {
        for (int b = 0, p = 0; b < B; p += passage_words[b++]) {
            float sum = 0;
            for (int i = 0; i < passage_words[b]; i++) {
                cr_assert_geq(at[k][p + i], 0);
                sum += at[k][p + i];
            }
            cr_assert_float_eq(sum, 1, 2e-6F);
        }
    }
    cr_assert_float_neq(at[0][0], at[0][1], 1e-7F, "all words are the same to it");
    close_reader(&f);
}

/* Each of one pointer's parameters in the place of the other's. */
static void exchange(fixture *f)
{
    int exchanged = 0;
    for (size_t i = 0; i < f->params.count; i++) {
        const cla_param *p = &f->params.list[i];
        char name[sizeof p->name];
        if (strncmp(p->name, "bidaf.fw.", 9) != 0) {
            continue;
        }
        memcpy(name, p->name, sizeof name);
        name[6] = 'b';
        const cla_param *q = cla_params_find(&f->params, name);
        const size_t n = (size_t)cla_tensor_size(p->tensor);
        float *x = calloc(2 * n, sizeof *x);
        TEST_OK(cla_tensor_download(p->tensor, x));
        TEST_OK(cla_tensor_download(q->tensor, x + n));
        TEST_OK(cla_tensor_upload(p->tensor, x + n));
        TEST_OK(cla_tensor_upload(q->tensor, x));
        free(x);
        exchanged++;
    }
    cr_assert_eq(exchanged, 6);
    cla_params_changed(&f->params);
}

Test(bidaf, pointers_in_each_others_place_exchange_the_ends)
{
    float a[2][PASSAGES], b[2][PASSAGES];
    fixture f;
    open_reader(&f, 1);
    scores_of(&f, a);
    exchange(&f);
    scores_of(&f, b);
    float apart = 0;
    for (int i = 0; i < PASSAGES; i++) {
        cr_assert_float_eq(a[0][i], b[1][i], 1e-7F);
        cr_assert_float_eq(a[1][i], b[0][i], 1e-7F);
        apart = fmaxf(apart, fabsf(a[0][i] - a[1][i]));
    }
    cr_assert_gt(apart, 1e-5F, "first and last are the same");
    close_reader(&f);
}

/* ---- levels ---------------------------------------------------------------------- */

static int compare_gradients(fixture *f, fixture *g)
{
    int compared = 0;
    for (size_t i = 0; i < f->params.count; i++) {
        const cla_param *p = &f->params.list[i];
        cla_tensor *const mine = cla_tensor_grad(p->tensor);
        cla_tensor *const other =
            cla_tensor_grad(cla_params_find(&g->params, p->name)->tensor);
        cr_assert(mine && other, "%s has no gradient", p->name);
        const size_t n = (size_t)cla_tensor_size(mine);
        float *a = calloc(2 * n, sizeof *a), most = 0;
        TEST_OK(cla_tensor_download(mine, a));
        TEST_OK(cla_tensor_download(other, a + n));
        cr_assert(memcmp(a, a + n, n * sizeof *a) == 0, "%s", p->name);
        for (size_t k = 0; k < n; k++) {
            most = fmaxf(most, fabsf(a[k]));
        }
        cr_assert(most > 0 && most < 1e3F, "%s has a gradient of %g", p->name,
                  (double)most);
        free(a);
        compared++;
    }
    return compared;
}

Test(bidaf, one_level_is_the_network_without_levels)
{
    fixture f, g;
    float none = 1;
    open_reader(&f, 0);
    open_reader(&g, 1);
    cr_assert_eq(f.params.count + 1, g.params.count);
    const float a = loss_of(&f), b = loss_of(&g);
    cr_assert(memcmp(&a, &b, sizeof a) == 0, "%.9g and %.9g", (double)a, (double)b);
    cr_assert_eq(compare_gradients(&f, &g), 32);
    const cla_param *levels = cla_params_find(&g.params, "bidaf.levels");
    TEST_OK(cla_tensor_download(cla_tensor_grad(levels->tensor), &none));
    cr_assert_eq(none, 0);
    close_reader(&f);
    close_reader(&g);
}

/* A level that has no part leaves the loss as it is; one that has changes it. */
Test(bidaf, a_level_without_a_part_changes_nothing)
{
    static const float no_part[] = { 0, -1e30F, -1e30F }, part[] = { 0, 0.5F, -0.5F };
    fixture f, g;
    open_reader(&f, 1);
    open_reader(&g, 3);
    cla_tensor *levels = cla_params_find(&g.params, "bidaf.levels")->tensor;
    const float one = loss_of(&f);
    TEST_OK(cla_tensor_upload(levels, no_part));
    const float same = loss_of(&g);
    cr_assert_float_eq(one, same, 1e-6F);
    cla_params_clear_gradients(&g.params);
    cla_tape_reset(g.tape);
    TEST_OK(cla_tensor_upload(levels, part));
    cr_assert_float_neq(loss_of(&g), same, 1e-7F);
    close_reader(&f);
    close_reader(&g);
}

/* ---- batches --------------------------------------------------------------------- */

/* Each question alone has the answers that it has among others; sums of products may
 * go another way: 1e-5. */
Test(bidaf, company_changes_nothing)
{
    float all[2][PASSAGES], one[2][PASSAGES];
    fixture f;
    open_reader(&f, 2);
    const reader_batch whole = f.batch;
    scores_of(&f, all);
    for (int b = 0, q = 0, p = 0; b < B;
         q += question_words[b], p += passage_words[b++]) {
        cla_ragged *question = test_ragged(f.rt, 1, &question_words[b], NULL);
        cla_ragged *passage = test_ragged(f.rt, 1, &passage_words[b], NULL);
        f.batch = (reader_batch){ .question_rows = question,
                                  .passage_rows = passage,
                                  .question = whole.question + q,
                                  .passage = whole.passage + p };
        scores_of(&f, one);
        for (int i = 0; i < passage_words[b]; i++) {
            cr_assert_float_eq(one[0][i], all[0][p + i], 1e-5F);
            cr_assert_float_eq(one[1][i], all[1][p + i], 1e-5F);
        }
        cla_tape_reset(f.tape);
        cla_ragged_free(&question);
        cla_ragged_free(&passage);
    }
    close_reader(&f);
}
