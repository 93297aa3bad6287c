/* pairs.c - each kind of attention in the tagger and in the translator's encoder: two
 * steps, gradients of all its parameters, numbers of parameters, refusals. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "support/toy.h"
#include "support/waits.h"
#include "support/way.h"
#include "tasks/tagging/tagging.h"

typedef struct pair {
    const char *way;
    const char *set[3];            // its keys that differ from the defaults
    int64_t in_tagger, in_encoder; // more than plain, in a layer of the base sizes
} pair;

enum { REFUSED = -1 };

#define SLOPE "learn={\"slope\": {\"shape\": [\"heads\"], \"init\": \"alibi\"}}"

/* A tagger's layer has D = 364 (words of 300 numbers, letters of 64), H = 4 and t = 60;
 * a base Transformer's has D = 512 and H = 8. Plain attention has 3 D^2 parameters in
 * the tagger, 4 D^2 + 4 D in the Transformer. docs/attention.md has the same
 * numbers. */
static const pair pairs[] = {
    { "softmax", { NULL }, 0, 0 },
    { "csan1d", { "window=3" }, 0, 0 },
    { "csan2d", { "window=3", "area=3" }, 0, 0 },
    { "bi_direct", { NULL }, 0, 0 },
    { "block", { "block=2" }, 797528, 1316360 },
    { "rel_pos", { NULL }, 6006, 4224 },
    { "neighbor", { NULL }, 4, 8 },
    { "neighbor_predicted", { NULL }, 67162, 133384 },
    { "local_hard", { NULL }, 67162, 133384 },
    { "local_soft", { NULL }, 135780, 270864 },
    { "direct", { NULL }, 14880, REFUSED },
    { "conv", { NULL }, 43440, REFUSED },
    { "conv2d", { NULL }, 40, 80 },
    { "custom", { "score=s - slope[h] * abs(j - i)", SLOPE }, 4, 8 },
};

enum { PAIRS = sizeof pairs / sizeof *pairs };

/* ---- steps ------------------------------------------------------------------- */

/* Checks that all parameters whose names begin with prefix have a gradient, except the
 * bias of a block's scores, which cancels in their softmax. */
static void check_gradients(const cla_task *task, const char *prefix, const pair *p)
{
    int found = 0;
    for (size_t i = 0; i < task->params.count; i++) {
        const cla_param *param = &task->params.list[i];
        if (strncmp(param->name, prefix, strlen(prefix)) != 0 ||
            strstr(param->name, ".score_bias")) {
            continue;
        }
        cla_tensor *gradient = cla_tensor_grad(param->tensor);
        cr_assert_not_null(gradient, "%s: %s", p->way, param->name);
        const int64_t n = cla_tensor_size(gradient);
        float *host = calloc((size_t)n, sizeof *host);
        double sum = 0;
        TEST_OK(cla_tensor_download(gradient, host));
        for (int64_t k = 0; k < n; k++) {
            sum += fabs((double)host[k]);
        }
        cr_assert(isfinite(sum) && sum > 0, "%s: gradient of %s: %g", p->way,
                  param->name, sum);
        free(host);
        found++;
    }
    cr_assert_gt(found, 0);
}

static void check_steps(cla_task *task, cla_stepper *stepper, const char *prefix,
                        const pair *p)
{
    int64_t examples[] = { 10, 11, 12, 13, 14, 15 };
    for (int step = 0; step < 2; step++) {
        cla_step_result result = { 0 };
        waits_begin(task->rt);
        TEST_OK(cla_stepper_step(stepper, examples, 6, step, &result));
        if (task->kind == &tagging_kind) { // the toy reads words and rewards
            waits_end(task->rt, 1);
        }
        cr_assert(isfinite(result.loss) && result.loss > 0, "%s: loss %g", p->way,
                  result.loss);
        check_gradients(task, prefix, p);
    }
}

static void settle(cla_config *s, const pair *p)
{
    char attention[40];
    snprintf(attention, sizeof attention, "attention=%s", p->way);
    TEST_OK(cla_config_set(s, attention));
    for (int i = 0; i < 3 && p->set[i]; i++) {
        TEST_OK(cla_config_set(s, p->set[i]));
    }
}

static void tagger_settings(cla_config *s, const pair *p)
{
    char data[512];
    const char *folder = getenv("CLATTN_TEST_TREEBANK");
    cr_assert_not_null(folder);
    snprintf(data, sizeof data, "data=%s", folder);
    way_settings(s, (const char *const[]){ "model=tagger", "word_dim=24", "char_dim=8",
                                           "layers=2", "heads=2", "char_layers=1",
                                           "length=20", "positions=none", data, NULL });
    settle(s, p);
}

/* Checks the maps of a sentence that inspect draws, where there are some. */
static void check_maps(tagging *t, const pair *p)
{
    char *text = NULL;
    cla_conllu file = { 0 };
    tagging_split split = { 0 };
    tagger_view view = { 0 };
    TEST_OK(cla_strdup(&text, "il ne vient pas ici\n"));
    TEST_OK(cla_conllu_from_lines(&file, "words", 0, text, strlen(text)));
    TEST_OK(tagging_split_build(t, &split, &file));
    if (strcmp(p->way, "block") == 0) {
        TEST_FAILS(tagging_look(t, &split, &view), CLA_E_INPUT,
                   "attention is 'block': it has no map of words by words");
    } else {
        TEST_OK(tagging_look(t, &split, &view));
    }
    cr_assert_eq(view.count > 0, strcmp(p->way, "block") != 0, "%s: %d maps", p->way,
                 view.count);
    for (int i = 0; i < view.count; i++) {
        const tagger_map *m = &view.maps[i];
        cr_assert_eq(m->tokens, 5, "%s: map %d of %d words", p->way, i, m->tokens);
        for (int row = 0; row < m->tokens && !m->convolved; row++) {
            double sum = 0;
            for (int k = 0; k < m->tokens; k++) {
                sum += (double)m->weight[row * m->tokens + k];
            }
            cr_assert_float_eq(sum, 1, 1e-5, "%s: row %d of map %d: %g", p->way, row, i,
                               sum);
        }
    }
    tagger_view_free(&view);
    tagging_split_free(&split);
}

Test(pairs, train_in_a_tagger)
{
    const cla_parallel alone = { .size = 1 };
    cla_runtime *rt = NULL;
    TEST_OK(cla_runtime_new(&rt, NULL));
    for (int i = 0; i < PAIRS; i++) {
        cla_config s;
        cla_stepper stepper = { 0 };
        cla_task *task = NULL;
        tagger_settings(&s, &pairs[i]);
        TEST_OK(cla_task_open(&task, rt, &s, NULL, CLA_TASK_NEW));
        TEST_OK(cla_stepper_configure(&stepper, task->kind, &s));
        TEST_OK(cla_config_check(&s));
        TEST_OK(cla_stepper_init(&stepper, task, &alone));
        check_steps(task, &stepper, "layer.", &pairs[i]);
        check_maps((tagging *)task, &pairs[i]);
        cla_stepper_fini(&stepper);
        cla_task_close(&task);
        cla_config_fini(&s);
    }
    cla_runtime_free(&rt);
}

Test(pairs, train_in_an_encoder)
{
    toy f;
    toy_make(&f);
    for (int i = 0; i < PAIRS; i++) {
        const cla_parallel alone = { .size = 1 };
        f.stepper = (cla_stepper){ 0 };
        toy_settle(&f, (const char *const[]){ "attention_layers=1-2", NULL });
        settle(&f.settings, &pairs[i]);
        if (pairs[i].in_encoder == REFUSED) {
            TEST_FAILS(cla_task_open(&f.task, f.rt, &f.settings, NULL, CLA_TASK_NEW),
                       CLA_E_INPUT,
                       "which has parameters for each place of a sequence");
            cr_assert(strstr(cla_error(), "attention is '") &&
                      strstr(cla_error(), pairs[i].way));
            cr_assert_null(strchr(cla_error(), '\n'));
            cla_config_fini(&f.settings);
            continue;
        }
        TEST_OK(cla_task_open(&f.task, f.rt, &f.settings, NULL, CLA_TASK_NEW));
        TEST_OK(cla_stepper_configure(&f.stepper, f.task->kind, &f.settings));
        TEST_OK(cla_config_check(&f.settings));
        TEST_OK(cla_stepper_init(&f.stepper, f.task, &alone));
        check_steps(f.task, &f.stepper, "encoder.0.self", &pairs[i]);
        toy_close(&f);
    }
    toy_unmake(&f);
}

/* ---- numbers of parameters --------------------------------------------------- */

static int64_t total(const cla_params *params)
{
    int64_t n = 0;
    for (size_t i = 0; i < params->count; i++) {
        const int64_t *shape = params->list[i].shape;
        n += shape[0] * shape[1] * shape[2] * shape[3];
    }
    return n;
}

static int64_t tagger_parameters(const pair *p)
{
    cla_config s;
    cla_params params = { 0 };
    tagger_config config;
    tagger model;
    way_settings(&s, (const char *const[]){ "word_dim=300", "positions=none",
                                            "attention_layers=1-1", NULL });
    settle(&s, p);
    TEST_OK(tagger_configure(&config, &s));
    config.words = config.chars = config.tags = 10;
    TEST_OK(tagger_init(&model, &config, &params));
    const int64_t n = total(&params);
    cla_params_free(&params);
    cla_config_fini(&s);
    return n;
}

static int64_t encoder_parameters(const pair *p)
{
    cla_config s;
    cla_params params = { 0 };
    transformer_config config;
    transformer model;
    way_settings(&s, (const char *const[]){ "attention_layers=1-1", NULL });
    settle(&s, p);
    TEST_OK(transformer_configure(&config, &s));
    config.source_pieces = config.target_pieces = 10;
    TEST_OK(transformer_init(&model, &config, &params));
    const int64_t n = total(&params);
    cla_params_free(&params);
    cla_config_fini(&s);
    return n;
}

Test(pairs, have_so_many_parameters)
{
    const int64_t before = tagger_parameters(&pairs[0]);
    const int64_t plain = encoder_parameters(&pairs[0]);
    for (int i = 0; i < PAIRS; i++) {
        const pair *p = &pairs[i];
        const int64_t more = tagger_parameters(p) - before;
        cr_expect_eq(more, p->in_tagger, "%s: %lld in a tagger", p->way,
                     (long long)more);
        if (p->in_encoder != REFUSED) {
            const int64_t in = encoder_parameters(p) - plain;
            cr_expect_eq(in, p->in_encoder, "%s: %lld in an encoder", p->way,
                         (long long)in);
        }
    }
}

/* Reads "| `way` | 1,234 | refused |": two numbers, REFUSED for a word. */
static void read_row(const char *text, const char *way, int64_t numbers[2])
{
    char start[48];
    snprintf(start, sizeof start, "\n| `%s` |", way);
    const char *at = strstr(text, start);
    cr_assert_not_null(at, "docs/attention.md has no row of %s", way);
    at += strlen(start);
    for (int i = 0; i < 2; i++, at = strchr(at, '|') + 1) {
        numbers[i] = strspn(at, " 0123456789,") < strcspn(at, "|") ? REFUSED : 0;
        for (; *at != '|' && numbers[i] != REFUSED; at++) {
            numbers[i] =
                *at >= '0' && *at <= '9' ? 10 * numbers[i] + *at - '0' : numbers[i];
        }
    }
}

Test(pairs, are_documented)
{
    const char *page = getenv("CLATTN_TEST_ATTENTION");
    cr_assert_not_null(page,
                       "CLATTN_TEST_ATTENTION is not set: run through meson test");
    char *text = NULL;
    size_t size = 0;
    TEST_OK(cla_file_read(page, &text, &size));
    const char *table = strstr(text, "## Parameters");
    cr_assert_not_null(table);
    for (int i = 0; i < PAIRS; i++) {
        int64_t numbers[2];
        read_row(table, pairs[i].way, numbers);
        cr_assert_eq(numbers[0], pairs[i].in_tagger, "%s: %lld", pairs[i].way,
                     (long long)numbers[0]);
        cr_assert_eq(numbers[1], pairs[i].in_encoder, "%s: %lld", pairs[i].way,
                     (long long)numbers[1]);
    }
    free(text);
}

/* ---- refusals ---------------------------------------------------------------- */

static void check_refusal(bool tags, const char *const *set, const char *part)
{
    cla_config s;
    way_settings(&s, set);
    if (tags) {
        tagger_config c;
        TEST_FAILS(tagger_configure(&c, &s), CLA_E_INPUT, part);
    } else {
        transformer_config c;
        TEST_FAILS(transformer_configure(&c, &s), CLA_E_INPUT, part);
    }
    cr_assert_null(strchr(cla_error(), '\n'));
    cla_config_fini(&s);
}

Test(pairs, refuse_what_does_not_fit)
{
    static const char *const table[] = {
        "attention=custom", "score=s + a[h][j]",
        "learn={\"a\": {\"shape\": [\"heads\", \"length\"], \"init\": 1}}", NULL
    };
    check_refusal(
        false, (const char *const[]){ "attention=conv2d", "preset=hard", NULL },
        "preset: attention_dropout is 0.1, must be 0: attention 'conv2d' convolves "
        "whole maps");
    check_refusal(
        false,
        (const char *const[]){ "attention=conv2d", "attention_where=both", NULL },
        "attention_where is 'both', and 'conv2d' is for the encoder alone");
    check_refusal(false, table, "sentences have no greatest length");
    check_refusal(true, (const char *const[]){ "attention=csan1d", "window=4", NULL },
                  "window is 4, must be odd");
    check_refusal(true, (const char *const[]){ "attention_layers=3-5", NULL },
                  "attention_layers is '3-5', must be like 1-3 within 1-4");
    check_refusal(
        true, (const char *const[]){ "attention=conv2d", "map_activation=gelu", NULL },
        "map_activation is 'gelu', whose slope does not follow from its result");
    check_refusal(true,
                  (const char *const[]){ "attention=conv2d", "map_filter=4", NULL },
                  "map_filter is 4: the side of a filter must be odd");
    check_refusal(true,
                  (const char *const[]){ "attention=conv2d", "map_filter=33", NULL },
                  "map_filter");
}

/* Checks settings that are read as those of a tagger of an older version. */
static void check_older(const char *const *set, int last, const char *activation)
{
    cla_config s;
    tagger_config c;
    way_settings(&s, set);
    TEST_OK(tagger_renew(&s, &s));
    TEST_OK(tagger_configure(&c, &s));
    TEST_OK(cla_config_check(&s));
    cr_assert(c.first == 1 && c.last == last, "%d-%d", c.first, c.last);
    cr_assert_str_eq(json_string_value(json_object_get(s.values, "map_activation")),
                     activation);
    cla_config_fini(&s);
}

Test(pairs, older_taggers_keep_their_layers)
{
    check_older((const char *const[]){ "positions=p_r", "layers=3", "activation=relu",
                                       "rel_mode=spectral", NULL },
                1, "relu");
    check_older((const char *const[]){ "positions=add", "layers=3", "attention=conv",
                                       "activation=tanh", NULL },
                3, "tanh");
    check_refusal(
        true, (const char *const[]){ "activation=tanh", "map_activation=relu", NULL },
        "activation is 'tanh', and map_activation, its newer name, is "
        "something else");
}
