/* reader.c - a fixture: a small reader and a batch of three questions with their
 * passages. */
#include "support/reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/slopes.h"

enum { DIM = 6 };
const int scene_questions[SCENE_B] = { 4, 1, 4 },
          scene_passages[SCENE_B] = { 11, 9, 1 };
static const int32_t first[SCENE_B] = { 3, 8, 0 }, last[SCENE_B] = { 5, 8, 0 };

/* Returns the number of a network by its name. */
static int number_of(const char *network)
{
    json_t *values = json_pack("{s:s}", "network", network);
    cla_config settings = { .values = values, .known = json_object() };
    reader_config named;
    TEST_OK(cla_strdup(&settings.path, "test"));
    TEST_OK(cla_reader_configure(&named, &settings));
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
    TEST_OK(cla_reader_init(&f->r, &config, &f->params));
    TEST_OK(cla_params_build(&f->params, f->rt, test_seed()));
    TEST_OK(cla_tape_new(&f->tape, f->rt, true));
    float *words = test_random(SCENE_WORDS * DIM, 1, 0); // far enough apart
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
    cla_reader_fini(&f->r);
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
    TEST_OK(cla_reader_loss(&f->r, f->tape, &loss, &f->batch));
    TEST_OK(cla_tensor_download(loss, &value));
    TEST_OK(cla_tape_seed(f->tape, loss, NULL));
    TEST_OK(cla_tape_backward(f->tape));
    return value;
}

void scene_scores(scene *f, float at[2][SCENE_PASSAGES])
{
    reader_scores scores;
    TEST_OK(cla_reader_score(&f->r, f->tape, &scores, &f->batch));
    TEST_OK(cla_tensor_download(scores.first, at[0]));
    TEST_OK(cla_tensor_download(scores.last, at[1]));
}

void scene_logs(scene *f, const reader_batch *batch, float at[2][SCENE_PASSAGES])
{
    reader_scores logs = { NULL, NULL };
    TEST_OK(cla_reader_logs(&f->r, f->tape, &logs, batch));
    TEST_OK(cla_tensor_download(logs.first, at[0]));
    TEST_OK(cla_tensor_download(logs.last, at[1]));
}

/* The tolerance of 1e-5 allows sums of products in another order. */
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
            most = (float)test_larger((double)most, (double)fabsf(a[k]));
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
        *most = (float)test_larger((double)*most, (double)fabsf(x[k]));
    }
    free(x);
}

/* ---- differences ----------------------------------------------------------------- */

static double loss_here(void *model, bool backward)
{
    scene *f = model;
    cla_tensor *loss = NULL;
    float value = 0;
    if (backward) {
        value = scene_loss(f);
    } else {
        TEST_OK(cla_reader_loss(&f->r, f->tape, &loss, &f->batch));
        TEST_OK(cla_tensor_download(loss, &value));
    }
    cla_tape_reset(f->tape);
    return (double)value;
}

static slopes_case slopes_of(scene *f)
{
    return (slopes_case){ .params = &f->params, .loss = loss_here, .model = f };
}

const char *scene_wrong_gradient(scene *f, const char *spoilt)
{
    slopes_case c = slopes_of(f);
    c.spoilt = spoilt;
    return wrong_slope(&c);
}

void scene_check_gradient(scene *f)
{
    const slopes_case c = slopes_of(f);
    check_slopes(&c);
}
