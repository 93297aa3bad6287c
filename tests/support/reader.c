/* reader.c - a small reader between three questions and their passages. */
#include "support/reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIM = 6, HIDDEN = 4 };
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
    config.hidden = HIDDEN;
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
    const cla_param *p = cla_params_find(&f->params, name);
    cr_assert_not_null(p, "there is no %s", name);
    const size_t n = (size_t)cla_tensor_size(p->tensor);
    float *x = calloc(n, sizeof *x);
    TEST_OK(cla_tensor_download(cla_tensor_grad(p->tensor), x));
    *sum = *most = 0;
    for (size_t k = 0; k < n; k++) {
        *sum += x[k];
        *most = fmaxf(*most, fabsf(x[k]));
    }
    free(x);
}
