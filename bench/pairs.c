/* pairs.c - pairs the cases of two result files. */
#include "bench/pairs.h"

#include <string.h>

#include "base/base.h"

/* Returns whether x represents its case better than y: first the preferred provider,
 * then tile and group, then the faster. */
static bool better(const bench_result *x, const bench_result *y, const char *provider)
{
    if (!y) {
        return true;
    }
    const bool x_asked = provider && strcmp(x->provider, provider) == 0;
    const bool y_asked = provider && strcmp(y->provider, provider) == 0;
    if (x_asked != y_asked) {
        return x_asked;
    }
    if (bench_result_is_own(x) != bench_result_is_own(y)) {
        return bench_result_is_own(x);
    }
    return x->ms.median < y->ms.median;
}

static const bench_result *pick(const bench_results *t, const char *name,
                                const char *device, const char *provider)
{
    const bench_result *best = NULL;
    for (size_t i = 0; i < t->count; i++) {
        const bench_result *r = &t->rows[i];
        if (strcmp(r->name, name) == 0 && (!device || strcmp(r->device, device) == 0) &&
            better(r, best, provider)) {
            best = r;
        }
    }
    return best;
}

static bool has_device(const bench_results *t, const char *device)
{
    for (size_t i = 0; i < t->count; i++) {
        if (strcmp(t->rows[i].device, device) == 0) {
            return true;
        }
    }
    return false;
}

static bool several_devices(const bench_results *t)
{
    for (size_t i = 1; i < t->count; i++) {
        if (strcmp(t->rows[i].device, t->rows[0].device) != 0) {
            return true;
        }
    }
    return false;
}

/* Returns whether to pair by case and device: for files of `--device all' from the same
 * machine. Other files are paired by case alone: they compare devices. */
static bool pair_by_device(const bench_results *a, const bench_results *b)
{
    bool same = several_devices(a) && several_devices(b);
    for (size_t i = 0; i < a->count && same; i++) {
        same = has_device(b, a->rows[i].device);
    }
    return same;
}

/* Returns whether row i is the first of its case (and device). */
static bool first_of_case(const bench_results *t, size_t i, bool by_device)
{
    for (size_t j = 0; j < i; j++) {
        if (strcmp(t->rows[j].name, t->rows[i].name) == 0 &&
            (!by_device || strcmp(t->rows[j].device, t->rows[i].device) == 0)) {
            return false;
        }
    }
    return true;
}

static cla_status add_pair(bench_pairs *out, const bench_result *a,
                           const bench_result *b)
{
    CLA_TRY(cla_grow(&out->pair, &out->cap, out->count + 1, sizeof *out->pair));
    out->pair[out->count++] = (bench_pair){ a, b };
    return CLA_OK;
}

cla_status bench_pairs_of(bench_pairs *out, const bench_results *a,
                          const bench_results *b, const char *provider)
{
    const bool by_device = pair_by_device(a, b);
    for (size_t i = 0; i < a->count; i++) {
        const char *name = a->rows[i].name;
        const char *device = by_device ? a->rows[i].device : NULL;
        if (!first_of_case(a, i, by_device)) {
            continue;
        }
        const bench_result *of_b = pick(b, name, device, provider);
        out->only_a += !of_b;
        CLA_TRY(of_b ? add_pair(out, pick(a, name, device, provider), of_b) : CLA_OK);
    }
    for (size_t i = 0; i < b->count; i++) {
        out->only_b +=
            first_of_case(b, i, false) && !pick(a, b->rows[i].name, NULL, NULL);
    }
    return CLA_OK;
}

void bench_pairs_fini(bench_pairs *pairs)
{
    free(pairs->pair);
    *pairs = (bench_pairs){ 0 };
}
