/* nmt.c - times the translator: training steps, and decoding. Sentences have one length
 * and random pieces, on which the cost does not depend. */
#include <stdio.h>
#include <string.h>

#include "base/config.h"
#include "bench/internal.h"
#include "models/search.h"
#include "tasks/translation/translation.h"
#include "train/optim.h"

enum { PIECES = 8000, SETTINGS = 10 };

/* A size of the model; further settings make a variant. */
typedef struct nmt_size {
    const char *name;
    const char *settings[SETTINGS];
} nmt_size;

static const nmt_size small = {
    "D256 L3",
    { "preset=hard", "dim=256", "heads=4", "inner=1024", "layers=3", "dropout=0.1",
      "attention_dropout=0", "relu_dropout=0" },
};
static const nmt_size base = { "base", { "preset=csan" } };
static const nmt_size big = {
    "big",
    { "preset=csan", "dim=1024", "heads=16", "inner=4096", "dropout=0.3" },
};

/* Names of variants and the settings that make them, ordered as in Yang et al. 2019. */
static const char *const variants[][4] = {
    { "bi_direct", "attention=bi_direct" },
    { "rel_pos", "attention=rel_pos", "attention_where=both" },
    { "neighbor", "attention=neighbor_predicted" },
    { "local_hard", "attention=local_hard" },
    { "local_soft", "attention=local_soft" },
    { "block", "attention=block" },
    { "conv", "convolutions=4", "conv_kind=full" },
    { "csan1d", "attention=csan1d" },
    { "csan2d", "attention=csan2d" },
};

typedef struct nmt_shape {
    int sentences, length;
    int beam; // 0: a training step
} nmt_shape;

typedef struct nmt_state {
    cla_runtime *rt;
    cla_config settings;
    transformer_config config;
    transformer model;
    cla_params params;
    cla_optim optim;
    cla_tape *tape;
    translation_batch batch;
    transformer_batch view;
    int64_t step;
    search_options search;
    search_result *found; // [sentences]
    int sentences;
} nmt_state;

/* ---- the model --------------------------------------------------------------- */

static cla_status configure(nmt_state *s, const nmt_size *size)
{
    s->settings.values = json_object();
    s->settings.known = json_object();
    CLA_TRY(cla_strdup(&s->settings.path, "bench"));
    for (int i = 0; i < SETTINGS && size->settings[i]; i++) {
        CLA_TRY(cla_config_set(&s->settings, size->settings[i]));
    }
    CLA_TRY(cla_transformer_configure(&s->config, &s->settings));
    s->config.source_pieces = s->config.target_pieces = PIECES;
    return cla_optim_configure(&s->optim, &s->settings);
}

static cla_status build(nmt_state *s, bool training)
{
    CLA_TRY(cla_transformer_init(&s->model, &s->config, &s->params));
    CLA_TRY(cla_params_build(&s->params, s->rt, 42));
    if (training) {
        CLA_TRY(cla_optim_init(&s->optim, &s->params));
    }
    return cla_tape_new(&s->tape, s->rt, training);
}

static void nmt_free(nmt_state *s)
{
    for (int i = 0; s->found && i < s->sentences; i++) {
        free(s->found[i].id);
    }
    free(s->found);
    cla_translation_batch_free(&s->batch);
    cla_tape_free(&s->tape);
    cla_optim_fini(&s->optim);
    cla_transformer_fini(&s->model);
    cla_params_free(&s->params);
    cla_config_fini(&s->settings);
}

/* ---- the sentences ----------------------------------------------------------- */

/* Makes n pairs of sentences with `length` pieces on either side. */
static cla_status draw(nmt_state *s, const nmt_shape *shape)
{
    const int64_t n = shape->sentences, T = shape->length;
    cla_bitext text = { .count = n };
    int64_t *pair = NULL;
    cla_status status = cla_alloc(&text.source, (size_t)(n * T), sizeof *text.source);
    status = status ? status
                    : cla_alloc(&text.source_at, (size_t)n + 1, sizeof *text.source_at);
    status = status ? status : cla_alloc(&pair, (size_t)n, sizeof *pair);
    if (!status) {
        for (int64_t i = 0; i < n * T; i++) {
            text.source[i] = (int32_t)(i * 7919 % PIECES);
        }
        for (int64_t i = 0; i <= n; i++) {
            text.source_at[i] = i * T;
        }
        for (int64_t i = 0; i < n; i++) {
            pair[i] = i;
        }
        text.target = text.source;
        text.target_at = text.source_at;
        status = cla_translation_batch_make(s->rt, &text, pair, n, &s->batch);
    }
    free(pair);
    free(text.source);
    free(text.source_at);
    s->view = cla_translation_batch_view(&s->batch, 0, 0);
    return status;
}

/* ---- timed functions --------------------------------------------------------- */

static cla_status train(void *state)
{
    nmt_state *s = state;
    cla_tensor *loss = NULL;
    float value = 0;
    cla_params_clear_gradients(&s->params);
    cla_tape_reset(s->tape);
    cla_tape_random(s->tape, 42, (uint32_t)s->step++);
    CLA_TRY(cla_transformer_loss(&s->model, s->tape, &loss, &s->view,
                                 s->config.smoothing, NULL));
    CLA_TRY(cla_tape_seed(s->tape, loss, NULL));
    CLA_TRY(cla_tape_backward(s->tape));
    CLA_TRY(cla_tensor_download(loss, &value));
    return cla_optim_step(&s->optim, s->step);
}

/* Decodes; no piece ends a sentence, so each one reaches the maximum length. */
static cla_status decode(void *state)
{
    nmt_state *s = state;
    for (int i = 0; i < s->sentences; i++) {
        free(s->found[i].id);
    }
    return cla_transformer_search(&s->model, s->rt, &s->view.source, &s->search,
                                  s->found);
}

/* ---- the cases --------------------------------------------------------------- */

static cla_status prepare(nmt_state *s, const nmt_size *size, const nmt_shape *shape,
                          bench_case *c)
{
    CLA_TRY(configure(s, size));
    CLA_TRY(build(s, !shape->beam));
    CLA_TRY(draw(s, shape));
    c->parameters = s->params.size;
    s->sentences = shape->sentences;
    s->search = (search_options){ .beam = shape->beam, .alpha = 0.6, .end = -1 };
    CLA_TRY(cla_alloc(&s->found, (size_t)s->sentences, sizeof *s->found));
    c->run = shape->beam ? decode : train;
    c->words = (double)shape->sentences * shape->length;
    return CLA_OK;
}

/* Runs a case. variant: a name, and the settings that make it; NULL: none. */
static cla_status run_case(bench *b, const nmt_size *size, const char *const *variant,
                           nmt_shape shape)
{
    nmt_state s = { .rt = b->rt };
    bench_case c = { .suite = size == &small ? "nmt" : "sizes", .state = &s };
    nmt_size with = *size;
    char doing[16] = "train";
    int n = 0;
    if (shape.beam) {
        snprintf(doing, sizeof doing, "beam%d", shape.beam);
    }
    for (; n < SETTINGS && with.settings[n]; n++) {
    }
    for (int i = 1; variant && variant[i] && n < SETTINGS; i++) {
        with.settings[n++] = variant[i];
    }
    c.provider = cla_runtime_schedule(b->rt) == CLA_SCHEDULE_TILE ? "tile" : "group";
    snprintf(c.name, sizeof c.name, "nmt %s %s %s B%d T%d", size->name,
             variant ? variant[0] : "plain", doing, shape.sentences, shape.length);
    if (!bench_wants(b, c.suite, c.name)) {
        return CLA_OK;
    }
    cla_status status = prepare(&s, &with, &shape, &c);
    status = status ? status : bench_run(b, &c);
    nmt_free(&s);
    return status;
}

/* A quick run has the cases only with --suite or --filter. */
static bool is_left_out(const bench *b)
{
    return bench_quick(b) && !b->options->suite && !b->options->filter;
}

enum { VARIANTS = sizeof variants / sizeof *variants };

cla_status bench_nmt(bench *b)
{
    if (is_left_out(b)) {
        return CLA_OK;
    }
    CLA_TRY(run_case(b, &small, NULL, (nmt_shape){ 32, 16, 1 }));
    CLA_TRY(run_case(b, &small, NULL, (nmt_shape){ 32, 16, 4 }));
    static const nmt_shape steps[] = { { 128, 16, 0 }, { 32, 64, 0 }, { 8, 256, 0 } };
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        for (int i = 0; i <= VARIANTS; i++) {
            CLA_TRY(run_case(b, &small, i ? variants[i - 1] : NULL, steps[k]));
        }
    }
    return CLA_OK;
}

/* Times a training step of the published sizes. */
cla_status bench_nmt_sizes(bench *b)
{
    if (is_left_out(b)) {
        return CLA_OK;
    }
    for (int i = 0; i <= VARIANTS; i++) {
        const char *const *variant = i ? variants[i - 1] : NULL;
        CLA_TRY(run_case(b, &base, variant, (nmt_shape){ 64, 16, 0 }));
        CLA_TRY(run_case(b, &big, variant, (nmt_shape){ 64, 16, 0 }));
    }
    return CLA_OK;
}
