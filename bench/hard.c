/* hard.c - times a translator with gates beside one with soft attention: training
 * steps, and decoding by the length of sources. Sentences have one length and random
 * pieces; half of the gates are open. */
#include <stdio.h>

#include "base/config.h"
#include "bench/internal.h"
#include "tasks/translation/translation.h"
#include "train/optim.h"

enum { PIECES = 8000, SETTINGS = 12, SAID = 32 };

/* The settings of all variants, and those of each. */
static const char *const common[] = {
    "preset=hard",    "dim=256",           "heads=4",  "inner=1024",
    "layers=3",       "dropout=0.1",       "merges=0", "attention_dropout=0",
    "relu_dropout=0", "score_scale=rsqrt", NULL
};

typedef struct hard_way {
    const char *name;
    const char *settings[3];
} hard_way;

static const hard_way ways[] = {
    { "soft", { NULL } },
    { "hard", { "cross=hard", NULL } },
    { "hard free_sample", { "cross=hard", "pred=free_sample", NULL } },
    { "sequence", { "loss=sequence", NULL } },
};

typedef struct hard_shape {
    int sentences, length;
    bool decode;
} hard_shape;

typedef struct hard_state {
    translation t; // has no files: its text is made up
    cla_config settings;
    cla_optim optim;
    cla_tape *tape;
    translation_batch batch; // for decoding
    int64_t step, *pair;
    int sentences;
    search_options search;
    search_result *found; // [sentences]
} hard_state;

static cla_status configure(hard_state *s, const hard_way *way)
{
    transformer_config *c = &s->t.config;
    s->settings.values = json_object();
    s->settings.known = json_object();
    CLA_TRY(cla_strdup(&s->settings.path, "bench"));
    for (int i = 0; common[i]; i++) {
        CLA_TRY(cla_config_set(&s->settings, common[i]));
    }
    for (int i = 0; way->settings[i]; i++) {
        CLA_TRY(cla_config_set(&s->settings, way->settings[i]));
    }
    CLA_TRY(cla_transformer_configure(c, &s->settings));
    CLA_TRY(cla_policy_configure(&s->t.policy, &s->settings, c->coder.hard.on));
    c->source_pieces = c->target_pieces = PIECES;
    return cla_optim_configure(&s->optim, &s->settings);
}

static cla_status build(hard_state *s, bool training)
{
    cla_params *params = &s->t.task.params;
    CLA_TRY(cla_transformer_init(&s->t.model, &s->t.config, params));
    CLA_TRY(cla_params_build(params, s->t.task.rt, 42));
    CLA_TRY(training ? cla_optim_init(&s->optim, params) : CLA_OK);
    return cla_tape_new(&s->tape, s->t.task.rt, training);
}

static cla_status draw(hard_state *s, const hard_shape *shape)
{
    const int64_t n = shape->sentences, T = shape->length;
    cla_bitext *text = &s->t.text;
    text->count = n;
    CLA_TRY(cla_alloc(&text->source, (size_t)(n * T), sizeof *text->source));
    CLA_TRY(cla_alloc(&text->source_at, (size_t)n + 1, sizeof *text->source_at));
    CLA_TRY(cla_alloc(&s->pair, (size_t)n, sizeof *s->pair));
    for (int64_t i = 0; i < n * T; i++) {
        text->source[i] = (int32_t)(CLA_SPECIALS + i * 7919 % (PIECES - CLA_SPECIALS));
    }
    for (int64_t i = 0; i <= n; i++) {
        text->source_at[i] = i * T;
    }
    for (int64_t i = 0; i < n; i++) {
        s->pair[i] = i;
    }
    text->target = text->source;
    text->target_at = text->source_at;
    return cla_translation_batch_make(s->t.task.rt, text, s->pair, n, &s->batch);
}

static void hard_free(hard_state *s)
{
    for (int i = 0; s->found && i < s->sentences; i++) {
        free(s->found[i].id);
    }
    free(s->found);
    free(s->pair);
    free(s->t.text.source);
    free(s->t.text.source_at);
    cla_translation_batch_free(&s->batch);
    cla_pair_batch_free(&s->t.step.ids);
    cla_tape_free(&s->tape);
    cla_optim_fini(&s->optim);
    cla_transformer_fini(&s->t.model);
    cla_params_free(&s->t.task.params);
    cla_config_fini(&s->settings);
}

/* ---- timed functions --------------------------------------------------------- */

static cla_status train(void *state)
{
    hard_state *s = state;
    cla_task *task = &s->t.task;
    cla_tensor *loss = NULL;
    float value = 0;
    cla_params_clear_gradients(&task->params);
    cla_tape_reset(s->tape);
    cla_tape_random(s->tape, 42, (uint32_t)s->step++);
    CLA_TRY(task->kind->loss(task, s->tape, s->pair, s->sentences, &loss));
    CLA_TRY(task->kind->backward(task, s->tape, loss, 1));
    CLA_TRY(cla_tensor_download(loss, &value));
    return cla_optim_step(&s->optim, s->step);
}

/* Decodes SAID pieces of every sentence: no piece ends it. */
static cla_status decode(void *state)
{
    hard_state *s = state;
    const transformer_batch view = cla_translation_batch_view(&s->batch, 0, 0);
    for (int i = 0; i < s->sentences; i++) {
        free(s->found[i].id);
    }
    return cla_transformer_search(&s->t.model, s->t.task.rt, &view.source, &s->search,
                                  s->found);
}

/* ---- the cases --------------------------------------------------------------- */

static cla_status prepare(hard_state *s, const hard_way *way, const hard_shape *shape,
                          bench_case *c)
{
    CLA_TRY(configure(s, way));
    CLA_TRY(build(s, !shape->decode));
    CLA_TRY(draw(s, shape));
    s->sentences = shape->sentences;
    s->search = (search_options){ .beam = 1, .end = -1, .extra = SAID - shape->length };
    CLA_TRY(cla_alloc(&s->found, (size_t)s->sentences, sizeof *s->found));
    c->parameters = s->t.task.params.size;
    c->run = shape->decode ? decode : train;
    c->words = (double)shape->sentences * (shape->decode ? SAID : shape->length);
    return CLA_OK;
}

static cla_status run_case(bench *b, const hard_way *way, hard_shape shape)
{
    hard_state s = { .t = { .task = { .kind = &cla_translation_kind, .rt = b->rt } } };
    bench_case c = { .suite = "hard", .state = &s };
    c.provider = cla_runtime_schedule(b->rt) == CLA_SCHEDULE_TILE ? "tile" : "group";
    snprintf(c.name, sizeof c.name, "nmt %s %s B%d %c%d", way->name,
             shape.decode ? "decode" : "train", shape.sentences,
             shape.decode ? 'S' : 'T', shape.length);
    if (!bench_wants(b, c.suite, c.name)) {
        return CLA_OK;
    }
    cla_status status = prepare(&s, way, &shape, &c);
    status = status ? status : bench_run(b, &c);
    hard_free(&s);
    return status;
}

cla_status bench_hard(bench *b)
{
    enum { WAYS = sizeof ways / sizeof *ways };
    if (bench_quick(b) && !b->options->suite && !b->options->filter) {
        return CLA_OK; // a quick run has them only with --suite or --filter
    }
    for (int i = 0; i < WAYS; i++) {
        CLA_TRY(run_case(b, &ways[i], (hard_shape){ 128, 16, false }));
        CLA_TRY(run_case(b, &ways[i], (hard_shape){ 16, 128, false }));
    }
    for (int length = 16; length <= 256; length *= 4) {
        CLA_TRY(run_case(b, &ways[0], (hard_shape){ 16, length, true }));
        CLA_TRY(run_case(b, &ways[1], (hard_shape){ 16, length, true }));
    }
    return CLA_OK;
}
