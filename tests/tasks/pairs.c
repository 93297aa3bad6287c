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

/* A tagger's layer has D = 364 (words of 300 numbers, letters of 64), H = 4 and t = 60;
 * a base Transformer's has D = 512 and H = 8. Plain attention has 3 D^2 parameters in
 * the tagger, 4 D^2 + 4 D in the Transformer. */
enum { REFUSED = -1 };

/* ---- steps ------------------------------------------------------------------- */

/* Checks that all parameters whose names begin with prefix have a gradient, except the
 * bias of a block's scores, which cancels in their softmax. */
static void check_gradients(const cla_task *task, const char *prefix,
                            const attn_way *way)
{
    int found = 0;
    for (size_t i = 0; i < task->params.count; i++) {
        const cla_param *param = &task->params.list[i];
        if (strncmp(param->name, prefix, strlen(prefix)) != 0 ||
            strstr(param->name, ".score_bias")) {
            continue;
        }
        cla_tensor *gradient = cla_tensor_grad(param->tensor);
        cr_assert_not_null(gradient, "%s: %s", way->name, param->name);
        const int64_t n = cla_tensor_size(gradient);
        float *host = calloc((size_t)n, sizeof *host);
        double sum = 0;
        TEST_OK(cla_tensor_download(gradient, host));
        for (int64_t k = 0; k < n; k++) {
            sum += fabs((double)host[k]);
        }
        cr_assert(isfinite(sum) && sum > 0, "%s: gradient of %s: %g", way->name,
                  param->name, sum);
        free(host);
        found++;
    }
    cr_assert_gt(found, 0);
}

static void check_steps(cla_task *task, cla_stepper *stepper, const char *prefix,
                        const attn_way *way)
{
    int64_t examples[] = { 10, 11, 12, 13, 14, 15 };
    for (int step = 0; step < 2; step++) {
        cla_step_result result = { 0 };
        waits_begin(task->rt);
        TEST_OK(cla_stepper_step(stepper, examples, 6, step, &result));
        if (task->kind == &cla_tagging_kind) { // the toy reads words and rewards
            waits_end(task->rt, 1);
        }
        cr_assert(isfinite(result.loss) && result.loss > 0, "%s: loss %g", way->name,
                  result.loss);
        check_gradients(task, prefix, way);
    }
}

static void settle(cla_config *s, const attn_way *way)
{
    char attention[40];
    snprintf(attention, sizeof attention, "attention=%s", way->name);
    TEST_OK(cla_config_set(s, attention));
    for (int i = 0; way->small && way->small[i]; i++) {
        TEST_OK(cla_config_set(s, way->small[i]));
    }
}

static void tagger_settings(cla_config *s, const attn_way *way)
{
    char data[512];
    const char *folder = getenv("CLATTN_TEST_TREEBANK");
    cr_assert_not_null(folder);
    snprintf(data, sizeof data, "data=%s", folder);
    way_settings(s, (const char *const[]){ "model=tagger", "word_dim=24", "char_dim=8",
                                           "layers=2", "heads=2", "char_layers=1",
                                           "length=20", "positions=none", data, NULL });
    settle(s, way);
}

/* Checks the maps of a sentence that inspect draws, where there are some. */
static void check_maps(tagging *t, const attn_way *way)
{
    char *text = NULL;
    cla_conllu file = { 0 };
    tagging_split split = { 0 };
    tagger_view view = { 0 };
    TEST_OK(cla_strdup(&text, "il ne vient pas ici\n"));
    TEST_OK(cla_conllu_from_lines(&file, "words", 0, text, strlen(text)));
    TEST_OK(cla_tagging_split_build(t, &split, &file));
    if (way->without_map) {
        TEST_FAILS(cla_tagging_look(t, &split, &view), CLA_E_INPUT,
                   "it has no map of words by words");
    } else {
        TEST_OK(cla_tagging_look(t, &split, &view));
    }
    cr_assert_eq(view.count > 0, !way->without_map, "%s: %d maps", way->name,
                 view.count);
    for (int i = 0; i < view.count; i++) {
        const tagger_map *m = &view.maps[i];
        cr_assert_eq(m->tokens, 5, "%s: map %d of %d words", way->name, i, m->tokens);
        for (int row = 0; row < m->tokens && !m->convolved; row++) {
            double sum = 0;
            for (int k = 0; k < m->tokens; k++) {
                sum += (double)m->weight[row * m->tokens + k];
            }
            cr_assert_float_eq(sum, 1, 1e-5, "%s: row %d of map %d: %g", way->name, row,
                               i, sum);
        }
    }
    cla_tagger_view_free(&view);
    cla_tagging_split_free(&split);
}

Test(pairs, train_in_a_tagger)
{
    const cla_parallel alone = { .size = 1 };
    cla_runtime *rt = NULL;
    TEST_OK(cla_runtime_new(&rt, NULL));
    for (int i = 0; cla_attn_ways[i]; i++) {
        cla_config s;
        cla_stepper stepper = { 0 };
        cla_task *task = NULL;
        tagger_settings(&s, cla_attn_ways[i]);
        TEST_OK(cla_task_open(&task, rt, &s, NULL, CLA_TASK_NEW));
        TEST_OK(cla_stepper_configure(&stepper, task->kind, &s));
        TEST_OK(cla_config_check(&s));
        TEST_OK(cla_stepper_init(&stepper, task, &alone));
        check_steps(task, &stepper, "layer.", cla_attn_ways[i]);
        check_maps((tagging *)task, cla_attn_ways[i]);
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
    for (int i = 0; cla_attn_ways[i]; i++) {
        const cla_parallel alone = { .size = 1 };
        f.stepper = (cla_stepper){ 0 };
        toy_settle(&f, (const char *const[]){ "attention_layers=1-2", NULL });
        settle(&f.settings, cla_attn_ways[i]);
        if (cla_attn_ways[i]->tied) {
            TEST_FAILS(cla_task_open(&f.task, f.rt, &f.settings, NULL, CLA_TASK_NEW),
                       CLA_E_INPUT,
                       "which has parameters for each place of a sequence");
            cr_assert(strstr(cla_error(), "attention is '") &&
                      strstr(cla_error(), cla_attn_ways[i]->name));
            cr_assert_null(strchr(cla_error(), '\n'));
            cla_config_fini(&f.settings);
            continue;
        }
        TEST_OK(cla_task_open(&f.task, f.rt, &f.settings, NULL, CLA_TASK_NEW));
        TEST_OK(cla_stepper_configure(&f.stepper, f.task->kind, &f.settings));
        TEST_OK(cla_config_check(&f.settings));
        TEST_OK(cla_stepper_init(&f.stepper, f.task, &alone));
        check_steps(f.task, &f.stepper, "encoder.0.self", cla_attn_ways[i]);
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

static int64_t tagger_parameters(const attn_way *way)
{
    cla_config s;
    cla_params params = { 0 };
    tagger_config config;
    tagger model;
    way_settings(&s, (const char *const[]){ "word_dim=300", "positions=none",
                                            "attention_layers=1-1", NULL });
    settle(&s, way);
    TEST_OK(cla_tagger_configure(&config, &s));
    config.words = config.chars = config.tags = 10;
    TEST_OK(cla_tagger_init(&model, &config, &params));
    const int64_t n = total(&params);
    cla_params_free(&params);
    cla_config_fini(&s);
    return n;
}

static int64_t encoder_parameters(const attn_way *way)
{
    cla_config s;
    cla_params params = { 0 };
    transformer_config config;
    transformer model;
    way_settings(&s, (const char *const[]){ "attention_layers=1-1", NULL });
    settle(&s, way);
    TEST_OK(cla_transformer_configure(&config, &s));
    config.source_pieces = config.target_pieces = 10;
    TEST_OK(cla_transformer_init(&model, &config, &params));
    const int64_t n = total(&params);
    cla_params_free(&params);
    cla_config_fini(&s);
    return n;
}

/* Reads the row of a way, "| `way` | 1,234 | refused |": the parameters that a layer of
 * a tagger and of an encoder has more than with plain attention, REFUSED for a word. */
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

/* Returns docs/attention.md; the caller frees it. */
static char *read_page(void)
{
    const char *page = getenv("CLATTN_TEST_ATTENTION");
    cr_assert_not_null(page,
                       "CLATTN_TEST_ATTENTION is not set: run through meson test");
    char *text = NULL;
    size_t size = 0;
    TEST_OK(cla_file_read(page, &text, &size));
    return text;
}

Test(pairs, have_as_many_parameters_as_their_page_says)
{
    const int64_t plain_tagger = tagger_parameters(&cla_attn_softmax);
    const int64_t plain_encoder = encoder_parameters(&cla_attn_softmax);
    char *text = read_page();
    const char *table = strstr(text, "## Parameters");
    cr_assert_not_null(table);
    for (int i = 0; cla_attn_ways[i]; i++) {
        const attn_way *way = cla_attn_ways[i];
        int64_t said[2];
        read_row(table, way->name, said);
        const int64_t in[] = { tagger_parameters(way) - plain_tagger,
                               way->tied ? REFUSED
                                         : encoder_parameters(way) - plain_encoder };
        for (int k = 0; k < 2; k++) {
            cr_expect_eq(in[k], said[k], "%s: %lld in %s", way->name, (long long)in[k],
                         k ? "an encoder" : "a tagger");
        }
    }
    free(text);
}

/* The first table of the page says what each way attends to. */
Test(pairs, are_described_on_their_page)
{
    char *text = read_page();
    *strstr(text, "## Parameters") = 0;
    for (int i = 0; cla_attn_ways[i]; i++) {
        char row[48];
        snprintf(row, sizeof row, "\n| `%s` |", cla_attn_ways[i]->name);
        cr_expect(strstr(text, row), "docs/attention.md does not describe %s",
                  cla_attn_ways[i]->name);
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
        TEST_FAILS(cla_tagger_configure(&c, &s), CLA_E_INPUT, part);
    } else {
        transformer_config c;
        TEST_FAILS(cla_transformer_configure(&c, &s), CLA_E_INPUT, part);
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
        false, (const char *const[]){ "attention=block", "attention_where=both", NULL },
        "attention_where is 'both', and 'block' is for the encoder alone");
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
    TEST_OK(cla_tagger_renew(&s, &s));
    TEST_OK(cla_tagger_configure(&c, &s));
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
