/* output.c - prints messages, JSON lines and profiles; gives exit codes. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/signals.h"
#include "runtime/runtime.h"

int cli_fail(cla_status status)
{
    fflush(stdout); // keeps the order when stdout and stderr are one file
    fprintf(stderr, "clattn: %s\n", cla_error());
    return status == CLA_E_SHAPE ? CLA_E_USAGE : (int)status;
}

int cli_fail_data(cla_status status)
{
    const int code = cli_fail(status);
    return status == CLA_E_SHAPE ? CLA_E_INPUT : code;
}

int cli_published(cla_status status, const char *format, ...)
{
    va_list values;
    if (cli_signal_code()) {
        return cli_signal_code();
    }
    if (status) {
        return cli_fail_data(status);
    }
    va_start(values, format);
    vprintf(format, values);
    va_end(values);
    putchar('\n');
    return CLI_OK;
}

cla_status cli_flush(void)
{
    return fflush(stdout) || ferror(stdout)
               ? cla_fail(CLA_E_IO, "standard output: %s", strerror(errno))
               : CLA_OK;
}

/* A failure keeps its code: its message is printed already. */
int cli_finish(int code)
{
    const cla_status status = cli_flush();
    return !status || code > CLI_CHECK_FAILED ? code : cli_fail(status);
}

cla_status cli_print_json(json_t *object)
{
    char *line = object ? cla_json_write(object, JSON_COMPACT, 9) : NULL;
    json_decref(object);
    if (!line) {
        return cla_fail(CLA_E_NOMEM, "output: no memory for a line of JSON");
    }
    puts(line);
    free(line);
    return CLA_OK;
}

json_t *cli_json_text(const char *text)
{
    const size_t size = strlen(text);
    if (cla_utf8_check(text, size) == size) {
        return json_stringn(text, size);
    }
    char *copy = strdup(text);
    if (!copy) {
        return NULL;
    }
    for (char *c = copy; *c; c++) {
        if (*c & 0x80) {
            *c = '?';
        }
    }
    json_t *string = json_string(copy);
    free(copy);
    return string;
}

/* Sums all rows; transfers between host and device are not launches. */
static cla_profile_row sum_rows(const cla_profile_row *rows, int count)
{
    cla_profile_row sum = { .kernel = "all" };
    for (int i = 0; i < count; i++) {
        const bool transfer =
            !strcmp(rows[i].kernel, "(read)") || !strcmp(rows[i].kernel, "(write)");
        sum.launches += transfer ? 0 : rows[i].launches;
        sum.total_ms += rows[i].total_ms;
        sum.bytes += rows[i].bytes;
    }
    return sum;
}

static void print_row(const cla_profile_row *row, double steps, double all_ms)
{
    fprintf(stderr, "%10.2f ms %5.1f %% %9.1f launches %10.3f MB  %s\n",
            row->total_ms / steps, all_ms > 0 ? 100 * row->total_ms / all_ms : 0,
            (double)row->launches / steps, (double)row->bytes * 1e-6 / steps,
            row->kernel);
}

static void print_waits(const cla_runtime *rt, double steps)
{
    const cla_waits w = cla_runtime_waits(rt);
    fprintf(stderr,
            "%10.2f times a step the host waits for numbers that it read at once,\n"
            "%10.2f for numbers that it read later, %.2f for a write, %.2f for room\n",
            (double)w.reads / steps, (double)w.late_reads / steps,
            (double)w.writes / steps, (double)w.ring / steps);
}

void cli_print_profile(cla_runtime *rt, int64_t steps, double seconds)
{
    int count = 0;
    const cla_profile_row *rows = cla_profile_rows(rt, &count);
    const cla_profile_row all = sum_rows(rows, count);
    const double wall_ms = seconds * 1e3;
    if (!steps || !count) {
        return;
    }
    fprintf(stderr, "a step, mean of %lld, by kernel:\n", (long long)steps);
    for (int i = 0; i < count; i++) {
        print_row(&rows[i], (double)steps, all.total_ms);
    }
    print_row(&all, (double)steps, all.total_ms);
    fprintf(stderr, "%10.2f ms a step; the device is idle for %.1f %% of it\n",
            wall_ms / (double)steps,
            wall_ms > all.total_ms ? 100 * (1 - all.total_ms / wall_ms) : 0);
    print_waits(rt, (double)steps);
}
