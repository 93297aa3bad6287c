/* plan.c - plans four keywords for a poem. */
#include "text/plan.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"

static bool is_chosen(const int *word, size_t n, int rank)
{
    for (size_t i = 0; i < n; i++) {
        if (word[i] == rank) {
            return true;
        }
    }
    return false;
}

/* ---- 1. from the text -------------------------------------------------------- */

/* Adds a word to the best four so far, which are in the order of the text. A fifth word
 * replaces the one with the worst rank, unless its own rank is worse. */
static void consider(int *best, size_t *n, int rank)
{
    size_t worst = 0;
    if (is_chosen(best, *n, rank)) {
        return;
    }
    for (size_t i = 1; i < *n; i++) {
        worst = best[i] > best[worst] ? i : worst;
    }
    if (*n == CLA_POEM_LINES) {
        if (best[worst] < rank) {
            return;
        }
        memmove(best + worst, best + worst + 1, (--*n - worst) * sizeof *best);
    }
    best[(*n)++] = rank;
}

static cla_status extract(const cla_planner *p, const char *text,
                          const cla_words *words, cla_plan *plan)
{
    cla_text form = { 0 };
    size_t n = 0;
    cla_status status = CLA_OK;
    for (size_t i = 0; i < words->count && !status; i++) {
        const cla_span *s = &words->word[i];
        if (p->stop && cla_lexicon_has(p->stop, text + s->at, (size_t)s->size)) {
            continue;
        }
        form.size = 0;
        status = cla_text_append(&form, text + s->at, (size_t)s->size);
        const int rank = status ? -1 : cla_vocab_find(&p->ranking->words, form.data);
        if (rank >= 0) {
            consider(plan->word, &n, rank);
        }
    }
    cla_text_free(&form);
    plan->from_text = (int)n;
    return status;
}

/* ---- 2. from their themes ---------------------------------------------------- */

static cla_status add_themes(const cla_planner *p, cla_plan *plan)
{
    const size_t asked = (size_t)plan->from_text;
    size_t n = asked;
    if (p->themes) {
        CLA_TRY(cla_themes_near(p->themes, p->ranking->words.count, plan->word, asked,
                                &n, CLA_POEM_LINES));
    }
    plan->from_themes = (int)(n - asked);
    return CLA_OK;
}

/* ---- 3. from the vectors ----------------------------------------------------- */

/* Adds the unit vector of a word to mean. Returns false when it has none. */
static bool add_vector(const cla_planner *p, int word, float *mean, int *known)
{
    const cla_vectors *v = p->vectors;
    const char *form = p->ranking->words.tokens[word];
    const float *vector = cla_vectors_find(v, form);
    double length = 0;
    if (!vector) {
        return false;
    }
    for (int k = 0; k < v->dim; k++) {
        length += (double)vector[k] * (double)vector[k];
    }
    if (!(length > 0)) {
        return false;
    }
    for (int k = 0; k < v->dim; k++) {
        mean[k] += (float)((double)vector[k] / sqrt(length));
    }
    *known = cla_vocab_find(&v->words, form);
    return true;
}

static cla_status expand_by(const cla_planner *p, float *mean, cla_neighbour *near,
                            cla_plan *plan)
{
    int known[CLA_POEM_LINES];
    size_t n = 0, found = 0;
    const int before = plan->from_text + plan->from_themes;
    int words = before;
    for (int i = 0; i < plan->from_text; i++) {
        n += add_vector(p, plan->word[i], mean, &known[n]);
    }
    CLA_TRY(
        cla_vectors_nearest(p->vectors, mean, known, n, p->neighbours, near, &found));
    for (size_t i = 0; i < found && words < CLA_POEM_LINES; i++) {
        const char *form = p->vectors->words.tokens[near[i].word];
        const int rank = cla_vocab_find(&p->ranking->words, form);
        if (rank >= 0 && !is_chosen(plan->word, (size_t)words, rank)) {
            plan->word[words++] = rank;
        }
    }
    plan->from_vectors = words - before;
    return CLA_OK;
}

static cla_status expand(const cla_planner *p, cla_plan *plan)
{
    float *mean = NULL;
    cla_neighbour *near = NULL;
    if (!p->vectors || !p->neighbours || !plan->from_text ||
        plan->from_text + plan->from_themes == CLA_POEM_LINES) {
        return CLA_OK;
    }
    cla_status status = cla_alloc(&mean, (size_t)p->vectors->dim, sizeof *mean);
    status = status ? status : cla_alloc(&near, p->neighbours, sizeof *near);
    status = status ? status : expand_by(p, mean, near, plan);
    free(mean);
    free(near);
    return status;
}

/* ---- 4. drawn ---------------------------------------------------------------- */

/* Draws a word that is not in word [n]. uniform: a random number in [0, 1). */
static int draw(const cla_ranking *r, const int *word, size_t n, double uniform)
{
    double sum = 0;
    int last = 0;
    for (size_t i = 0; i < r->words.count; i++) {
        sum += is_chosen(word, n, (int)i) ? 0 : 1.0 / (double)(i + 1);
    }
    double left = uniform * sum;
    for (size_t i = 0; i < r->words.count; i++) {
        if (is_chosen(word, n, (int)i)) {
            continue;
        }
        last = (int)i;
        left -= 1.0 / (double)(i + 1);
        if (left < 0) {
            break;
        }
    }
    return last; // rounding may leave a remainder: then the last word
}

static void draw_rest(const cla_ranking *r, uint32_t seed, cla_plan *plan)
{
    for (int n = plan->from_text + plan->from_themes + plan->from_vectors;
         n < CLA_POEM_LINES; n++) {
        const uint32_t counter[4] = { (uint32_t)n, 0, 0x706c616e, 0 }; // "plan"
        const uint32_t key[2] = { seed, 0 };
        const cla_philox words = cla_philox4x32(counter, key);
        const double uniform =
            ((double)words.v[0] + (double)words.v[1] * 0x1p-32) * 0x1p-32;
        plan->word[n] = draw(r, plan->word, (size_t)n, uniform);
    }
}

cla_status cla_plan_make(const cla_planner *p, const char *text, size_t size,
                         uint32_t seed, cla_plan *plan)
{
    cla_words words = { 0 };
    *plan = (cla_plan){ 0 };
    if (p->ranking->words.count < CLA_POEM_LINES) {
        return cla_fail(CLA_E_USAGE, "plan: %zu ranked words, must be %d or more",
                        p->ranking->words.count, CLA_POEM_LINES);
    }
    cla_status status = cla_lexicon_cut(p->lexicon, text, size, &words);
    status = status ? status : extract(p, text, &words, plan);
    status = status ? status : add_themes(p, plan);
    status = status ? status : expand(p, plan);
    cla_words_free(&words);
    if (!status) {
        draw_rest(p->ranking, seed, plan);
    }
    return status;
}
