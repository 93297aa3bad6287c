/* serve_metrics.c - counters of the service, in the text format of Prometheus. */
#include <stdio.h>

#include "cli/serve.h"

/* Upper bounds of the latency histogram, in seconds. */
static const char *const bounds[SERVE_BUCKETS] = { "0.005", "0.01", "0.025", "0.05",
                                                   "0.1",   "0.25", "0.5",   "1",
                                                   "2.5",   "5",    "10",    "30" };

void serve_count(serve *s, int code, int64_t began_ns)
{
    const double seconds = (double)(cla_time_ns() - began_ns) * 1e-9;
    int bucket = 0;
    for (double bound; bucket < SERVE_BUCKETS; bucket++) {
        if (cla_parse_double(bounds[bucket], &bound) && seconds <= bound) {
            break;
        }
    }
    cla_mutex_lock(&s->lock);
    s->counts.requests[code > 0 && code < SERVE_CODES ? code : 0]++;
    s->counts.bucket[bucket]++;
    s->counts.seconds += seconds;
    cla_mutex_unlock(&s->lock);
}

/* Returns an upper bound of the histogram of batches: 1, 2, 4, ... texts. */
static size_t size_bound(int i)
{
    return (size_t)1 << i;
}

void serve_count_batch(serve *s, size_t n)
{
    int i = 0;
    while (i < SERVE_SIZES && n > size_bound(i)) {
        i++;
    }
    s->counts.size[i]++;
    s->counts.texts += n;
    s->counts.batches++;
}

void serve_count_add(serve *s, uint64_t *count, uint64_t n)
{
    cla_mutex_lock(&s->lock);
    *count += n;
    cla_mutex_unlock(&s->lock);
}

static cla_status head(cla_text *out, const char *name, const char *type,
                       const char *help)
{
    return cla_text_add(out, "# HELP clattn_%s %s\n# TYPE clattn_%s %s\n", name, help,
                        name, type);
}

static cla_status one(cla_text *out, const char *name, const char *type,
                      const char *help, uint64_t value)
{
    CLA_TRY(head(out, name, type, help));
    return cla_text_add(out, "clattn_%s %llu\n", name, (unsigned long long)value);
}

/* Appends a histogram. count [n + 1] has the counts by bounds [n]; the last is +Inf. */
static cla_status histogram(cla_text *out, const char *name, const uint64_t *count,
                            const char *const *bound, int n)
{
    uint64_t below = 0;
    for (int i = 0; i <= n; i++) {
        below += count[i];
        CLA_TRY(cla_text_add(out, "clattn_%s_bucket{le=\"%s\"} %llu\n", name,
                             i < n ? bound[i] : "+Inf", (unsigned long long)below));
    }
    return cla_text_add(out, "clattn_%s_count %llu\n", name, (unsigned long long)below);
}

static cla_status histograms(cla_text *out, const serve_counts *c)
{
    char text[SERVE_SIZES][24];
    const char *bound[SERVE_SIZES];
    for (int i = 0; i < SERVE_SIZES; i++) {
        snprintf(text[i], sizeof text[i], "%zu", size_bound(i));
        bound[i] = text[i];
    }
    CLA_TRY(head(out, "batch_texts", "histogram", "Texts of a batch."));
    CLA_TRY(cla_text_add(out, "clattn_batch_texts_sum %llu\n",
                         (unsigned long long)c->texts));
    CLA_TRY(histogram(out, "batch_texts", c->size, bound, SERVE_SIZES));
    CLA_TRY(head(out, "request_seconds", "histogram",
                 "From the head of a request to its response."));
    CLA_TRY(cla_text_add(out, "clattn_request_seconds_sum %.6f\n", c->seconds));
    return histogram(out, "request_seconds", c->bucket, bounds, SERVE_BUCKETS);
}

cla_status serve_metrics(serve *s, serve_models *m, cla_text *out)
{
    cla_mutex_lock(&s->lock);
    const serve_counts c = s->counts;
    const size_t waiting = s->waiting;
    cla_mutex_unlock(&s->lock);
    const uint64_t bytes = serve_models_bytes(m);
    CLA_TRY(head(out, "requests_total", "counter", "Responses by HTTP status."));
    for (int code = 0; code < SERVE_CODES; code++) {
        if (c.requests[code]) {
            CLA_TRY(cla_text_add(out, "clattn_requests_total{status=\"%d\"} %llu\n",
                                 code, (unsigned long long)c.requests[code]));
        }
    }
    CLA_TRY(
        one(out, "texts_total", "counter", "Texts that the model worked on.", c.texts));
    CLA_TRY(one(out, "batches_total", "counter", "Batches of these texts.", c.batches));
    CLA_TRY(one(out, "cut_total", "counter",
                "Translations that were cut at the longest length.", c.cut));
    CLA_TRY(
        one(out, "model_loads_total", "counter", "Models that were loaded.", c.loads));
    CLA_TRY(one(out, "reloads_total", "counter",
                "Times that all folders were read again.", c.reloads));
    CLA_TRY(one(out, "failed_reloads_total", "counter",
                "Times that this failed, and the models stayed.", c.failed_reloads));
    CLA_TRY(
        one(out, "model_bytes", "gauge", "Weights of the models in memory.", bytes));
    CLA_TRY(one(out, "queue_texts", "gauge", "Texts that wait.", waiting));
    return histograms(out, &c);
}

void serve_log_counts(const serve *s)
{
    for (int code = 0; code < SERVE_CODES; code++) {
        if (s->counts.requests[code]) {
            cla_log(CLA_LOG_INFO, "%llu requests with status %d",
                    (unsigned long long)s->counts.requests[code], code);
        }
    }
}
