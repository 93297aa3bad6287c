/* score.c - perplexity of the poets' lines, and BLEU of generated lines against
 * them. */
#include <math.h>
#include <stdio.h>

#include "metrics/bleu.h"
#include "tasks/poetry/poetry.h"

enum { LENGTHS = 2, LINES = 128, SCORED = CLA_POEM_LINES - 1 }; // LINES: of a batch

static const int32_t lengths[LENGTHS] = { 5, CLA_POEM_LONGEST };

typedef struct scorer {
    poetry *t;
    const poetry_split *s;
    cla_tape *tape;
    int64_t *example; // [4 poems] gathered examples, of one length
    double nll[LENGTHS], targets[LENGTHS];
    cla_ngrams ngrams;
    cla_bleu_counts counts[LENGTHS][SCORED]; // of lines 2, 3 and 4
} scorer;

/* Gathers the examples of lengths[k]: all lines, or line `line` of each poem (-1: all).
 * Returns their number. */
static int64_t gather(const scorer *w, int k, int line)
{
    int64_t n = 0;
    for (int64_t e = 0; e < CLA_POEM_LINES * w->s->poems; e++) {
        const bool wanted = line < 0 || e % CLA_POEM_LINES == line;
        if (wanted && w->s->length[e / CLA_POEM_LINES] == lengths[k]) {
            w->example[n++] = e;
        }
    }
    return n;
}

/* ---- perplexity ----------------------------------------------------------------- */

static cla_status add_loss(scorer *w, int k, const poetry_batch *b)
{
    cla_tensor *loss = NULL;
    float mean = 0;
    const double targets = (double)(b->view.lines * b->view.length);
    CLA_TRY(cla_poet_loss(&w->t->model, w->tape, &loss, &b->view));
    CLA_TRY(cla_tensor_download(loss, &mean));
    w->nll[k] += (double)mean * targets;
    w->targets[k] += targets;
    return CLA_OK;
}

/* ---- BLEU ----------------------------------------------------------------------- */

static cla_status count_line(scorer *w, cla_bleu_counts *c, const int32_t *gold,
                             const int32_t *written, int length)
{
    cla_ngram_walk walk;
    cla_ngrams_clear(&w->ngrams);
    CLA_TRY(cla_ngrams_add_reference(&w->ngrams, gold, (size_t)length));
    cla_ngrams_start(&w->ngrams, &walk);
    for (int i = 0; i < length; i++) {
        cla_ngrams_step(&w->ngrams, &walk, written[i], c->correct);
    }
    c->total[0] += length;
    c->total[1] += length - 1;
    c->hyp += length;
    c->ref += length;
    return CLA_OK;
}

/* Generates the lines of a batch greedily and adds their BLEU counts. */
static cla_status add_written(scorer *w, cla_bleu_counts *c, const poetry_batch *b)
{
    const int64_t L = b->view.length;
    int32_t *line = NULL;
    CLA_TRY(cla_alloc(&line, (size_t)(b->view.lines * L), sizeof *line));
    cla_status status = cla_poet_write(&w->t->model, w->t->task.rt, &b->view, 1,
                                       CLA_SPECIALS, line, NULL);
    for (int64_t i = 0; i < b->view.lines && !status; i++) {
        status = count_line(w, c, b->view.line + i * L, line + i * L, (int)L);
    }
    free(line);
    return status;
}

/* ---- both ----------------------------------------------------------------------- */

/* Adds the losses of the n gathered examples or, with counts, the BLEU counts of their
 * generated lines. */
static cla_status work(scorer *w, int k, cla_bleu_counts *counts, int64_t n)
{
    cla_status status = CLA_OK;
    for (int64_t i = 0; i < n && !status; i += LINES) {
        poetry_batch b;
        const int64_t count = n - i < LINES ? n - i : LINES;
        CLA_TRY(cla_poetry_batch_make(&b, w->s, w->example + i, count));
        status = counts ? add_written(w, counts, &b) : add_loss(w, k, &b);
        cla_tape_reset(w->tape);
        cla_poetry_batch_free(&b);
    }
    return status;
}

static cla_status work_all(scorer *w)
{
    CLA_TRY(cla_tape_new(&w->tape, w->t->task.rt, false));
    CLA_TRY(cla_alloc(&w->example, CLA_POEM_LINES * (size_t)w->s->poems + 1,
                      sizeof *w->example));
    for (int k = 0; k < LENGTHS; k++) {
        CLA_TRY(work(w, k, NULL, gather(w, k, -1)));
        for (int line = 1; line < CLA_POEM_LINES && !w->t->training; line++) {
            CLA_TRY(work(w, k, &w->counts[k][line - 1], gather(w, k, line)));
        }
    }
    return CLA_OK;
}

static void put(cla_metrics *m, const char *name, double value)
{
    m->row[m->count].name = name;
    m->row[m->count++].value = value;
}

/* Writes the scores; omits a length without lines and, in training, BLEU. */
static void report(const scorer *w, cla_metrics *m)
{
    static const char *const perplexities[] = { "perplexity_5", "perplexity_7" };
    static const char *const means[] = { "bleu2_5", "bleu2_7" };
    static const char *const names[LENGTHS][SCORED] = {
        { "bleu2_5_line2", "bleu2_5_line3", "bleu2_5_line4" },
        { "bleu2_7_line2", "bleu2_7_line3", "bleu2_7_line4" }
    };
    const double targets = w->targets[0] + w->targets[1];
    *m = (cla_metrics){ 0 };
    put(m, "perplexity", exp((w->nll[0] + w->nll[1]) / targets));
    for (int k = 0; k < LENGTHS; k++) {
        if (w->targets[k] <= 0) {
            continue;
        }
        double bleu[SCORED], mean = 0;
        put(m, perplexities[k], exp(w->nll[k] / w->targets[k]));
        for (int i = 0; i < SCORED && !w->t->training; i++) {
            bleu[i] = cla_bleu_captions(&w->counts[k][i], 2);
            mean += bleu[i] / SCORED;
        }
        for (int i = 0; i < SCORED && !w->t->training; i++) {
            put(m, names[k][i], bleu[i]);
        }
        if (!w->t->training) {
            put(m, means[k], mean);
        }
    }
    put(m, "characters", targets);
}

cla_status cla_poetry_evaluate(cla_task *task, const char *data, const char *split,
                               cla_metrics *metrics)
{
    poetry *t = (poetry *)task;
    poetry_split s = { 0 };
    scorer w = { .t = t, .s = &s, .ngrams = { .order = 2 } };
    cla_status status = cla_poetry_read_split(t, data ? data : t->data, split, &s);
    status = status ? status : work_all(&w);
    if (!status) {
        report(&w, metrics);
    }
    cla_tape_free(&w.tape);
    cla_ngrams_free(&w.ngrams);
    free(w.example);
    cla_poetry_split_free(&s);
    return status;
}
