/* compare.c - pairs the cases of two result files and says which differ. */
#include "bench/compare.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "bench/stats.h"

typedef struct row {
    json_t *object; // owns the texts
    const char *name, *provider, *device;
    bench_stats ms;
} row;

typedef struct table {
    const char *path;
    row *rows;
    size_t count, cap;
} table;

typedef struct pair {
    const row *a, *b;
    double ratio; // how many times as fast b is
    bool differ;
} pair;

/* ---- reading ----------------------------------------------------------------- */

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static bool number_of(const json_t *object, const char *key, double *value)
{
    const json_t *number = json_object_get(object, key);
    *value = json_number_value(number);
    return json_is_number(number) && *value >= 0;
}

/* Fills r and names the first key that is missing or of the wrong kind. */
static const char *missing_key(row *r, json_t *object)
{
    r->object = object;
    r->name = text_of(object, "case");
    r->provider = text_of(object, "provider");
    r->device = text_of(object, "device");
    if (!r->name || !r->provider || !r->device) {
        return !r->name ? "case" : !r->provider ? "provider" : "device";
    }
    if (!number_of(object, "median_ms", &r->ms.median) || r->ms.median <= 0) {
        return "median_ms";
    }
    if (!number_of(object, "p25_ms", &r->ms.p25)) {
        return "p25_ms";
    }
    return number_of(object, "p75_ms", &r->ms.p75) ? NULL : "p75_ms";
}

static cla_status add_line(table *t, const char *line, int number)
{
    json_error_t error;
    CLA_TRY(cla_grow(&t->rows, &t->cap, t->count + 1, sizeof *t->rows));
    json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, &error);
    if (!object) {
        return cla_fail(CLA_E_INPUT, "%s:%d: %s (column %d)", t->path, number,
                        error.text, error.column);
    }
    const char *key = missing_key(&t->rows[t->count], object);
    if (key) {
        json_decref(object);
        return cla_fail(CLA_E_INPUT, "%s:%d: '%s' is missing or has a wrong value",
                        t->path, number, key);
    }
    t->count++;
    return CLA_OK;
}

static cla_status split_lines(table *t, char *data)
{
    int number = 0;
    for (char *line = data; line;) {
        char *end = strchr(line, '\n');
        if (end) {
            *end = '\0';
        }
        number++;
        const bool blank = line[strspn(line, " \t\r")] == '\0';
        const cla_status status = blank ? CLA_OK : add_line(t, line, number);
        if (status) {
            return status;
        }
        line = end ? end + 1 : NULL;
    }
    return t->count ? CLA_OK : cla_fail(CLA_E_INPUT, "%s: holds no results", t->path);
}

static cla_status table_read(table *t, const char *path)
{
    char *data = NULL;
    size_t size = 0;
    t->path = path;
    CLA_TRY(cla_file_read(path, &data, &size));
    const cla_status status =
        strlen(data) == size
            ? split_lines(t, data)
            : cla_fail(CLA_E_INPUT, "%s: is not text (a zero byte at %zu)", path,
                       strlen(data));
    free(data);
    return status;
}

static void table_fini(table *t)
{
    for (size_t i = 0; i < t->count; i++) {
        json_decref(t->rows[i].object);
    }
    free(t->rows);
}

/* ---- pairing ----------------------------------------------------------------- */

static bool own(const row *r)
{
    return strcmp(r->provider, "tile") == 0 || strcmp(r->provider, "group") == 0;
}

/* Whether x should stand for its case rather than y: the provider asked for, then our
 * own, then the faster. */
static bool better(const row *x, const row *y, const char *provider)
{
    if (!y) {
        return true;
    }
    const bool x_asked = provider && strcmp(x->provider, provider) == 0;
    const bool y_asked = provider && strcmp(y->provider, provider) == 0;
    if (x_asked != y_asked) {
        return x_asked;
    }
    if (own(x) != own(y)) {
        return own(x);
    }
    return x->ms.median < y->ms.median;
}

static const row *pick(const table *t, const char *name, const char *device,
                       const char *provider)
{
    const row *best = NULL;
    for (size_t i = 0; i < t->count; i++) {
        const row *r = &t->rows[i];
        if (strcmp(r->name, name) == 0 && (!device || strcmp(r->device, device) == 0) &&
            better(r, best, provider)) {
            best = r;
        }
    }
    return best;
}

static bool has_device(const table *t, const char *device)
{
    for (size_t i = 0; i < t->count; i++) {
        if (strcmp(t->rows[i].device, device) == 0) {
            return true;
        }
    }
    return false;
}

static bool several_devices(const table *t)
{
    for (size_t i = 1; i < t->count; i++) {
        if (strcmp(t->rows[i].device, t->rows[0].device) != 0) {
            return true;
        }
    }
    return false;
}

/* Files of `--device all` from the same machine are paired device by device; any others
 * by case alone, since comparing devices is what they are for. */
static bool pair_by_device(const table *a, const table *b)
{
    bool same = several_devices(a) && several_devices(b);
    for (size_t i = 0; i < a->count && same; i++) {
        same = has_device(b, a->rows[i].device);
    }
    return same;
}

/* Whether row i is the first of its case (and device). */
static bool first_of_case(const table *t, size_t i, bool by_device)
{
    for (size_t j = 0; j < i; j++) {
        if (strcmp(t->rows[j].name, t->rows[i].name) == 0 &&
            (!by_device || strcmp(t->rows[j].device, t->rows[i].device) == 0)) {
            return false;
        }
    }
    return true;
}

/* ---- printing ---------------------------------------------------------------- */

static const char *verdict(const pair *p)
{
    return !p->differ ? "same" : p->ratio > 1 ? "B is faster" : "B is slower";
}

static cla_status print_json(const pair *p)
{
    json_t *o =
        json_pack("{ss ss ss ss ss sf sf sf ss}", "case", p->a->name, "a_device",
                  p->a->device, "a_provider", p->a->provider, "b_device", p->b->device,
                  "b_provider", p->b->provider, "a_ms", p->a->ms.median, "b_ms",
                  p->b->ms.median, "ratio", p->ratio, "verdict", verdict(p));
    char *line = o ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(7)) : NULL;
    json_decref(o);
    if (!line) {
        return cla_fail(CLA_E_NOMEM, "compare: out of memory");
    }
    puts(line);
    free(line);
    return CLA_OK;
}

static void print_row(const pair *p)
{
    printf("%-50s %-9s %10.3f  %-9s %10.3f %8.2fx  %s\n", p->a->name, p->a->provider,
           p->a->ms.median, p->b->provider, p->b->ms.median, p->ratio, verdict(p));
}

/* The device of a table's first row; tables are not empty. */
static const char *device_of(const table *t)
{
    return t->rows ? t->rows[0].device : "";
}

static void print_heading(const table *a, const table *b)
{
    printf("A  %s: %s%s\n", a->path, device_of(a),
           several_devices(a) ? " and others" : "");
    printf("B  %s: %s%s\n\n", b->path, device_of(b),
           several_devices(b) ? " and others" : "");
    printf("%-50s %-9s %10s  %-9s %10s %9s  %s\n", "case", "A", "ms", "B", "ms", "A/B",
           "verdict");
}

typedef struct totals {
    int pairs, differing, only_a, only_b;
} totals;

static cla_status compare_rows(const row *a, const row *b,
                               const bench_compare_options *o, totals *sum)
{
    const pair p = { a, b, a->ms.median / b->ms.median,
                     bench_stats_differ(&a->ms, &b->ms) };
    sum->pairs++;
    sum->differing += p.differ;
    if (o->json) {
        return print_json(&p);
    }
    print_row(&p);
    return CLA_OK;
}

static cla_status compare_tables(const table *a, const table *b,
                                 const bench_compare_options *o, totals *sum)
{
    cla_status status = CLA_OK;
    const bool by_device = pair_by_device(a, b);
    for (size_t i = 0; i < a->count && !status; i++) {
        const char *name = a->rows[i].name;
        const char *device = by_device ? a->rows[i].device : NULL;
        if (!first_of_case(a, i, by_device)) {
            continue;
        }
        const row *of_a = pick(a, name, device, o->provider);
        const row *of_b = pick(b, name, device, o->provider);
        if (of_b) {
            status = compare_rows(of_a, of_b, o, sum);
        } else {
            sum->only_a++;
        }
    }
    for (size_t i = 0; i < b->count; i++) {
        sum->only_b +=
            first_of_case(b, i, false) && !pick(a, b->rows[i].name, NULL, NULL);
    }
    return status;
}

static cla_status compare(const table *a, const table *b,
                          const bench_compare_options *o, int *differing)
{
    totals sum = { 0 };
    if (!o->json) {
        print_heading(a, b);
    }
    CLA_TRY(compare_tables(a, b, o, &sum));
    if (!sum.pairs) {
        return cla_fail(CLA_E_INPUT, "compare: %s and %s have no case in common",
                        a->path, b->path);
    }
    if (!o->json) {
        printf("\n%d of %d cases differ; %d only in A, %d only in B\n", sum.differing,
               sum.pairs, sum.only_a, sum.only_b);
    }
    *differing = sum.differing;
    return CLA_OK;
}

cla_status bench_compare(const bench_compare_options *options, int *differing)
{
    table a = { 0 }, b = { 0 };
    cla_status status = table_read(&a, options->a);
    status = status ? status : table_read(&b, options->b);
    status = status ? status : compare(&a, &b, options, differing);
    table_fini(&a);
    table_fini(&b);
    return status;
}
