/* tagger.c - times a whole system on real sentences: training steps, and tagging. */
#include <stdio.h>

#include "bench/internal.h"
#include "bench/treebank.h"
#include "tasks/tagging/tagging.h"
#include "train/step.h"

enum { BATCH = 32, BATCHES = 4, SENTENCES = 256 };

typedef struct tagger_state {
    cla_config settings;
    cla_task *task;
    cla_stepper stepper;
    int64_t order[BATCH * BATCHES]; // drawn evenly from the training data
    int64_t step;
    tagging_split split; // sentences to tag
    int32_t *predicted;
} tagger_state;

static cla_status set(cla_config *settings, const char *key, const char *value)
{
    cla_text assignment = { 0 };
    cla_status status = cla_text_add(&assignment, "%s=%s", key, value);
    status = status ? status : cla_config_set(settings, assignment.data);
    cla_text_free(&assignment);
    return status;
}

/* Sets the settings of examples/configs/tagger-conv2d.json. */
static cla_status choose(cla_config *settings, const char *preset)
{
    char folder[4096];
    settings->values = json_object();
    settings->known = json_object();
    CLA_TRY(cla_strdup(&settings->path, "bench"));
    CLA_TRY(set(settings, "model", "tagger"));
    CLA_TRY(set(settings, "preset", preset));
    CLA_TRY(set(settings, "data", bench_treebank_folder(folder, sizeof folder)));
    CLA_TRY(set(settings, "positions", "add"));
    return set(settings, "attention", "conv2d");
}

static cla_status open_task(bench *b, tagger_state *s, const char *preset)
{
    CLA_TRY(choose(&s->settings, preset));
    CLA_TRY(cla_task_open(&s->task, b->rt, &s->settings, NULL, CLA_TASK_NEW));
    CLA_TRY(cla_stepper_configure(&s->stepper, s->task->kind, &s->settings));
    return cla_stepper_init(&s->stepper, s->task, &(cla_parallel){ .size = 1 });
}

static void close_task(tagger_state *s)
{
    cla_tagging_split_free(&s->split);
    free(s->predicted);
    cla_stepper_fini(&s->stepper);
    cla_task_close(&s->task);
    cla_config_fini(&s->settings);
}

/* ---- training ---------------------------------------------------------------- */

static cla_status train(void *state)
{
    tagger_state *s = state;
    for (int i = 0; i < BATCHES; i++) {
        cla_step_result result = { 0 };
        CLA_TRY(cla_stepper_step(&s->stepper, s->order + (ptrdiff_t)i * BATCH, BATCH,
                                 s->step++, &result));
    }
    return CLA_OK;
}

static cla_status prepare_training(tagger_state *s, bench_case *c)
{
    enum { DRAWN = BATCH * BATCHES };
    const int64_t n = s->task->examples;
    if (n < DRAWN) {
        return cla_fail(CLA_E_INPUT, "treebank: %lld sentences, needs %d", (long long)n,
                        DRAWN);
    }
    for (int64_t i = 0; i < DRAWN; i++) {
        s->order[i % BATCHES * BATCH + i / BATCHES] = i * n / DRAWN;
    }
    c->run = train;
    c->words = s->task->kind->targets(s->task, s->order, DRAWN);
    return CLA_OK;
}

/* ---- tagging ----------------------------------------------------------------- */

static cla_status tag(void *state)
{
    tagger_state *s = state;
    return cla_tagging_predict((tagging *)s->task, &s->split, s->predicted);
}

static cla_status prepare_tagging(tagger_state *s, bench_case *c)
{
    tagging *t = (tagging *)s->task;
    cla_conllu file = { 0 };
    CLA_TRY(cla_tagging_read(t->data, "test", &file));
    if (file.sentence_count > SENTENCES) { // a batch of clattn tag
        file.sentence_count = SENTENCES;
        file.word_count = file.sentences[SENTENCES].first;
    }
    CLA_TRY(cla_tagging_split_build(t, &s->split, &file));
    CLA_TRY(cla_alloc(&s->predicted, (size_t)s->split.tokens, sizeof *s->predicted));
    c->run = tag;
    c->words = (double)s->split.tokens;
    return CLA_OK;
}

/* ---- the cases --------------------------------------------------------------- */

static cla_status run_case(bench *b, const char *preset, bool training)
{
    tagger_state s = { 0 };
    bench_case c = { .suite = "tagger", .state = &s };
    c.provider = cla_runtime_schedule(b->rt) == CLA_SCHEDULE_TILE ? "tile" : "group";
    snprintf(c.name, sizeof c.name, "tagger conv2d %s %s B%d", preset,
             training ? "train" : "tag", training ? BATCH : SENTENCES);
    if (!bench_wants(b, c.suite, c.name)) {
        return CLA_OK;
    }
    cla_status status = open_task(b, &s, preset);
    status = status     ? status
             : training ? prepare_training(&s, &c)
                        : prepare_tagging(&s, &c);
    status = status ? status : bench_run(b, &c);
    close_task(&s);
    return status;
}

/* A quick run has these cases only with --suite or --filter: they compile much. */
cla_status bench_tagger(bench *b)
{
    if (bench_quick(b) && !b->options->suite && !b->options->filter) {
        return CLA_OK;
    }
    for (int training = 1; training >= 0; training--) {
        CLA_TRY(run_case(b, "paper", training));
        CLA_TRY(run_case(b, "modern", training));
    }
    return CLA_OK;
}
