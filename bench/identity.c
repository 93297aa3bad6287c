/* identity.c - tells the devices of result files apart, and finds those that two files
 * share. */
#include "bench/identity.h"

#include <string.h>

/* How alike two devices are; more significant facts weigh more than all others. */
enum { SAME_DRIVER = 1, SAME_INDEX = 2, SAME_NAME = 4, SAME_UUID = 8 };

static bool is_host(const bench_result *row)
{
    return strcmp(row->device, "host") == 0;
}

/* Returns 1 when both texts are known and equal, -1 when they differ, else 0. */
static int compare_texts(const char *a, const char *b)
{
    return !a || !b || !*a || !*b ? 0 : strcmp(a, b) == 0 ? 1 : -1;
}

static int compare_indices(int a, int b)
{
    return a < 0 || b < 0 ? 0 : a == b ? 1 : -1;
}

bool bench_same_device(const bench_result *a, const bench_result *b)
{
    return strcmp(a->device, b->device) == 0 && compare_texts(a->uuid, b->uuid) >= 0 &&
           compare_indices(a->index, b->index) >= 0 &&
           compare_texts(a->driver, b->driver) >= 0;
}

/* Returns how alike devices of two files are; 0: not the same device. A driver may be
 * another version and an index another place in the list. */
static int likeness(const bench_result *a, const bench_result *b)
{
    const int uuid = compare_texts(a->uuid, b->uuid);
    const bool name = strcmp(a->device, b->device) == 0;
    if (uuid < 0 || (!name && uuid == 0)) {
        return 0;
    }
    return (uuid > 0 ? SAME_UUID : 0) + (name ? SAME_NAME : 0) +
           (compare_indices(a->index, b->index) > 0 ? SAME_INDEX : 0) +
           (compare_texts(a->driver, b->driver) > 0 ? SAME_DRIVER : 0);
}

/* ---- the devices of a file ----------------------------------------------------- */

static bool is_listed(const bench_devices *d, const bench_result *row)
{
    for (int i = 0; i < d->count; i++) {
        if (bench_same_device(d->device[i].row, row)) {
            return true;
        }
    }
    return false;
}

cla_status bench_devices_of(bench_devices *out, const bench_results *t)
{
    for (size_t i = 0; i < t->count; i++) {
        const bench_result *row = &t->rows[i];
        if (is_listed(out, row)) {
            continue;
        }
        CLA_TRY(cla_grow(&out->device, &out->cap, (size_t)out->count + 1,
                         sizeof *out->device));
        const bool host = is_host(row);
        out->device[out->count++] = (bench_identity){ row, host, -1 };
        out->own += !host;
    }
    return CLA_OK;
}

void bench_devices_fini(bench_devices *d)
{
    free(d->device);
    *d = (bench_devices){ 0 };
}

/* ---- the devices of two files -------------------------------------------------- */

/* Pairs the two free devices that are most alike. Returns false when there are none. */
static bool match_best(bench_devices *a, bench_devices *b, int *pairs)
{
    int best = 0, best_a = 0, best_b = 0;
    for (int i = 0; i < a->count; i++) {
        for (int j = 0; j < b->count; j++) {
            const bool is_free = a->device[i].peer < 0 && b->device[j].peer < 0;
            const int like = is_free ? likeness(a->device[i].row, b->device[j].row) : 0;
            if (like > best) {
                best = like;
                best_a = i;
                best_b = j;
            }
        }
    }
    if (best) {
        a->device[best_a].peer = best_b;
        b->device[best_b].peer = best_a;
        *pairs += !a->device[best_a].host;
    }
    return best > 0;
}

int bench_devices_match(bench_devices *a, bench_devices *b)
{
    int pairs = 0;
    while (match_best(a, b, &pairs)) {
    }
    return pairs;
}

/* ---- names --------------------------------------------------------------------- */

cla_status bench_device_label(const bench_result *row, cla_text *out)
{
    CLA_TRY(cla_text_add(out, "%s", row->device));
    return row->index >= 0 ? cla_text_add(out, " (device %d)", row->index) : CLA_OK;
}

cla_status bench_devices_label(const bench_results *t, cla_text *out)
{
    bench_devices d = { 0 };
    cla_status status = bench_devices_of(&d, t);
    for (int i = 0; i < d.count && !status; i++) {
        if (d.device[i].host && d.own) {
            continue;
        }
        status = cla_text_add(out, "%s", out->size ? "; " : "");
        status = status ? status : bench_device_label(d.device[i].row, out);
    }
    bench_devices_fini(&d);
    return status;
}

/* ---- repeated rows ------------------------------------------------------------- */

static bool repeats(const bench_results *t, size_t i)
{
    const bench_result *row = &t->rows[i];
    for (size_t k = 0; k < i; k++) {
        const bench_result *other = &t->rows[k];
        if (strcmp(other->name, row->name) == 0 &&
            strcmp(other->provider, row->provider) == 0 &&
            bench_same_device(other, row)) {
            return true;
        }
    }
    return false;
}

int bench_repeated(const bench_results *t, const bench_result **first)
{
    int count = 0;
    *first = NULL;
    for (size_t i = 0; i < t->count; i++) {
        if (repeats(t, i)) {
            *first = *first ? *first : &t->rows[i];
            count++;
        }
    }
    return count;
}

cla_status bench_repeated_text(const bench_results *t, cla_text *out)
{
    const bench_result *first = NULL;
    const int count = bench_repeated(t, &first);
    if (!count) {
        return CLA_OK;
    }
    CLA_TRY(cla_text_add(out,
                         "%s: %d row%s of one case and device occur%s twice; the "
                         "fastest counts (the first: '%s', %s, ",
                         t->path, count, count == 1 ? "" : "s", count == 1 ? "s" : "",
                         first->name, first->provider));
    CLA_TRY(bench_device_label(first, out));
    return cla_text_add(out, ")");
}
