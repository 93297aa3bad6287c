/* report.c - the output of a run: log.jsonl, and lines or a bar on stderr. */
#include "train/report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/platform.h"
#include "base/terminal.h"
#include "base/text.h"

static const int64_t LINE_NS = 10000000000, BAR_NS = 200000000;

/* Cuts the log before its first line that is damaged or of a later step. Each line
 * begins with its step, which is parsed without allocating: a failed allocation would
 * look like a damaged line. */
static cla_status cut_log(const char *path, int64_t step)
{
    static const char begin[] = "{\"step\":";
    char *data = NULL, *number = NULL;
    size_t size = 0, kept = 0;
    CLA_TRY(cla_file_read(path, &data, &size));
    while (kept < size) {
        const char *line = data + kept, *end = memchr(line, '\n', size - kept);
        if (!end || strncmp(line, begin, strlen(begin)) != 0 || end[-1] != '}') {
            break;
        }
        const int64_t at = strtoll(line + strlen(begin), &number, 10);
        if (*number != ',' || at > step) {
            break;
        }
        kept = (size_t)(end - data) + 1;
    }
    const cla_status status = cla_file_write(path, data, kept);
    free(data);
    return status;
}

cla_status cla_report_open(cla_report *r, const char *dir, bool resume, int64_t step,
                           bool quiet)
{
    *r = (cla_report){ .quiet = quiet, .terminal = cla_os_is_terminal(CLA_STDERR) };
    cla_text path = { 0 };
    cla_status status = cla_text_add(&path, "%s/log.jsonl", dir);
    if (!status && resume && cla_os_may(path.data, CLA_MAY_BE)) {
        status = cut_log(path.data, step);
    }
    if (!status && !(r->log = cla_os_fopen(path.data, resume ? "ab" : "wb"))) {
        status = cla_fail(CLA_E_IO, "%s: cannot be written", path.data);
    }
    cla_text_free(&path);
    r->started_ns = r->last_line_ns = cla_time_ns();
    return status;
}

void cla_report_close(cla_report *r)
{
    if (r->log) {
        fclose(r->log);
    }
    r->log = NULL;
}

void cla_report_model(cla_report *r, const cla_task *task)
{
    r->baseline_name = task->kind->baseline;
    if (!r->quiet) {
        fprintf(stderr, "model   %s, %lld parameters\n", task->kind->name,
                (long long)task->params.size);
    }
}

void cla_report_warm(const cla_report *r, const cla_warm *w)
{
    if (r->quiet || !w->path.data) {
        return;
    }
    fprintf(stderr, "warm    %zu tensors from %s\n", w->taken, w->path.data);
    if (w->fresh.data) {
        fprintf(stderr, "        not in it:%s\n", w->fresh.data);
    }
    if (w->left.data) {
        fprintf(stderr, "        not taken:%s\n", w->left.data);
    }
}

static cla_status no_memory(void)
{
    return cla_fail(CLA_E_NOMEM, "log.jsonl: out of memory");
}

static cla_status write_text(const cla_report *r, const char *text)
{
    return fprintf(r->log, "%s\n", text) > 0 && fflush(r->log) == 0
               ? CLA_OK
               : cla_fail(CLA_E_IO, "log.jsonl: cannot be written: %s",
                          strerror(errno));
}

/* Adds the scores to line; omits those that are not finite, which JSON cannot hold. */
static cla_status add_metrics(json_t *line, const cla_metrics *m)
{
    for (int i = 0; i < m->count; i++) {
        const double value = m->row[i].value;
        if (isfinite(value) &&
            json_object_set_new(line, m->row[i].name, json_real(value))) {
            return no_memory();
        }
    }
    return CLA_OK;
}

/* Adds the time of day, the only key that differs between equal runs besides the
 * speed. */
static cla_status add_time(json_t *line)
{
    char text[CLA_DATE_BYTES];
    cla_time_utc(text);
    return json_object_set_new(line, "time", json_string(text)) ? no_memory() : CLA_OK;
}

/* Adds the scores and the time, writes the line and frees it. line NULL: out of
 * memory. */
static cla_status write_line(const cla_report *r, json_t *line, const cla_metrics *m)
{
    cla_status status = line ? add_metrics(line, m) : no_memory();
    status = status ? status : add_time(line);
    char *text = status ? NULL : cla_json_write(line, JSON_COMPACT, 9);
    if (!status) {
        status = text ? write_text(r, text) : no_memory();
    }
    free(text);
    json_decref(line);
    return status;
}

cla_status cla_report_loss(cla_report *r, int64_t step, int64_t epoch, double loss,
                           double lr, double units_per_s, const cla_metrics *more)
{
    if (!isfinite(loss)) {
        return cla_fail(CLA_E_NUMERIC, "the mean loss up to step %lld is %g",
                        (long long)step, loss);
    }
    json_t *line = json_pack("{s:I,s:I,s:f,s:f,s:f}", "step", (json_int_t)step, "epoch",
                             (json_int_t)epoch, "loss", loss, "lr", lr, "units_per_s",
                             units_per_s);
    return write_line(r, line, more);
}

static void find_baseline(cla_report *r, const cla_metrics *m)
{
    for (int i = 0; i < m->count; i++) {
        if (r->baseline_name && strcmp(m->row[i].name, r->baseline_name) == 0) {
            r->based = isfinite(m->row[i].value);
            r->baseline = m->row[i].value;
        }
    }
}

void cla_report_scores(const cla_report *r, char *text, size_t size)
{
    char best[48] = "", baseline[80] = "";
    if (r->scored) {
        snprintf(best, sizeof best, "  best %.2f", r->best);
    }
    if (r->based) {
        snprintf(baseline, sizeof baseline, "%s%s %.2f", r->scored ? ", " : "  ",
                 r->baseline_name, r->baseline);
    }
    snprintf(text, size, "%s%s", best, baseline);
}

static void print_metrics(const cla_report *r, int64_t step, int64_t epoch,
                          const cla_metrics *m, const char *verdict)
{
    char scores[128];
    if (r->quiet) {
        return;
    }
    cla_report_scores(r, scores, sizeof scores);
    fprintf(stderr, "%sepoch %lld  step %lld  %s %.2f  %s%s\n",
            r->terminal ? "\r\033[K" : "", (long long)epoch, (long long)step,
            m->row[0].name, m->row[0].value, verdict, scores);
}

cla_status cla_report_metrics(cla_report *r, int64_t step, int64_t epoch,
                              const cla_metrics *m, int64_t stale, int patience)
{
    char verdict[48] = "new best";
    if (stale && patience) {
        snprintf(verdict, sizeof verdict, "stalled %lld of %d", (long long)stale,
                 patience);
    } else if (stale) {
        snprintf(verdict, sizeof verdict, "stalled %lld", (long long)stale);
    }
    json_t *line = json_pack("{s:I,s:I,s:s}", "step", (json_int_t)step, "epoch",
                             (json_int_t)epoch, "verdict", verdict);
    find_baseline(r, m);
    print_metrics(r, step, epoch, m, verdict);
    return write_line(r, line, m);
}

double cla_report_part(double epoch, int epochs, int64_t step, int steps)
{
    const double by_epochs = epoch / epochs;
    const double by_steps = steps ? (double)step / steps : 0;
    return fmin(fmax(by_epochs, by_steps), 1);
}

double cla_report_left(double spent_s, double from, double done)
{
    return done > from ? spent_s / (done - from) * (1 - done) : 0;
}

void cla_report_step(cla_report *r, int64_t step, int64_t epoch, double done,
                     double loss, double units, double seconds, const char *unit)
{
    r->total_units += units;
    r->total_s += seconds;
    const int64_t now = cla_time_ns();
    if (r->quiet || now - r->last_line_ns < (r->terminal ? BAR_NS : LINE_NS)) {
        return;
    }
    const double rate = r->total_s > 0 ? r->total_units / r->total_s : 0;
    const double spent = (double)(now - r->started_ns) * 1e-9;
    const double left = cla_report_left(spent, r->from, done);
    r->last_line_ns = now;
    char line[256], scores[128];
    cla_report_scores(r, scores, sizeof scores);
    snprintf(line, sizeof line,
             "epoch %lld  step %lld  loss %.4f  %.0f %s/s  at most %.0f s left%s",
             (long long)epoch, (long long)step, loss, rate, unit, left, scores);
    if (r->terminal) { // a wrapped line cannot be overwritten
        const int width = cla_terminal_columns(CLA_STDERR, (int)sizeof line) - 1;
        fprintf(stderr, "\r\033[K%.*s", width, line);
    } else {
        fprintf(stderr, "%s\n", line);
    }
}
