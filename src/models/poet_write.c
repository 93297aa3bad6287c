/* poet_write.c - writes lines by beam search, a character of all lines at a time. */
#include <math.h>
#include <string.h>

#include "clattn/ops.h"
#include "models/poet.h"

/* A candidate continuation of a hypothesis by one character. */
typedef struct candidate {
    double logp;
    int32_t parent, id; // parent: among the line's hypotheses
} candidate;

typedef struct writer {
    poet *m;
    cla_runtime *rt;
    const poet_batch *batch;
    int beam, choices; // choices: likeliest continuations of a hypothesis
    int32_t from;
    cla_tape *whole, *turn[2]; // steps alternate between the turns
    poet_memory memory;
    poet_step step;
    double *logp;         // [B*beam]
    int32_t *last;        // [B*beam] previous characters
    int32_t *parent;      // [B*beam] rows that the hypotheses extend
    int32_t *text[2];     // [B*beam*L] characters so far; steps alternate
    float *likely;        // [B*beam*choices] log p of the choices
    int32_t *id;          // [B*beam*choices] their ids
    candidate *candidate; // [beam] of a line, best first
} writer;

static cla_status prepare(writer *w)
{
    const size_t rows = (size_t)w->batch->lines * (size_t)w->beam;
    const int wanted = w->beam + w->from, all = w->m->config.characters;
    w->choices = wanted < all ? wanted : all;
    CLA_TRY(cla_tape_new(&w->whole, w->rt, false));
    CLA_TRY(cla_tape_new(&w->turn[0], w->rt, false));
    CLA_TRY(cla_tape_new(&w->turn[1], w->rt, false));
    CLA_TRY(cla_alloc(&w->logp, rows, sizeof *w->logp));
    CLA_TRY(cla_alloc(&w->last, rows, sizeof *w->last));
    CLA_TRY(cla_alloc(&w->parent, rows, sizeof *w->parent));
    for (int i = 0; i < 2; i++) {
        CLA_TRY(cla_alloc(&w->text[i], rows * (size_t)w->batch->length,
                          sizeof *w->text[i]));
    }
    CLA_TRY(cla_alloc(&w->likely, rows * (size_t)w->choices, sizeof *w->likely));
    CLA_TRY(cla_alloc(&w->id, rows * (size_t)w->choices, sizeof *w->id));
    CLA_TRY(cla_alloc(&w->candidate, (size_t)w->beam, sizeof *w->candidate));
    for (size_t i = 0; i < rows; i++) { // each line starts with one hypothesis
        w->parent[i] = (int32_t)(i / (size_t)w->beam);
        w->last[i] = -1;
        w->logp[i] = (i % (size_t)w->beam) ? -INFINITY : 0;
    }
    CLA_TRY(cla_poet_read(w->m, w->whole, &w->memory, w->batch));
    w->step.state = w->memory.state;
    return CLA_OK;
}

/* Runs a step of the decoder; sets likely and id to the choices of each hypothesis. */
static cla_status look(writer *w, cla_tape *tape)
{
    const int64_t rows = w->batch->lines * w->beam;
    cla_tensor *ids = NULL, *input = NULL, *logits = NULL, *likely = NULL, *id = NULL;
    CLA_TRY(cla_poet_even_rows(tape, w->batch->lines, w->beam, &w->step.hypotheses));
    CLA_TRY(cla_poet_even_rows(tape, rows, 1, &w->step.ones));
    CLA_TRY(cla_tape_ids(tape, &ids, rows, w->parent));
    CLA_TRY(cla_embedding(tape, &w->step.state, w->step.state, ids, 1));
    CLA_TRY(cla_tape_ids(tape, &ids, rows, w->last));
    CLA_TRY(cla_embedding(tape, &input, w->m->table, ids, 1));
    CLA_TRY(cla_poet_next(w->m, tape, &w->step, &w->memory, input));
    CLA_TRY(cla_linear(tape, &logits, w->step.features, w->m->out, w->m->out_bias,
                       CLA_NONE, NULL));
    CLA_TRY(cla_top_k(tape, &likely, &id, logits, w->choices));
    CLA_TRY(cla_tensor_download(likely, w->likely));
    return cla_tensor_download(id, w->id);
}

/* Inserts a candidate into the best *n so far, after equal ones. */
static void consider(const writer *w, int *n, candidate c)
{
    int at = *n;
    while (at > 0 && w->candidate[at - 1].logp < c.logp) {
        at--;
    }
    if (at >= w->beam) {
        return;
    }
    *n += *n < w->beam;
    memmove(w->candidate + at + 1, w->candidate + at,
            (size_t)(*n - at - 1) * sizeof *w->candidate);
    w->candidate[at] = c;
}

/* Sets candidate to the *n best continuations of line i. */
static cla_status choose(writer *w, int64_t i, int *n)
{
    *n = 0;
    for (int32_t k = 0; k < w->beam; k++) {
        const int64_t row = i * w->beam + k;
        for (int c = 0; c < w->choices && isfinite(w->logp[row]); c++) {
            const int64_t at = row * w->choices + c;
            const int32_t id = w->id[at];
            if (!isfinite(w->likely[at]) || id < 0 || id >= w->m->config.characters) {
                return cla_fail(CLA_E_NUMERIC,
                                "poet: the scores of its characters are not finite");
            }
            if (id >= w->from) {
                consider(w, n,
                         (candidate){ w->logp[row] + (double)w->likely[at], k, id });
            }
        }
    }
    return CLA_OK;
}

/* Replaces the hypotheses of line i by its n candidates. */
static void continue_line(writer *w, int64_t i, int n, int t)
{
    const int64_t first = i * w->beam, L = w->batch->length;
    for (int64_t k = 0; k < w->beam; k++) {
        const candidate *c = &w->candidate[k < n ? k : 0];
        int32_t *to = w->text[(t + 1) % 2] + (first + k) * L;
        memcpy(to, w->text[t % 2] + (first + c->parent) * L, (size_t)t * sizeof *to);
        to[t] = c->id;
        w->last[first + k] = c->id;
        w->parent[first + k] = (int32_t)first + c->parent;
        w->logp[first + k] = k < n ? c->logp : -INFINITY;
    }
}

static cla_status write_all(writer *w)
{
    CLA_TRY(prepare(w));
    for (int t = 0; t < w->batch->length; t++) {
        cla_tape *tape = w->turn[t % 2]; // the other one holds the last states
        cla_tape_reset(tape);
        CLA_TRY(look(w, tape));
        for (int64_t i = 0; i < w->batch->lines; i++) {
            int n = 0;
            CLA_TRY(choose(w, i, &n));
            continue_line(w, i, n, t);
        }
    }
    return CLA_OK;
}

cla_status cla_poet_write(poet *m, cla_runtime *rt, const poet_batch *batch, int beam,
                          int32_t from, int32_t *line, double *logp)
{
    writer w = { .m = m, .rt = rt, .batch = batch, .beam = beam, .from = from };
    const size_t L = (size_t)batch->length;
    const cla_status status = write_all(&w);
    for (int64_t i = 0; i < batch->lines && !status; i++) {
        memcpy(line + i * batch->length, w.text[L % 2] + i * beam * batch->length,
               L * sizeof *line);
        if (logp) {
            logp[i] = w.logp[i * beam];
        }
    }
    cla_tape_free(&w.whole);
    cla_tape_free(&w.turn[0]);
    cla_tape_free(&w.turn[1]);
    free(w.logp);
    free(w.last);
    free(w.parent);
    free(w.text[0]);
    free(w.text[1]);
    free(w.likely);
    free(w.id);
    free(w.candidate);
    return status;
}
