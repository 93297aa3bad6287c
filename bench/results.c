/* results.c - reads rows of `clattn bench --json'. */
#include "bench/results.h"

#include <limits.h>
#include <string.h>

#include "base/json.h"

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

/* Returns the index of the row's device; -1 when it is unknown. */
static int index_of(const json_t *object)
{
    const json_t *index = json_object_get(object, "index");
    const json_int_t value = json_integer_value(index);
    return json_is_integer(index) && value >= 0 && value < INT_MAX ? (int)value : -1;
}

/* Returns whether all samples are positive numbers. Older versions wrote none. */
static bool samples_are_whole(const json_t *object)
{
    const json_t *list = json_object_get(object, "samples_ms");
    bool whole = !list || json_is_array(list);
    for (size_t i = 0; i < json_array_size(list) && whole; i++) {
        whole = json_number_value(json_array_get(list, i)) > 0;
    }
    return whole;
}

/* Fills r. Returns the first key that is missing or has a wrong value, or NULL. */
static const char *missing_key(bench_result *r, json_t *object)
{
    r->object = object;
    r->name = text_of(object, "case");
    r->provider = text_of(object, "provider");
    r->device = text_of(object, "device");
    r->uuid = text_of(object, "uuid");
    r->driver = text_of(object, "driver");
    r->index = index_of(object);
    if (!r->name || !r->provider || !r->device) {
        return !r->name ? "case" : !r->provider ? "provider" : "device";
    }
    if (!number_of(object, "median_ms", &r->ms.median) || r->ms.median <= 0) {
        return "median_ms";
    }
    if (!number_of(object, "p25_ms", &r->ms.p25)) {
        return "p25_ms";
    }
    if (!number_of(object, "p75_ms", &r->ms.p75)) {
        return "p75_ms";
    }
    return samples_are_whole(object) ? NULL : "samples_ms";
}

cla_status bench_results_add(bench_results *t, json_t *object, int number)
{
    const cla_status grown = cla_grow(&t->rows, &t->cap, t->count + 1, sizeof *t->rows);
    const char *key = grown ? NULL : missing_key(&t->rows[t->count], object);
    if (grown || key) {
        json_decref(object);
        return grown ? grown
                     : cla_fail(CLA_E_INPUT,
                                "%s:%d: '%s' is missing or has a wrong value", t->path,
                                number, key);
    }
    t->count++;
    return CLA_OK;
}

cla_status bench_result_samples(const bench_result *row, double **ms, int *count)
{
    const json_t *list = json_object_get(row->object, "samples_ms");
    *count = (int)json_array_size(list);
    *ms = NULL;
    CLA_TRY(*count ? cla_alloc(ms, (size_t)*count, sizeof **ms) : CLA_OK);
    for (int i = 0; i < *count; i++) {
        (*ms)[i] = json_number_value(json_array_get(list, (size_t)i));
    }
    return CLA_OK;
}

static cla_status add_line(bench_results *t, const cla_scan *scan, const char *line,
                           size_t size)
{
    const int number = (int)scan->number;
    json_t *object = NULL;
    const cla_status status = cla_json_text(&object, t->path, scan->number, line, size,
                                            JSON_REJECT_DUPLICATES);
    if (status == CLA_E_INPUT && !scan->ended && t->count) {
        cla_log(CLA_LOG_WARN, "%s:%d: the last line was cut off and is left out",
                t->path, number);
        return CLA_OK;
    }
    return status ? status : bench_results_add(t, object, number);
}

static cla_status read_lines(bench_results *t, cla_scan *scan)
{
    t->path = scan->path;
    for (;;) {
        char *line = NULL;
        size_t size = 0;
        CLA_TRY(cla_scan_filled(scan, &line, &size));
        if (!line) {
            break;
        }
        CLA_TRY(add_line(t, scan, line, size));
    }
    return t->count ? CLA_OK : cla_fail(CLA_E_INPUT, "%s: holds no results", t->path);
}

cla_status bench_results_parse(bench_results *t, const char *path, char *data)
{
    cla_scan scan = cla_scan_text(path, 0, data, strlen(data));
    return read_lines(t, &scan);
}

cla_status bench_results_read(bench_results *t, const char *path)
{
    cla_scan scan = { 0 };
    CLA_TRY(cla_scan_file(&scan, path, CLA_SOURCE_FILE));
    const cla_status status = read_lines(t, &scan);
    free(scan.data);
    return status;
}

void bench_results_fini(bench_results *t)
{
    for (size_t i = 0; i < t->count; i++) {
        json_decref(t->rows[i].object);
    }
    free(t->rows);
    *t = (bench_results){ 0 };
}

bool bench_result_is_own(const bench_result *row)
{
    return strcmp(row->provider, "tile") == 0 || strcmp(row->provider, "group") == 0;
}
