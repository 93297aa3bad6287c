/* rows.c - writes results as JSON Lines, each as soon as it is measured. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/platform.h"
#include "bench/internal.h"
#include "runtime/runtime.h"

/* OpenBLAS runs on the host; that is the device only when the device is a CPU. */
bool bench_on_device(const bench *b, const bench_case *c)
{
    return !c->on_host || cla_runtime_device(b->rt)->kind == CLA_DEVICE_CPU;
}

/* Returns text as a JSON string, with '?' for bytes that are not ASCII: JSON takes
 * UTF-8 only, and drivers return any bytes. */
static json_t *ascii(const char *text)
{
    char copy[512];
    snprintf(copy, sizeof copy, "%s", text);
    for (char *letter = copy; *letter; letter++) {
        *letter = *letter & 0x80 ? '?' : *letter;
    }
    return json_string(copy);
}

/* Returns a command as a JSON string; its arguments may be any bytes. */
static json_t *command_text(const char *command)
{
    json_t *text = json_string(command);
    return text ? text : ascii(command);
}

/* ---- one row ----------------------------------------------------------------- */

static json_t *now(void)
{
    char text[CLA_DATE_BYTES];
    cla_time_utc(text);
    return json_string(text);
}

static int add_system(json_t *o, const bench *b, const bench_case *c)
{
    int failed = 0;
    if (c->words > 0) {
        const uint64_t peak = cla_runtime_peak_bytes(b->rt);
        failed |= json_object_set_new(o, "words_per_s",
                                      json_real(1e3 * c->words / b->last.ms.median));
        failed |= json_object_set_new(o, "peak_bytes", json_integer((json_int_t)peak));
    }
    if (c->parameters) {
        failed |= json_object_set_new(o, "parameters", json_integer(c->parameters));
    }
    return failed;
}

/* Describes the machine of the device: "Linux 6.1.0 x86_64, 8 processors". */
static json_t *host(void)
{
    char system[192], text[256];
    cla_os_describe(system, sizeof system);
    if (!*system) {
        return json_string("");
    }
    snprintf(text, sizeof text, "%s, %ld processors", system, cla_os_processors());
    return ascii(text);
}

static int add_machine(json_t *o, const bench *b, const bench_case *c)
{
    const cla_device *d = cla_runtime_device(b->rt);
    int failed = json_object_set_new(o, "host", host());
    if (bench_on_device(b, c)) {
        failed |= json_object_set_new(o, "units", json_integer(d->compute_units));
        failed |= json_object_set_new(o, "memory_bytes",
                                      json_integer((json_int_t)d->memory_bytes));
    }
    if (b->options->command) {
        failed |= json_object_set_new(o, "command", command_text(b->options->command));
    }
    return failed;
}

/* Rounds to five significant digits. */
static json_t *five_digits(double ms)
{
    char text[32];
    double value = ms;
    snprintf(text, sizeof text, "%.5g", ms);
    return json_real(cla_parse_double(text, &value) ? value : ms);
}

static int add_samples(json_t *o, const bench_samples *s)
{
    json_t *list = json_array();
    int failed = !list;
    for (int i = 0; i < s->count && !failed; i++) {
        failed = json_array_append_new(list, five_digits(s->ms[i]));
    }
    return json_object_set_new(o, "samples_ms", list) | failed;
}

/* Adds what tells the device from others: its place in the list, and the uuid where the
 * driver has one. The host of a GPU has neither. */
static int add_identity(json_t *o, const bench *b, const bench_case *c)
{
    const cla_device *d = cla_runtime_device(b->rt);
    const bool on_device = bench_on_device(b, c);
    const bool has_uuid = on_device && *d->uuid;
    int failed = json_object_set_new(o, "verified", json_boolean(b->last.verified));
    failed |= json_object_set_new(o, "index",
                                  on_device ? json_integer(d->index) : json_null());
    return failed |
           json_object_set_new(o, "uuid", has_uuid ? ascii(d->uuid) : json_null());
}

/* Adds the load, and a warning when other work runs. */
static int add_load(json_t *o, const bench *b)
{
    const bench_load l = bench_load_now(cla_runtime_device(b->rt), true);
    int failed = 0;
    if (l.load >= 0) {
        failed |= json_object_set_new(o, "load", json_real(l.load));
    }
    failed |= json_object_set_new(o, "processors", json_integer(l.processors));
    if (bench_load_is_high(&l)) {
        char text[96];
        bench_load_text(&l, text, sizeof text);
        failed |= json_object_set_new(o, "warning", json_string(text));
    }
    return failed;
}

/* Adds the precision of products, and the matrix unit that computes them. */
static int add_precision(json_t *o, const cla_runtime *rt)
{
    const cla_precision precision = cla_runtime_precision(rt);
    const bool unit = precision != CLA_PRECISION_HIGHEST &&
                      cla_runtime_schedule(rt) == CLA_SCHEDULE_TILE &&
                      cla_unit_asked(rt) != CLA_UNIT_WITHOUT;
    const char *name = cla_unit_name(unit ? cla_unit_offered(rt) : CLA_UNIT_NONE);
    return json_object_set_new(o, "precision",
                               json_string(cla_precision_word(precision))) |
           json_object_set_new(o, "unit", json_string(name));
}

/* Adds the conditions of the measurement, so that it can be repeated. */
static int add_conditions(json_t *o, const bench *b, const bench_case *c)
{
    const cla_device *d = cla_runtime_device(b->rt);
    const bool on_device = bench_on_device(b, c);
    const char *commit = b->options->commit;
    int failed = add_identity(o, b, c);
    failed |= json_object_set_new(o, "driver", ascii(on_device ? d->driver : ""));
    failed |= json_object_set_new(o, "platform",
                                  ascii(on_device ? d->platform_name : "host"));
    failed |= json_object_set_new(o, "version", json_string(cla_version()));
    failed |= add_precision(o, b->rt);
    if (commit && *commit) {
        failed |= json_object_set_new(o, "commit", ascii(commit));
    }
    failed |= json_object_set_new(o, "date", now());
    failed |= add_load(o, b);
    failed |= json_object_set_new(o, "peak_gbs", json_real(b->peaks.gbs));
    failed |= json_object_set_new(o, "peak_gflops", json_real(b->peaks.gflops));
    return failed;
}

static char *row_text(const bench *b, const bench_case *c, const bench_samples *s)
{
    const bench_figures *f = &b->last;
    const cla_device *d = cla_runtime_device(b->rt);
    json_t *o =
        json_pack("{ss ss so ss si sf sf sf sf sf sf si}", "suite", c->suite, "case",
                  c->name, "device", ascii(bench_on_device(b, c) ? d->name : "host"),
                  "provider", c->provider, "runs", s->runs, "median_ms", f->ms.median,
                  "p25_ms", f->ms.p25, "p75_ms", f->ms.p75, "gflops", f->gflops, "gbs",
                  f->gbs, "peak_share", f->share, "samples", s->count);
    const bool whole = o && !add_system(o, b, c) && !add_conditions(o, b, c) &&
                       !add_machine(o, b, c) && !add_samples(o, s);
    char *text = whole ? cla_json_write(o, JSON_COMPACT, 7) : NULL;
    json_decref(o);
    return text;
}

/* ---- output ------------------------------------------------------------------ */

static cla_status fail_write(const bench *b)
{
    return cla_fail(CLA_E_IO, "bench: cannot write '%s': %s", b->options->json,
                    strerror(errno));
}

cla_status bench_rows_open(bench *b)
{
    if (!b->options->json || b->file >= 0) {
        return CLA_OK;
    }
    b->file =
        strcmp(b->options->json, "-") == 0
            ? cla_os_duplicate(CLA_STDOUT)
            : cla_os_open(b->options->json,
                          CLA_OPEN_WRITE | CLA_OPEN_CREATE | CLA_OPEN_EMPTY, 0666);
    return b->file >= 0 ? CLA_OK : fail_write(b);
}

/* Writes a line by one call where the system takes it whole, so that a signal leaves no
 * partial row. */
static cla_status write_line(const bench *b, const char *line, size_t size)
{
    for (size_t done = 0; done < size;) {
        const int64_t wrote = cla_os_write(b->file, line + done, size - done);
        if (wrote < 0 && errno != EINTR) {
            return fail_write(b);
        }
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    return CLA_OK;
}

cla_status bench_rows_add(bench *b, const bench_case *c, const bench_samples *samples)
{
    cla_text line = { 0 };
    CLA_TRY(bench_rows_open(b));
    if (b->file < 0) {
        return CLA_OK;
    }
    char *text = row_text(b, c, samples);
    cla_status status = text ? cla_text_add(&line, "%s\n", text)
                             : cla_fail(CLA_E_NOMEM, "bench: out of memory");
    status = status ? status : write_line(b, line.data, line.size);
    free(text);
    cla_text_free(&line);
    return status;
}

cla_status bench_rows_close(bench *b)
{
    const int file = b->file;
    b->file = -1;
    return file >= 0 && !cla_os_close(file) ? fail_write(b) : CLA_OK;
}
