/* search.c - translations by beam search. */
#include "models/search.h"

#include <math.h>
#include <string.h>

#include "models/generate.h"
#include "models/likelihood.h"

enum { DRAWS = 42 }; // seed

/* One way to go on. */
typedef struct candidate {
    double logp;
    int parent;
    int32_t piece;
} candidate;

typedef struct sentence {
    int64_t at;           // in the source
    int64_t size, limit;  // pieces of the source; most of a translation, end included
    double *logp;         // [beam] of the hypotheses that live; -INFINITY: none
    int32_t *id, *scrap;  // [beam*limit] their pieces; room for the next
    int *parent;          // [beam] which hypothesis each one came from
    search_result *ended; // [beam] best first
    int ended_count;
} sentence;

typedef struct search {
    transformer *m;
    cla_runtime *rt;
    const search_options *o;
    const transformer_tokens *source;
    int choices;                            // of a row that can matter
    cla_tape *whole, *live, *turn[2];       // turns are taken by the steps
    cla_tensor *kv[TRANSFORMER_LAYERS + 1]; // of all sources, on whole
    transformer_step step;                  // kv of living ones, on live
    sentence *sentences;                    // all
    int64_t *open, open_count;              // those not done
    int32_t *token, *parent;                // [open_count*beam] of the rows
    candidate *found;                       // [2*beam] best first
    float *likely;                          // [rows,choices] their log p, best first
    int32_t *choice;                        // and the pieces
} search;

/* ---- one sentence ------------------------------------------------------------ */

static cla_status sentence_init(sentence *x, const search *s, int64_t at)
{
    const int32_t *offsets = s->source->rows->offsets;
    const size_t beam = (size_t)s->o->beam;
    x->at = at;
    x->size = offsets[at + 1] - offsets[at];
    x->limit = x->size + s->o->extra;
    const size_t room = beam * (size_t)x->limit;
    CLA_TRY(cla_alloc(&x->logp, beam, sizeof *x->logp));
    CLA_TRY(cla_alloc(&x->id, room, sizeof *x->id));
    CLA_TRY(cla_alloc(&x->scrap, room, sizeof *x->scrap));
    CLA_TRY(cla_alloc(&x->parent, beam, sizeof *x->parent));
    CLA_TRY(cla_alloc(&x->ended, beam + 1, sizeof *x->ended));
    for (size_t i = 1; i < beam; i++) { // the first step has one hypothesis
        x->logp[i] = -INFINITY;
    }
    return CLA_OK;
}

static void sentence_fini(sentence *x)
{
    for (int i = 0; i < x->ended_count; i++) {
        free(x->ended[i].id);
    }
    free(x->logp);
    free(x->id);
    free(x->scrap);
    free(x->parent);
    free(x->ended);
}

/* Puts c among the best; of equals the one that came first stays in front. */
static int keep(candidate *best, int count, int room, candidate c)
{
    int at = count;
    while (at > 0 && best[at - 1].logp < c.logp) {
        at--;
    }
    if (at == room) {
        return count;
    }
    const int moved = (count < room ? count : room - 1) - at;
    memmove(best + at + 1, best + at, (size_t)moved * sizeof *best);
    best[at] = c;
    return count < room ? count + 1 : room;
}

/* How many continuations of a sentence are looked at: as many may end as live on. */
static int room_of(const search_options *o)
{
    return o->beam == 1 ? 1 : 2 * o->beam;
}

/* The best continuations of the i'th open sentence. */
static cla_status find(const search *s, const sentence *x, int64_t i, int *found)
{
    const int room = room_of(s->o);
    int count = 0;
    for (int b = 0; b < s->o->beam; b++) {
        const int64_t row = (i * s->o->beam + b) * s->choices;
        if (x->logp[b] == -INFINITY) {
            continue;
        }
        if (!isfinite(s->likely[row])) {
            return cla_fail(CLA_E_NUMERIC,
                            "translator: the scores of its pieces are not finite");
        }
        for (int64_t n = row; n < row + s->choices; n++) {
            const double logp = x->logp[b] + (double)s->likely[n];
            const candidate c = { logp, b, s->choice[n] };
            if (count < room || c.logp > s->found[count - 1].logp) {
                count = keep(s->found, count, room, c);
            }
        }
    }
    *found = count;
    return CLA_OK;
}

/* A hypothesis that ended, of count pieces; length counts its end. */
static cla_status end(const search *s, sentence *x, const int32_t *id, int64_t count,
                      int64_t length, double logp)
{
    const double worth = transformer_worth(logp, length, s->o->alpha);
    int at = x->ended_count;
    while (at > 0 && x->ended[at - 1].score < worth) {
        at--;
    }
    if (at == s->o->beam) {
        return CLA_OK;
    }
    search_result r = { .count = count, .logp = logp, .score = worth };
    CLA_TRY(cla_alloc(&r.id, (size_t)count + 1, sizeof *r.id));
    memcpy(r.id, id, (size_t)count * sizeof *r.id);
    memmove(x->ended + at + 1, x->ended + at,
            (size_t)(x->ended_count - at) * sizeof *x->ended);
    x->ended[at] = r;
    if (++x->ended_count > s->o->beam) {
        free(x->ended[--x->ended_count].id);
    }
    return CLA_OK;
}

/* Takes the t'th piece of the i'th open sentence; *done when it needs no more. */
static cla_status advance(search *s, sentence *x, int64_t i, int64_t t, bool *done)
{
    const int beam = s->o->beam;
    int found = 0, living = 0;
    CLA_TRY(find(s, x, i, &found));
    for (int n = 0; n < found; n++) {
        const candidate *c = &s->found[n];
        const int32_t *id = x->id + c->parent * x->limit;
        if (c->piece == s->o->end) {
            CLA_TRY(end(s, x, id, t - 1, t, c->logp));
        } else if (living < beam) {
            int32_t *to = x->scrap + living * x->limit;
            memcpy(to, id, (size_t)(t - 1) * sizeof *to);
            to[t - 1] = c->piece;
            x->parent[living] = c->parent;
            x->logp[living++] = c->logp;
        }
    }
    for (int b = living; b < beam; b++) {
        x->scrap[b * x->limit + t - 1] = s->o->end;
        x->parent[b] = 0;
        x->logp[b] = -INFINITY;
    }
    int32_t *last = x->id;
    x->id = x->scrap;
    x->scrap = last;
    const double hope = transformer_worth(x->logp[0], x->limit, s->o->alpha);
    const bool beaten = x->ended_count == beam && x->ended[beam - 1].score >= hope;
    *done = !living || t >= x->limit || beaten;
    return *done && !x->ended_count ? end(s, x, x->id, t, t, x->logp[0]) : CLA_OK;
}

/* ---- all of them ------------------------------------------------------------- */

/* The memory of each sentence that is open, once for each of its hypotheses. */
static cla_status spread(search *s)
{
    const int32_t *offsets = s->source->rows->offsets;
    const int64_t rows = s->open_count * s->o->beam;
    int32_t *row = NULL, *start = NULL;
    cla_tensor *ids = NULL;
    cla_ragged *ragged = NULL;
    int64_t n = 0;
    for (int64_t i = 0; i < s->open_count; i++) {
        n += s->sentences[s->open[i]].size * s->o->beam;
    }
    CLA_TRY(cla_alloc(&row, (size_t)(n + rows + 1), sizeof *row));
    start = row + n;
    int32_t at = 0;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t from = s->open[i / s->o->beam];
        for (int32_t k = offsets[from]; k < offsets[from + 1]; k++) {
            row[at++] = k;
        }
        start[i + 1] = at;
    }
    cla_tape_reset(s->live);
    cla_status status = cla_tape_ids(s->live, &ids, n, row);
    status = status ? status : cla_ragged_new(&ragged, s->rt, rows, start);
    free(row);
    CLA_TRY(status);
    cla_tape_keep(s->live, ragged);
    s->step.memory = ragged;
    for (int i = 0; i < transformer_memories(s->m); i++) {
        CLA_TRY(cla_embedding(s->live, &s->step.kv[i], s->kv[i], ids, 1));
    }
    return CLA_OK;
}

/* What the tokens so far left, in the order of the rows that go on. */
static cla_status follow(search *s, cla_tape *tape, int64_t rows, int64_t t)
{
    cla_tensor *ids = NULL;
    if (t == 1) {
        return CLA_OK;
    }
    CLA_TRY(cla_tape_ids(tape, &ids, rows, s->parent));
    for (int i = 0; i < s->m->config.layers; i++) {
        cla_tensor *past = s->step.past[i];
        const int64_t shape[] = { cla_tensor_dim(past, 0),
                                  cla_tensor_size(past) / cla_tensor_dim(past, 0) };
        CLA_TRY(cla_tensor_reshape(tape, &past, past, 2, shape));
        CLA_TRY(cla_embedding(tape, &s->step.past[i], past, ids, 1));
    }
    return CLA_OK;
}

/* Scores of the t'th piece of each row. */
static cla_status score(search *s, int64_t t)
{
    const int64_t rows = s->open_count * s->o->beam;
    cla_tape *tape = s->turn[t % 2]; // the other one holds what the last step left
    cla_tensor *logits = NULL, *likely = NULL, *choice = NULL;
    cla_tape_reset(tape);
    cla_tape_random(tape, DRAWS, (uint32_t)t); // of gates, where they are drawn
    CLA_TRY(follow(s, tape, rows, t));
    CLA_TRY(transformer_even_rows(s->rt, tape, rows, 1, &s->step.one));
    CLA_TRY(transformer_even_rows(s->rt, tape, rows, t, &s->step.seen));
    s->step.sequences = rows;
    s->step.position = (int32_t)t - 1;
    s->step.token = s->token;
    CLA_TRY(transformer_next(s->m, tape, &logits, &s->step));
    CLA_TRY(cla_top_k(tape, &likely, &choice, logits, s->choices));
    CLA_TRY(cla_tensor_download(likely, s->likely));
    return cla_tensor_download(choice, s->choice);
}

/* Every open sentence takes its t'th piece; rows and memory are set up for the next. */
static cla_status advance_all(search *s, int64_t t)
{
    const int beam = s->o->beam;
    int64_t left = 0;
    for (int64_t i = 0; i < s->open_count; i++) {
        sentence *x = &s->sentences[s->open[i]];
        bool done = false;
        CLA_TRY(advance(s, x, i, t, &done));
        for (int b = 0; b < beam && !done; b++) {
            s->token[left * beam + b] = x->id[b * x->limit + t - 1];
            s->parent[left * beam + b] = (int32_t)(i * beam + x->parent[b]);
        }
        s->open[left] = s->open[i];
        left += !done;
    }
    const bool fewer = left < s->open_count;
    s->open_count = left;
    return fewer && left ? spread(s) : CLA_OK;
}

static cla_status prepare(search *s)
{
    const int64_t n = cla_ragged_sequences(s->source->rows);
    const size_t rows = (size_t)(n * s->o->beam);
    CLA_TRY(cla_tape_new(&s->whole, s->rt, false));
    CLA_TRY(cla_tape_new(&s->live, s->rt, false));
    CLA_TRY(cla_tape_new(&s->turn[0], s->rt, false));
    CLA_TRY(cla_tape_new(&s->turn[1], s->rt, false));
    CLA_TRY(cla_alloc(&s->sentences, (size_t)n, sizeof *s->sentences));
    CLA_TRY(cla_alloc(&s->open, (size_t)n, sizeof *s->open));
    CLA_TRY(cla_alloc(&s->token, rows, sizeof *s->token));
    CLA_TRY(cla_alloc(&s->parent, rows, sizeof *s->parent));
    CLA_TRY(cla_alloc(&s->found, 2 * (size_t)s->o->beam, sizeof *s->found));
    const size_t choices = rows * (size_t)s->choices;
    CLA_TRY(cla_alloc(&s->likely, choices, sizeof *s->likely));
    CLA_TRY(cla_alloc(&s->choice, choices, sizeof *s->choice));
    for (int64_t i = 0; i < n; i++) {
        CLA_TRY(sentence_init(&s->sentences[i], s, i));
        s->open[i] = i;
    }
    for (size_t i = 0; i < rows; i++) {
        s->token[i] = -1;
    }
    s->open_count = n;
    return CLA_OK;
}

static int wanted(const search_options *o)
{
    return o->best ? o->best : 1;
}

/* The results become those of the caller. */
static void take_best(sentence *x, int best, search_result *result)
{
    for (int i = 0; i < best; i++) {
        const bool there = i < x->ended_count;
        result[i] = there ? x->ended[i]
                          : (search_result){ .logp = -INFINITY, .score = -INFINITY };
        x->ended[i].id = NULL;
    }
}

static cla_status go(search *s, search_result *result)
{
    const int64_t n = cla_ragged_sequences(s->source->rows);
    const transformer_batch batch = { .source = *s->source };
    cla_tensor *memory = NULL;
    CLA_TRY(prepare(s));
    CLA_TRY(transformer_encode(s->m, s->whole, &memory, &batch));
    CLA_TRY(transformer_remember(s->m, s->whole, s->kv, memory));
    CLA_TRY(spread(s));
    for (int64_t t = 1; s->open_count; t++) {
        CLA_TRY(score(s, t));
        CLA_TRY(advance_all(s, t));
    }
    for (int64_t i = 0; i < n; i++) {
        take_best(&s->sentences[i], wanted(s->o), result + i * wanted(s->o));
    }
    return CLA_OK;
}

cla_status transformer_search(transformer *m, cla_runtime *rt,
                              const transformer_tokens *source,
                              const search_options *options, search_result *result)
{
    const int64_t n = cla_ragged_sequences(source->rows);
    search s = { .m = m, .rt = rt, .o = options, .source = source };
    s.choices = room_of(options);
    if (s.choices > m->config.target_pieces) {
        s.choices = m->config.target_pieces;
    }
    memset(result, 0, (size_t)(n * wanted(options)) * sizeof *result);
    if (!n) {
        return CLA_OK;
    }
    const cla_status status = go(&s, result);
    for (int64_t i = 0; i < n && s.sentences; i++) {
        sentence_fini(&s.sentences[i]);
    }
    cla_tape_free(&s.turn[0]);
    cla_tape_free(&s.turn[1]);
    cla_tape_free(&s.live);
    cla_tape_free(&s.whole);
    free(s.sentences);
    free(s.open);
    free(s.token);
    free(s.parent);
    free(s.found);
    free(s.likely);
    free(s.choice);
    return status;
}
