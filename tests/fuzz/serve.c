/* serve.c - fuzz target: bodies of requests to the service. */
#include "cli/serve.h"

#include <jansson.h>
#include <string.h>

#include "base/utf8.h"
#include "cli/model.h"
#include "fuzz.h"

static const char *const folders[] = { "translator", "tagger", "reader" };

/* Works on all texts of the job, in batches like those of a worker. */
static void work(serve *s, serve_job *job)
{
    serve_unit unit[4];
    const serve_worker worker = { .s = s, .unit = unit };
    while (job->taken < job->count) {
        size_t n = 0;
        for (; n < (size_t)s->limits->batch && job->taken < job->count; n++) {
            unit[n] = (serve_unit){ job, &job->text[job->taken++] };
        }
        const cla_status status = serve_work(&worker, n);
        FUZZ_CHECK(status == CLA_OK || status == CLA_E_NUMERIC || status == CLA_E_NOMEM,
                   "status %d: %s", (int)status, cla_error());
    }
    serve_complete(s, job);
}

/* Checks the response: an error is {"error": message}, a result has an entry for each
 * one of the request. */
static void check(const serve_job *job)
{
    static const int codes[] = { 200, 400, 413, 500 };
    bool known = false;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        known = known || job->code == codes[i];
    }
    FUZZ_CHECK(known && job->body, "status %d", job->code);
    json_t *body = json_loads(job->body, 0, NULL);
    void *only = json_object_iter(body);
    FUZZ_CHECK(only && json_object_size(body) == 1, "the response is %s", job->body);
    const bool error = strcmp(json_object_iter_key(only), "error") == 0;
    FUZZ_CHECK(error == (job->code != 200), "status %d with %s", job->code, job->body);
    const json_t *list = json_object_iter_value(only);
    FUZZ_CHECK(error || !job->list || json_array_size(list) == job->entries,
               "%zu entries, %zu results", job->entries, json_array_size(list));
    json_decref(body);
}

static void answer(serve_kind kind, cla_model *model, bool form, const fuzz_part *body)
{
    const serve_limits limits = {
        .batch = 4, .queue = 64, .body = 8192, .max_words = 32, .beam = 2, .alpha = 0.6
    };
    serve s = { .kind = kind, .limits = &limits, .origin = "" };
    serve_model only = { .model = model };
    serve_models models = { .s = &s, .users = 2, .item = &only, .count = 1 };
    FUZZ_CHECK(cla_mutex_init(&models.lock) && cla_condition_init(&models.changed) &&
                   cla_mutex_init(&s.lock),
               "no lock");
    FUZZ_CHECK(kind != SERVE_TRANSLATE || !serve_read_languages(&only, model, &limits),
               "%s", cla_error());
    serve_job job = { .models = &models };
    if (fuzz_ok(serve_read_job(&s, &job, body->data, body->size, form))) {
        if (!job.code) {
            work(&s, &job);
        }
        check(&job);
    }
    serve_job_free(&job);
    cla_text_free(&only.names);
    free(only.name);
    cla_condition_fini(&models.changed);
    cla_mutex_fini(&models.lock);
    cla_mutex_fini(&s.lock);
}

/* The first byte chooses the model and whether the body is a form; the body follows. */
void fuzz_serve(const uint8_t *data, size_t size)
{
    const int how = size ? data[0] : 0;
    const serve_kind kind = (serve_kind)(how % 3);
    const fuzz_part body = { (const char *)data + (size > 0), size - (size > 0) };
    cli_model m = { 0 };
    fuzz_share_runtime();
    FUZZ_CHECK(
        !cli_model_open(&m, NULL, fuzz_run_folder(folders[kind]), NULL, NULL, NULL),
        "%s", cla_error());
    answer(kind, m.model, how / 3 % 2, &body);
    cli_model_close(&m);
}
