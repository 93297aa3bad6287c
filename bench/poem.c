/* poem.c - times the poem generator by depth: training steps, and writing lines. The
 * text is made up, since the cost does not depend on it. */
#include <stdio.h>

#include "bench/internal.h"
#include "models/poet.h"
#include "train/optim.h"

enum { CHARACTERS = 6000, HIDDEN = 256, LINES = 64, LENGTH = 7, BEFORE = 3, FROM = 3 };
enum { CONTEXT = LINES * BEFORE * LENGTH, WRITTEN = LINES * LENGTH };

/* The lines of a batch: a quarter has no line before it, a quarter one, and so on. */
typedef struct poem_lines {
    int32_t keyword[2 * LINES], keyword_at[LINES + 1];
    int32_t context[CONTEXT], context_at[LINES + 1];
    int32_t line[WRITTEN];
} poem_lines;

typedef struct poem_state {
    cla_runtime *rt;
    poet model;
    cla_params params;
    cla_optim optim;
    cla_tape *tape;
    poem_lines lines;
    poet_batch batch;
    int64_t step;
    int32_t written[WRITTEN];
} poem_state;

static void fill(int32_t *id, int n)
{
    for (int i = 0; i < n; i++) {
        id[i] = FROM + (int32_t)((int64_t)i * 7919 % (CHARACTERS - FROM));
    }
}

static void draw(poem_state *s)
{
    poem_lines *l = &s->lines;
    fill(l->keyword, 2 * LINES);
    fill(l->context, CONTEXT);
    fill(l->line, WRITTEN);
    for (int i = 0; i < LINES; i++) {
        l->keyword_at[i + 1] = 2 * (i + 1);
        l->context_at[i + 1] = l->context_at[i] + i % (BEFORE + 1) * LENGTH;
    }
    s->batch = (poet_batch){ LINES,      LENGTH,        l->keyword, l->keyword_at,
                             l->context, l->context_at, l->line };
}

/* ---- timed functions --------------------------------------------------------- */

static cla_status train(void *state)
{
    poem_state *s = state;
    cla_tensor *loss = NULL;
    float value = 0;
    cla_params_clear_gradients(&s->params);
    cla_tape_reset(s->tape);
    CLA_TRY(cla_poet_loss(&s->model, s->tape, &loss, &s->batch));
    CLA_TRY(cla_tape_seed(s->tape, loss, NULL));
    CLA_TRY(cla_tape_backward(s->tape));
    CLA_TRY(cla_tensor_download(loss, &value));
    return cla_optim_step(&s->optim, ++s->step);
}

static cla_status compose(void *state)
{
    poem_state *s = state;
    return cla_poet_write(&s->model, s->rt, &s->batch, 1, FROM, s->written, NULL);
}

/* ---- the cases --------------------------------------------------------------- */

static cla_status prepare(poem_state *s, int depth)
{
    const poet_config config = {
        .characters = CHARACTERS, .dim = HIDDEN, .hidden = HIDDEN, .depth = depth
    };
    s->optim = cla_optim_usual("adam", 1e-4);
    s->optim.clip = 1;
    draw(s);
    CLA_TRY(cla_poet_init(&s->model, &config, &s->params));
    CLA_TRY(cla_params_build(&s->params, s->rt, 42));
    CLA_TRY(cla_optim_init(&s->optim, &s->params));
    return cla_tape_new(&s->tape, s->rt, true);
}

static cla_status run_case(bench *b, int depth, bool training)
{
    poem_state *s = NULL;
    bench_case c = { .suite = "poem", .words = WRITTEN };
    c.run = training ? train : compose;
    c.provider = cla_runtime_schedule(b->rt) == CLA_SCHEDULE_TILE ? "tile" : "group";
    snprintf(c.name, sizeof c.name, "poem h%d depth%d %s B%d T%d", HIDDEN, depth,
             training ? "train" : "write", LINES, LENGTH);
    if (!bench_wants(b, c.suite, c.name)) {
        return CLA_OK;
    }
    CLA_TRY(cla_alloc(&s, 1, sizeof *s));
    s->rt = b->rt;
    c.state = s;
    cla_status status = prepare(s, depth);
    c.parameters = s->params.size;
    status = status ? status : bench_run(b, &c);
    cla_tape_free(&s->tape);
    cla_optim_fini(&s->optim);
    cla_params_free(&s->params);
    free(s);
    return status;
}

/* A quick run has these cases only with --suite or --filter. */
cla_status bench_poem(bench *b)
{
    static const int depths[] = { 1, 5, 10, 20 };
    if (bench_quick(b) && !b->options->suite && !b->options->filter) {
        return CLA_OK;
    }
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        CLA_TRY(run_case(b, depths[i], true));
        CLA_TRY(run_case(b, depths[i], false));
    }
    return CLA_OK;
}
