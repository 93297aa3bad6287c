/* steps.c - times a training step of readers by depth. The passages are made up, since
 * the cost does not depend on them. */
#include <stdio.h>

#include "bench/internal.h"
#include "models/reader.h"
#include "train/optim.h"

enum { WORDS = 8000, DIM = 100, HIDDEN = 75, ASKED = 32, PASSAGE = 120, QUESTION = 12 };
enum { PASSAGES = ASKED * PASSAGE, QUESTIONS = ASKED * QUESTION };

static const char *const networks[] = { "bidaf", "match_lstm", "r_net" };

typedef struct step_state {
    cla_runtime *rt;
    reader model;
    cla_params params;
    cla_optim optim;
    cla_tape *tape;
    cla_ragged *question_rows, *passage_rows;
    int32_t question[QUESTIONS], passage[PASSAGES], first[ASKED], last[ASKED];
    reader_batch batch;
    int64_t step;
} step_state;

static cla_status draw(step_state *s)
{
    int32_t question_at[ASKED + 1] = { 0 }, passage_at[ASKED + 1] = { 0 };
    for (int i = 0; i < PASSAGES; i++) {
        s->passage[i] = (int32_t)((int64_t)i * 7919 % WORDS);
        s->question[i % QUESTIONS] = (int32_t)((int64_t)i * 104729 % WORDS);
    }
    for (int i = 0; i < ASKED; i++) {
        question_at[i + 1] = (i + 1) * QUESTION;
        passage_at[i + 1] = (i + 1) * PASSAGE;
        s->first[i] = i * 3 % PASSAGE;
        s->last[i] = s->first[i] + 1;
    }
    CLA_TRY(cla_ragged_new(&s->question_rows, s->rt, ASKED, question_at));
    CLA_TRY(cla_ragged_new(&s->passage_rows, s->rt, ASKED, passage_at));
    s->batch = (reader_batch){
        .question_rows = s->question_rows,
        .passage_rows = s->passage_rows,
        .question = s->question,
        .passage = s->passage,
        .first = s->first,
        .last = s->last,
    };
    return CLA_OK;
}

static cla_status train(void *state)
{
    step_state *s = state;
    cla_tensor *loss = NULL;
    float value = 0;
    cla_params_clear_gradients(&s->params);
    cla_tape_reset(s->tape);
    CLA_TRY(cla_reader_loss(&s->model, s->tape, &loss, &s->batch));
    CLA_TRY(cla_tape_seed(s->tape, loss, NULL));
    CLA_TRY(cla_tape_backward(s->tape));
    CLA_TRY(cla_tensor_download(loss, &value));
    return cla_optim_step(&s->optim, ++s->step);
}

/* ---- the cases --------------------------------------------------------------- */

/* Configures the network of that name with its defaults. */
static cla_status configure(reader_config *config, const char *network, int depth)
{
    json_t *values = json_pack("{s:s,s:i,s:i,s:i,s:i}", "network", network, "depth",
                               depth, "word_dim", DIM, "char_dim", 0, "hidden", HIDDEN);
    cla_config settings = { .values = values, .known = json_object() };
    cla_status status = cla_strdup(&settings.path, "bench");
    status = status ? status : cla_reader_configure(config, &settings);
    config->words = WORDS;
    cla_config_fini(&settings);
    return status;
}

static cla_status prepare(step_state *s, const char *network, int depth)
{
    reader_config config;
    s->optim = cla_optim_usual("adam", 1e-4);
    s->optim.clip = 5;
    CLA_TRY(draw(s));
    CLA_TRY(configure(&config, network, depth));
    CLA_TRY(cla_reader_init(&s->model, &config, &s->params));
    CLA_TRY(cla_params_build(&s->params, s->rt, 42));
    CLA_TRY(cla_optim_init(&s->optim, &s->params));
    return cla_tape_new(&s->tape, s->rt, true);
}

static void finish(step_state *s)
{
    cla_tape_free(&s->tape);
    cla_optim_fini(&s->optim);
    cla_params_free(&s->params);
    cla_reader_fini(&s->model);
    cla_ragged_free(&s->question_rows);
    cla_ragged_free(&s->passage_rows);
    free(s);
}

static cla_status run_case(bench *b, const char *network, int depth)
{
    step_state *s = NULL;
    bench_case c = { .suite = "reader", .words = PASSAGES, .run = train };
    c.provider = cla_runtime_schedule(b->rt) == CLA_SCHEDULE_TILE ? "tile" : "group";
    snprintf(c.name, sizeof c.name, "%s train depth%d B%d P%d Q%d in%d n%d", network,
             depth, ASKED, PASSAGE, QUESTION, DIM, HIDDEN);
    if (!bench_wants(b, c.suite, c.name)) {
        return CLA_OK;
    }
    CLA_TRY(cla_alloc(&s, 1, sizeof *s));
    s->rt = b->rt;
    c.state = s;
    cla_status status = prepare(s, network, depth);
    c.parameters = s->params.size;
    status = status ? status : bench_run(b, &c);
    finish(s);
    return status;
}

/* A quick run has these cases only with --suite or --filter. */
cla_status bench_steps(bench *b)
{
    static const int depths[] = { 1, 2, 5, 10, 20 };
    if (bench_quick(b) && !b->options->suite && !b->options->filter) {
        return CLA_OK;
    }
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        for (size_t k = 0; k < sizeof depths / sizeof *depths; k++) {
            CLA_TRY(run_case(b, networks[i], depths[k]));
        }
    }
    return CLA_OK;
}
