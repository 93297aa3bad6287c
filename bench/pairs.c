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

/* A file and its devices. */
typedef struct side {
    const bench_results *t;
    bench_devices devices;
} side;

/* Returns whether a row counts for a device; NULL: for any. */
static bool counts_for(const bench_result *row, const bench_identity *device)
{
    return !device || strcmp(row->device, "host") == 0 ||
           bench_same_device(device->row, row);
}

static const bench_result *pick(const bench_results *t, const char *name,
                                const bench_identity *device, const char *provider)
{
    const bench_result *best = NULL;
    for (size_t i = 0; i < t->count; i++) {
        const bench_result *r = &t->rows[i];
        if (strcmp(r->name, name) == 0 && counts_for(r, device) &&
            better(r, best, provider)) {
            best = r;
        }
    }
    return best;
}

/* Returns whether row i is the first of its case, and of its device unless it is
 * NULL. The host's rows of a case that a device has too are not cases of their own. */
static bool begins_case(const bench_results *t, size_t i, const bench_identity *device)
{
    for (size_t j = 0; j < t->count; j++) {
        const bench_result *r = &t->rows[j];
        if (strcmp(r->name, t->rows[i].name) != 0) {
            continue;
        }
        const bool same = !device || bench_same_device(device->row, r);
        const bool shared = device && device->host && !same;
        if (shared || (j < i && same)) {
            return false;
        }
    }
    return true;
}

static const bench_identity *device_of(const side *s, const bench_result *row)
{
    int i = 0;
    while (!bench_same_device(s->devices.device[i].row, row)) {
        i++; // each row's device is in the list
    }
    return &s->devices.device[i];
}

static cla_status add_pair(bench_pairs *out, const bench_result *a,
                           const bench_result *b)
{
    CLA_TRY(cla_grow(&out->pair, &out->cap, out->count + 1, sizeof *out->pair));
    out->pair[out->count++] = (bench_pair){ a, b };
    return CLA_OK;
}

/* Finds the counterpart in other of each case of one. Adds the pairs to pairs unless it
 * is NULL; *alone counts the cases without one. */
static cla_status find_peers(const side *one, const side *other, const char *provider,
                             bool by_device, bench_pairs *pairs, int *alone)
{
    for (size_t i = 0; i < one->t->count; i++) {
        const bench_result *row = &one->t->rows[i];
        const bench_identity *device = by_device ? device_of(one, row) : NULL;
        if (!begins_case(one->t, i, device)) {
            continue;
        }
        const bool has = !device || device->peer >= 0;
        const bench_identity *peer =
            device && has ? &other->devices.device[device->peer] : NULL;
        const bench_result *of_b =
            has ? pick(other->t, row->name, peer, provider) : NULL;
        *alone += !of_b;
        if (of_b && pairs) {
            CLA_TRY(add_pair(pairs, pick(one->t, row->name, device, provider), of_b));
        }
    }
    return CLA_OK;
}

static cla_status pair_sides(bench_pairs *out, side *a, side *b, const char *provider)
{
    CLA_TRY(bench_devices_of(&a->devices, a->t));
    CLA_TRY(bench_devices_of(&b->devices, b->t));
    const int common = bench_devices_match(&a->devices, &b->devices);
    const bool single = a->devices.own <= 1 && b->devices.own <= 1;
    out->by_device = common > 0 || !single;
    CLA_TRY(find_peers(a, b, provider, out->by_device, out, &out->only_a));
    return find_peers(b, a, provider, out->by_device, NULL, &out->only_b);
}

cla_status bench_pairs_of(bench_pairs *out, const bench_results *a,
                          const bench_results *b, const char *provider)
{
    side of_a = { .t = a }, of_b = { .t = b };
    const cla_status status = pair_sides(out, &of_a, &of_b, provider);
    bench_devices_fini(&of_a.devices);
    bench_devices_fini(&of_b.devices);
    return status;
}

void bench_pairs_fini(bench_pairs *pairs)
{
    free(pairs->pair);
    *pairs = (bench_pairs){ 0 };
}
