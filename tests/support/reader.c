/* reader.c - a small reader between three questions and their passages. */
#include "support/reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIM = 6 };
const int scene_questions[SCENE_B] = { 4, 1, 4 },
          scene_passages[SCENE_B] = { 11, 9, 1 };
static const int32_t first[SCENE_B] = { 3, 8, 0 }, last[SCENE_B] = { 5, 8, 0 };

/* Which of the networks a name is. */
static int number_of(const char *network)
{
    json_t *values = json_pack("{s:s}", "network", network);
    cla_config settings = { .values = values, .known = json_object() };
    reader_config named;
    TEST_OK(cla_strdup(&settings.path, "test"));
    TEST_OK(reader_configure(&named, &settings));
    cla_config_fini(&settings);
    return named.network;
}

void scene_open(scene *f, const char *network, reader_config config)
{
    config.words = SCENE_WORDS;
    config.word_dim = DIM;
    config.hidden = config.hidden ? config.hidden : SCENE_HIDDEN;
    config.network = number_of(network);
    *f = (scene){ .rt = NULL };
    TEST_OK(cla_runtime_new(&f->rt, NULL));
    TEST_OK(reader_init(&f->r, &config, &f->params));
    TEST_OK(cla_params_build(&f->params, f->rt, test_seed()));
    TEST_OK(cla_tape_new(&f->tape, f->rt, true));
    float *words = test_random(SCENE_WORDS * DIM, 1, 0); // far enough from each other
    TEST_OK(cla_tensor_upload(f->r.words, words));
    free(words);
    for (int i = 0; i < SCENE_PASSAGES; i++) {
        f->question[i % SCENE_QUESTIONS] = (7 * i + 3) % SCENE_WORDS;
        f->passage[i] = (11 * i + 5) % SCENE_WORDS;
    }
    f->question_rows = test_ragged(f->rt, SCENE_B, scene_questions, NULL);
    f->passage_rows = test_ragged(f->rt, SCENE_B, scene_passages, NULL);
    f->batch = (reader_batch){ .question_rows = f->question_rows,
                               .passage_rows = f->passage_rows,
                               .question = f->question,
                               .passage = f->passage,
                               .first = first,
                               .last = last };
}

void scene_close(scene *f)
{
    cla_tape_free(&f->tape);
    cla_ragged_free(&f->question_rows);
    cla_ragged_free(&f->passage_rows);
    cla_params_free(&f->params);
    reader_fini(&f->r);
    cla_runtime_free(&f->rt);
}

cla_tensor *scene_param(const scene *f, const char *name)
{
    const cla_param *p = cla_params_find(&f->params, name);
    cr_assert_not_null(p, "there is no %s", name);
    return p->tensor;
}

cla_tensor *scene_rows(scene *f, float *host, int64_t n, int64_t columns, uint32_t what)
{
    cla_tensor *x = NULL;
    float *random = test_random(n * columns, 1, what);
    memcpy(host, random, (size_t)(n * columns) * sizeof *host);
    free(random);
    TEST_OK(cla_tape_tensor(f->tape, &x, CLA_F32, 2, (int64_t[]){ n, columns }));
    TEST_OK(cla_tensor_upload(x, host));
    return x;
}

float scene_loss(scene *f)
{
    cla_tensor *loss = NULL;
    float value = 0;
    TEST_OK(reader_loss(&f->r, f->tape, &loss, &f->batch));
    TEST_OK(cla_tensor_download(loss, &value));
    TEST_OK(cla_tape_seed(f->tape, loss, NULL));
    TEST_OK(cla_tape_backward(f->tape));
    return value;
}

void scene_scores(scene *f, float at[2][SCENE_PASSAGES])
{
    reader_scores scores;
    TEST_OK(reader_score(&f->r, f->tape, &scores, &f->batch));
    TEST_OK(cla_tensor_download(scores.first, at[0]));
    TEST_OK(cla_tensor_download(scores.last, at[1]));
}

void scene_logs(scene *f, const reader_batch *batch, float at[2][SCENE_PASSAGES])
{
    reader_scores logs = { NULL, NULL };
    TEST_OK(reader_logs(&f->r, f->tape, &logs, batch));
    TEST_OK(cla_tensor_download(logs.first, at[0]));
    TEST_OK(cla_tensor_download(logs.last, at[1]));
}

/* Sums of products may go another way: 1e-5. */
void scene_company(scene *f)
{
    float all[2][SCENE_PASSAGES], one[2][SCENE_PASSAGES];
    scene_logs(f, &f->batch, all);
    for (int b = 0, q = 0, p = 0; b < SCENE_B;
         q += scene_questions[b], p += scene_passages[b++]) {
        reader_batch alone = f->batch;
        cla_ragged *question = test_ragged(f->rt, 1, &scene_questions[b], NULL);
        cla_ragged *passage = test_ragged(f->rt, 1, &scene_passages[b], NULL);
        alone.question_rows = question;
        alone.passage_rows = passage;
        alone.question += q;
        alone.passage += p;
        alone.first += b;
        alone.last += b;
        scene_logs(f, &alone, one);
        for (int i = 0; i < scene_passages[b]; i++) {
            cr_assert_float_eq(one[0][i], all[0][p + i], 1e-5F);
            cr_assert_float_eq(one[1][i], all[1][p + i], 1e-5F);
        }
        cla_tape_reset(f->tape);
        cla_ragged_free(&question);
        cla_ragged_free(&passage);
    }
}

int scene_same_gradients(scene *f, scene *g)
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

void scene_gradient(scene *f, const char *name, float *sum, float *most)
{
    cla_tensor *const p = scene_param(f, name);
    const size_t n = (size_t)cla_tensor_size(p);
    float *x = calloc(n, sizeof *x);
    TEST_OK(cla_tensor_download(cla_tensor_grad(p), x));
    *sum = *most = 0;
    for (size_t k = 0; k < n; k++) {
        *sum += x[k];
        *most = fmaxf(*most, fabsf(x[k]));
    }
    free(x);
}

/* ---- differences ----------------------------------------------------------------- */

/* All parameters of f moved by step times way, which has their numbers in a row. */
static void move(scene *f, const float *way, float step)
{
    for (size_t i = 0; i < f->params.count; i++) {
        cla_tensor *t = f->params.list[i].tensor;
        const size_t n = (size_t)cla_tensor_size(t);
        float *x = calloc(n, sizeof *x);
        TEST_OK(cla_tensor_download(t, x));
        for (size_t k = 0; k < n; k++) {
            x[k] += step * way[k];
        }
        TEST_OK(cla_tensor_upload(t, x));
        free(x);
        way += n;
    }
    cla_params_changed(&f->params);
}

static double loss_at(scene *f)
{
    cla_tensor *loss = NULL;
    float value = 0;
    TEST_OK(reader_loss(&f->r, f->tape, &loss, &f->batch));
    TEST_OK(cla_tensor_download(loss, &value));
    cla_tape_reset(f->tape);
    return (double)value;
}

/* A way of length 1 near to the gradient of each parameter, which is made as long as
 * the others' first; gives the derivative along it. */
static double choose_way(scene *f, float *way, uint32_t round)
{
    double slope = 0;
    size_t at = 0;
    for (size_t i = 0; i < f->params.count; i++) {
        cla_tensor *t = f->params.list[i].tensor;
        const size_t n = (size_t)cla_tensor_size(t);
        float *g = calloc(n, sizeof *g);
        float *noise = test_random((int64_t)n, 1, 100 * (round + 1) + (uint32_t)i);
        double length = 1e-12, sum = 0;
        TEST_OK(cla_tensor_download(cla_tensor_grad(t), g));
        for (size_t k = 0; k < n; k++) {
            length += (double)g[k] * (double)g[k];
        }
        for (size_t k = 0; k < n; k++) {
            const double part =
                (double)g[k] / sqrt(length) + 0.3 * (double)noise[k] / sqrt((double)n);
            way[at + k] = (float)(part / sqrt((double)f->params.count));
            sum += (double)way[at + k] * (double)g[k];
        }
        slope += sum;
        at += n;
        free(noise);
        free(g);
    }
    return slope;
}

/* A step of 1/100 leaves an error of its square in the difference, and the loss, of a
 * few units, one of 1e-4 in the quotient. */
void scene_check_gradient(scene *f)
{
    const float step = 0.01F;
    size_t n = 0;
    for (size_t i = 0; i < f->params.count; i++) {
        n += (size_t)cla_tensor_size(f->params.list[i].tensor);
    }
    float *way = calloc(n, sizeof *way);
    for (uint32_t round = 0; round < 2; round++) {
        cla_params_clear_gradients(&f->params);
        scene_loss(f);
        cla_tape_reset(f->tape);
        const double slope = choose_way(f, way, round);
        move(f, way, step);
        const double above = loss_at(f);
        move(f, way, -2 * step);
        const double below = loss_at(f);
        move(f, way, step);
        const double want = (above - below) / (2 * (double)step);
        cr_assert_gt(want, 1e-2, "the loss hardly changes: %g", want);
        cr_assert_float_eq(slope, want, 1e-3 + 1e-2 * want, "%g, must be %g", slope,
                           want);
    }
    free(way);
}
