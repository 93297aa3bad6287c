/* report_bench.c - writes results and their comparisons as JSON for the page. */
#include <math.h>

#include "base/json.h"
#include "bench/compare.h"
#include "bench/pairs.h"
#include "cli/cli.h"
#include "cli/report.h"

static json_t *interval_of(const bench_interval *i)
{
    return json_pack("[ff]", i->low, i->high);
}

/* ---- number of samples --------------------------------------------------------- */

enum { ROOM = 1500 << 10, SAMPLE = 7 }; // bytes of all rows; of a sample, roughly

/* Chooses the stride of samples that keeps the page small. Medians and intervals are of
 * all samples in any case. */
static cla_status choose_stride(report *r)
{
    size_t rows = 0, samples = 0;
    for (int i = 0; i < r->count; i++) {
        const report_file *f = &r->file[i];
        for (size_t k = 0; f->kind == REPORT_BENCH && k < f->count; k++) {
            const json_t *row = f->results.rows[k].object;
            rows += f->line[k].size;
            samples += json_array_size(json_object_get(row, "samples_ms"));
        }
    }
    r->stride = 1;
    while (r->stride < 1024 &&
           rows - samples * SAMPLE + samples * SAMPLE / (size_t)r->stride > ROOM) {
        r->stride *= 2;
    }
    return r->stride == 1
               ? CLA_OK
               : cli_report_note(r,
                                 "one of %d samples is shown, so that the page stays "
                                 "below 2 MB; medians and intervals are of all",
                                 r->stride);
}

/* Appends a row with every n-th of its samples. */
static cla_status add_thinned(cla_text *out, json_t *row, int stride)
{
    json_t *few = json_array(), *copy = cla_json_copy(row);
    const json_t *all = json_object_get(row, "samples_ms");
    bool failed = !few || !copy;
    for (size_t i = 0; i < json_array_size(all) && !failed; i += (size_t)stride) {
        failed = json_array_append(few, json_array_get(all, i)) != 0;
    }
    if (failed || json_object_set(copy, "samples_ms", few)) {
        json_decref(copy);
        copy = NULL;
    }
    json_decref(few);
    return cli_report_json(out, copy);
}

static cla_status add_row(cla_text *out, const report_file *f, size_t i, int stride)
{
    return stride > 1 ? add_thinned(out, f->results.rows[i].object, stride)
                      : cla_text_append(out, f->line[i].text, f->line[i].size);
}

/* ---- rows ---------------------------------------------------------------------- */

/* Appends the 95 % confidence interval of a row's median; null without samples. */
static cla_status add_interval(json_t *list, const bench_result *row)
{
    double *ms = NULL;
    int count = 0;
    CLA_TRY(bench_result_samples(row, &ms, &count));
    const bench_interval i =
        count ? bench_interval_of(ms, count) : (bench_interval){ 0 };
    free(ms);
    return json_array_append_new(list, count ? interval_of(&i) : json_null())
               ? cla_fail(CLA_E_NOMEM, "report: out of memory")
               : CLA_OK;
}

static cla_status add_rows(cla_text *out, const report_file *f, int stride)
{
    json_t *list = json_array();
    cla_status status = list ? CLA_OK : cla_fail(CLA_E_NOMEM, "report: out of memory");
    for (size_t i = 0; i < f->count && !status; i++) {
        status = cla_text_add(out, "%s", i ? ",\n" : "\n");
        status = status ? status : add_row(out, f, i, stride);
        status = status ? status : add_interval(list, &f->results.rows[i]);
    }
    status = status ? status : cla_text_add(out, "],\"interval\":");
    if (status) {
        json_decref(list);
        return status;
    }
    return cli_report_json(out, list);
}

static cla_status add_file(cla_text *out, const report_file *f, int stride)
{
    CLA_TRY(cla_text_add(out, "{\"file\":"));
    CLA_TRY(cli_report_json(out, cli_json_text(f->path)));
    CLA_TRY(cla_text_add(out, ",\"rows\":["));
    CLA_TRY(add_rows(out, f, stride));
    return cla_text_add(out, "}");
}

/* ---- comparisons --------------------------------------------------------------- */

/* Computes the confidence interval of a ratio of medians. *known is false when one of
 * the rows has no samples. */
static cla_status ratio_of(const bench_pair *p, bench_interval *ratio, bool *known)
{
    double *a = NULL, *b = NULL;
    int a_count = 0, b_count = 0;
    cla_status status = bench_result_samples(p->a, &a, &a_count);
    status = status ? status : bench_result_samples(p->b, &b, &b_count);
    *known = !status && a_count && b_count;
    if (*known) {
        *ratio = bench_ratio_of(a, a_count, b, b_count);
    }
    free(a);
    free(b);
    return status;
}

static cla_status add_pair(json_t *list, const bench_pair *p, const bench_result *a,
                           const bench_result *b)
{
    bench_interval ratio = { 0 };
    bool known = false;
    CLA_TRY(ratio_of(p, &ratio, &known));
    const bench_verdict verdict =
        bench_stats_verdict(&p->a->ms, &p->b->ms, BENCH_MARGIN);
    json_t *one = json_pack("{si si sf ss so}", "a", (int)(p->a - a), "b",
                            (int)(p->b - b), "ratio", p->a->ms.median / p->b->ms.median,
                            "verdict", bench_verdict_name(verdict), "interval",
                            known ? interval_of(&ratio) : json_null());
    return one && !json_array_append_new(list, one)
               ? CLA_OK
               : cla_fail(CLA_E_NOMEM, "report: out of memory");
}

static cla_status add_pairs(cla_text *out, const bench_pairs *pairs,
                            const report_file *a, const report_file *b)
{
    json_t *list = json_array();
    double log_sum = 0;
    cla_status status = list ? CLA_OK : cla_fail(CLA_E_NOMEM, "report: out of memory");
    for (size_t i = 0; i < pairs->count && !status; i++) {
        const bench_pair *p = &pairs->pair[i];
        log_sum += log(p->a->ms.median / p->b->ms.median);
        status = add_pair(list, p, a->results.rows, b->results.rows);
    }
    json_t *whole = NULL;
    if (!status) {
        whole = json_pack("{so sf si si sb}", "cases", list, "mean",
                          pairs->count ? exp(log_sum / (double)pairs->count) : 1,
                          "only_a", pairs->only_a, "only_b", pairs->only_b, "by_device",
                          (int)pairs->by_device);
    } else {
        json_decref(list);
    }
    return status ? status : cli_report_json(out, whole);
}

static cla_status add_comparison(cla_text *out, report *r, int a, int b, int place)
{
    bench_pairs pairs = { 0 };
    const report_file *first = &r->file[a], *second = &r->file[b];
    cla_status status =
        bench_pairs_of(&pairs, &first->results, &second->results, r->provider);
    status = status ? status
                    : cla_text_add(out, "%s{\"b\":%d,\"with\":", place > 1 ? "," : "",
                                   place);
    status = status ? status : add_pairs(out, &pairs, first, second);
    bench_pairs_fini(&pairs);
    return status ? status : cla_text_add(out, "}");
}

cla_status cli_report_bench(report *r, cla_text *out)
{
    int a = -1, place = 0;
    CLA_TRY(choose_stride(r));
    CLA_TRY(cla_text_add(out, "\"bench\":["));
    for (int i = 0; i < r->count; i++) {
        if (r->file[i].kind == REPORT_BENCH) {
            CLA_TRY(cla_text_add(out, "%s", a >= 0 ? ",\n" : "\n"));
            CLA_TRY(add_file(out, &r->file[i], r->stride));
            a = a < 0 ? i : a;
        }
    }
    CLA_TRY(cla_text_add(out, "],\n\"compare\":["));
    for (int i = a + 1; a >= 0 && i < r->count; i++) {
        if (r->file[i].kind == REPORT_BENCH) {
            CLA_TRY(add_comparison(out, r, a, i, ++place));
        }
    }
    return cla_text_add(out, "]");
}
