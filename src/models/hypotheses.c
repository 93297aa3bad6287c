/* hypotheses.c - the hypotheses of one sentence in a beam search. */
#include "models/hypotheses.h"

#include <math.h>
#include <string.h>

#include "models/likelihood.h"

cla_status cla_hypotheses_init(hypotheses *x, const search_options *o, int64_t size)
{
    const size_t beam = (size_t)o->beam;
    x->size = size;
    x->limit = o->most ? o->most : size + o->extra;
    const size_t room = beam * (size_t)x->limit;
    CLA_TRY(cla_alloc(&x->logp, beam, sizeof *x->logp));
    CLA_TRY(cla_alloc(&x->id, room, sizeof *x->id));
    CLA_TRY(cla_alloc(&x->scrap, room, sizeof *x->scrap));
    CLA_TRY(cla_alloc(&x->parent, beam, sizeof *x->parent));
    CLA_TRY(cla_alloc(&x->forced, beam, sizeof *x->forced));
    CLA_TRY(cla_alloc(&x->ended, beam + 1, sizeof *x->ended));
    for (size_t i = 1; i < beam; i++) { // the first step has one hypothesis
        x->logp[i] = -INFINITY;
    }
    return CLA_OK;
}

void cla_hypotheses_fini(hypotheses *x)
{
    for (int i = 0; i < x->ended_count; i++) {
        free(x->ended[i].id);
    }
    free(x->logp);
    free(x->id);
    free(x->scrap);
    free(x->parent);
    free(x->forced);
    free(x->ended);
}

int cla_candidate_keep(candidate *best, int count, int room, candidate c)
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

double cla_search_worth(const search_options *o, double logp, int64_t length)
{
    return o->kind == SEARCH_TENSOR2TENSOR
               ? cla_transformer_worth(logp, length, o->alpha)
               : logp / pow((double)length, o->alpha);
}

/* Adds a hypothesis of length pieces, its end included, to the finished ones, of which
 * the best `beam` are kept. One that is cut without an end is `whole`. */
static cla_status end(hypotheses *x, const search_options *o, const int32_t *id,
                      int64_t length, bool whole, bool cut, double logp)
{
    const int64_t count = whole ? length : length - 1;
    const double worth = cla_search_worth(o, logp, length);
    int at = x->ended_count;
    while (at > 0 && x->ended[at - 1].score < worth) {
        at--;
    }
    if (at == o->beam) {
        return CLA_OK;
    }
    search_result r = { .count = count, .logp = logp, .score = worth, .cut = cut };
    CLA_TRY(cla_alloc(&r.id, (size_t)count + 1, sizeof *r.id));
    memcpy(r.id, id, (size_t)count * sizeof *r.id);
    memmove(x->ended + at + 1, x->ended + at,
            (size_t)(x->ended_count - at) * sizeof *x->ended);
    x->ended[at] = r;
    if (++x->ended_count > o->beam) {
        free(x->ended[--x->ended_count].id);
    }
    return CLA_OK;
}

/* Makes the end the only candidate of each live hypothesis, at no cost. Those that end
 * among the candidates [n] as they are would have ended without that. */
static int force_end(hypotheses *x, const search_options *o, candidate *found, int n)
{
    int count = 0;
    memset(x->forced, true, (size_t)o->beam * sizeof *x->forced);
    for (int i = 0; i < n; i++) {
        x->forced[found[i].parent] &= found[i].piece != o->end;
    }
    for (int b = 0; b < o->beam; b++) {
        const candidate c = { x->logp[b], b, o->end };
        count =
            c.logp > -INFINITY ? cla_candidate_keep(found, count, o->beam, c) : count;
    }
    return count;
}

/* Returns whether `count` finished hypotheses have a score of at least bound. */
static bool reached(const hypotheses *x, int count, double bound)
{
    return x->ended_count >= count && x->ended[count - 1].score >= bound;
}

/* Returns whether the sentence is done by the stopping rule of the search (search.h).
 * best: log p of the best candidate, which may be one that ends. */
static bool beaten(const hypotheses *x, const search_options *o, int64_t t, double best)
{
    const int wanted = o->best ? o->best : 1;
    if (o->kind == SEARCH_TENSOR2TENSOR) {
        return reached(x, wanted, cla_search_worth(o, x->logp[0], x->limit));
    }
    if (o->early == SEARCH_FIRST) {
        return x->ended_count == o->beam;
    }
    const bool longest = o->early == SEARCH_NEVER && o->alpha > 0;
    best = o->kind == SEARCH_TRANSFORMERS_5 ? x->logp[0] : best;
    const double bound = cla_search_worth(o, best, longest ? x->limit : t);
    return reached(x, longest || o->alpha == 0 ? wanted : o->beam, bound);
}

/* Finishes live hypotheses at the limit of pieces: all of them, or in tensor2tensor's
 * search the likeliest if no other has finished. */
static cla_status end_living(hypotheses *x, const search_options *o, int64_t t)
{
    if (o->kind == SEARCH_TENSOR2TENSOR) {
        return x->ended_count ? CLA_OK : end(x, o, x->id, t, true, true, x->logp[0]);
    }
    for (int b = 0; b < o->beam; b++) {
        if (x->logp[b] > -INFINITY) {
            CLA_TRY(end(x, o, x->id + b * x->limit, t, true, true, x->logp[b]));
        }
    }
    return CLA_OK;
}

/* Moves candidates that end to the finished hypotheses, the best others to scrap. */
static cla_status sort(hypotheses *x, const search_options *o, const candidate *found,
                       int count, int64_t t)
{
    // of the candidates only the first `ends` may finish a hypothesis
    const int ends = o->kind == SEARCH_TENSOR2TENSOR ? count : o->beam;
    int living = 0;
    for (int n = 0; n < count; n++) {
        const candidate *c = &found[n];
        const int32_t *id = x->id + c->parent * x->limit;
        if (c->piece == o->end) {
            CLA_TRY(n < ends ? end(x, o, id, t, false, x->forced[c->parent], c->logp)
                             : CLA_OK);
        } else if (living < o->beam) {
            int32_t *to = x->scrap + living * x->limit;
            memcpy(to, id, (size_t)(t - 1) * sizeof *to);
            to[t - 1] = c->piece;
            x->parent[living] = c->parent;
            x->logp[living++] = c->logp;
        }
    }
    for (int b = living; b < o->beam; b++) {
        x->scrap[b * x->limit + t - 1] = o->end;
        x->parent[b] = 0;
        x->logp[b] = -INFINITY;
    }
    return CLA_OK;
}

cla_status cla_hypotheses_advance(hypotheses *x, const search_options *o,
                                  candidate *found, int count, int64_t t, bool *done)
{
    const bool last = t >= x->limit;
    // transformers 5 asks whether the search is done after the last piece alone
    const bool together = last && o->kind == SEARCH_TRANSFORMERS_5;
    if (last && o->forced) {
        count = force_end(x, o, found, count);
    }
    const double best = count ? found[0].logp : -INFINITY;
    CLA_TRY(sort(x, o, found, count, t));
    int32_t *before = x->id;
    x->id = x->scrap;
    x->scrap = before;
    const bool living = x->logp[0] > -INFINITY;
    const bool over = !living || (!together && beaten(x, o, t, best));
    *done = over || last;
    return last && !over ? end_living(x, o, t) : CLA_OK;
}
