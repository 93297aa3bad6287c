/* average.c - averages the states that runs kept into a new model. */
#include "train/average.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "train/integrity.h"
#include "train/kept.h"
#include "train/publish.h"

typedef struct average {
    const char *const *runs;
    int n, last;
    cla_config settings; // of the first run
    const cla_task_kind *kind;
    cla_st_file first; // gives names and shapes
    double **sum;      // [first.count]
    cla_text steps;    // of the states, "100 200"
    cla_averaged done;
} average;

/* ---- runs of one config ------------------------------------------------------ */

static cla_status path_of(cla_text *path, const char *folder, const char *name)
{
    return cla_text_add(path, "%s/%s", folder, name);
}

static cla_status same_settings(const average *a, const char *run)
{
    cla_config settings = { 0 };
    cla_status status = cla_folder_settings(run, &settings);
    status = status ? status : cla_task_renew(&settings, &settings);
    const char *key = status ? NULL : cla_settings_difference(&a->settings, &settings);
    if (key) {
        status =
            cla_fail(CLA_E_INPUT, "%s: '%s' is not that of %s", run, key, a->runs[0]);
    }
    cla_config_fini(&settings);
    return status;
}

/* Checks that a vocabulary of run is the same as that of the first run. */
static cla_status same_file(const average *a, const char *name, const char *run)
{
    cla_text first = { 0 }, own = { 0 };
    char *data = NULL;
    size_t size = 0;
    bool same = true;
    cla_status status = path_of(&first, a->runs[0], name);
    status = status ? status : path_of(&own, run, name);
    status = status ? status : cla_file_read(first.data, &data, &size);
    status = status ? status : cla_file_compare(own.data, data, size, &same);
    if (!status && !same) {
        status = cla_fail(CLA_E_INPUT, "%s: is not that of %s", own.data, a->runs[0]);
    }
    free(data);
    cla_text_free(&first);
    cla_text_free(&own);
    return status;
}

static cla_status same_files(const average *a, const char *run)
{
    const char *name = NULL;
    for (int i = 0; (name = cla_task_file(a->kind, a->runs[0], i)); i++) {
        CLA_TRY(same_file(a, name, run));
    }
    return CLA_OK;
}

/* ---- the mean ---------------------------------------------------------------- */

static cla_status begin(average *a, const char *path)
{
    CLA_TRY(cla_state_open(&a->first, path, false));
    CLA_TRY(cla_alloc(&a->sum, a->first.count + 1, sizeof *a->sum));
    for (size_t i = 0; i < a->first.count; i++) {
        const cla_st_tensor *t = &a->first.tensors[i];
        if (t->dtype != CLA_ST_F32) {
            return cla_fail(CLA_E_INPUT, "%s: tensor '%s' holds no numbers of 32 bits",
                            path, t->name);
        }
        CLA_TRY(cla_alloc(&a->sum[i], (size_t)t->size + 1, sizeof *a->sum[i]));
        a->done.numbers += t->size;
    }
    return CLA_OK;
}

static bool same_shape(const cla_st_tensor *a, const cla_st_tensor *b)
{
    bool same = a->dtype == b->dtype && a->rank == b->rank;
    for (int i = 0; i < a->rank && same; i++) {
        same = a->shape[i] == b->shape[i];
    }
    return same;
}

static cla_status add_tensors(average *a, const cla_st_file *f, const char *path)
{
    for (size_t i = 0; i < a->first.count; i++) {
        const cla_st_tensor *want = &a->first.tensors[i];
        const cla_st_tensor *t = cla_st_find(f, want->name);
        if (!t || !same_shape(want, t)) {
            return cla_fail(CLA_E_INPUT, "%s: tensor '%s' %s", path, want->name,
                            t ? "has another shape than in the first state"
                              : "is missing");
        }
        const float *x = t->data;
        for (int64_t k = 0; k < t->size; k++) {
            a->sum[i][k] += (double)x[k];
        }
    }
    return f->count == a->first.count
               ? CLA_OK
               : cla_fail(CLA_E_INPUT, "%s: %zu tensors, the first state has %zu", path,
                          f->count, a->first.count);
}

static cla_status add_state(average *a, const char *path)
{
    cla_st_file f = { 0 };
    if (!a->sum) {
        CLA_TRY(begin(a, path));
    }
    CLA_TRY(cla_state_open(&f, path, false));
    cla_status status = add_tensors(a, &f, path);
    const char *step = cla_st_meta(&f, "step");
    status = status ? status
                    : cla_text_add(&a->steps, "%s%s", a->done.states ? " " : "",
                                   step ? step : "?");
    a->done.states += !status;
    cla_st_close(&f);
    return status;
}

static cla_status add_run(average *a, int i)
{
    const char *run = a->runs[i];
    char **paths = NULL;
    size_t count = 0;
    cla_status status = CLA_OK;
    CLA_TRY(i ? same_settings(a, run) : CLA_OK);
    CLA_TRY(i ? same_files(a, run) : CLA_OK);
    CLA_TRY(cla_kept_list(run, &paths, &count));
    const size_t want = a->last ? (size_t)a->last : count;
    if (!count || count < want) {
        status = cla_fail(CLA_E_USAGE,
                          "%s keeps %zu states, %zu are wanted: train with --set "
                          "keep=%zu",
                          run, count, want ? want : 1, want ? want : 5);
    }
    for (size_t k = count - (status ? count : want); k < count && !status; k++) {
        status = add_state(a, paths[k]);
    }
    cla_folder_list_free(&paths, count);
    return status;
}

/* ---- the model --------------------------------------------------------------- */

/* Writes the means of the sums, computed in the memory of the first state's numbers. */
static cla_status write_weights(average *a, const char *path)
{
    json_t *meta = json_pack("{s:s}", "averaged", a->steps.data);
    for (size_t i = 0; i < a->first.count; i++) {
        float *x = (float *)a->first.tensors[i].data;
        for (int64_t k = 0; k < a->first.tensors[i].size; k++) {
            x[k] = (float)(a->sum[i][k] / a->done.states);
        }
    }
    const cla_status status =
        meta ? cla_st_save(path, a->first.tensors, a->first.count, meta)
             : cla_fail(CLA_E_NOMEM, "%s: out of memory", path);
    json_decref(meta);
    return status;
}

static cla_status write_model(average *a, cla_publish *p)
{
    char *weights = NULL;
    CLA_TRY(cla_publish_vocabularies(p, a->runs[0], a->kind));
    CLA_TRY(cla_publish_file(p, "best.ckpt.safetensors", &weights));
    const cla_status status = write_weights(a, weights);
    free(weights);
    return status ? status : cla_publish_settings(p, &a->settings, a->kind);
}

static cla_status go(average *a, const char *out, volatile const int *signal)
{
    cla_publish p;
    CLA_TRY(cla_folder_settings(a->runs[0], &a->settings));
    CLA_TRY(cla_task_renew(&a->settings, &a->settings));
    CLA_TRY(cla_task_kind_find(&a->settings, &a->kind));
    for (int i = 0; i < a->n; i++) {
        CLA_TRY(add_run(a, i));
    }
    cla_status status = cla_publish_begin(&p, out, signal);
    status = status ? status : write_model(a, &p);
    return cla_publish_end(&p, status);
}

cla_status cla_average(const char *const *runs, int n, int last, const char *out,
                       volatile const int *signal, cla_averaged *averaged)
{
    average a = { .runs = runs, .n = n, .last = last };
    const cla_status status = go(&a, out, signal);
    *averaged = a.done;
    for (size_t i = 0; a.sum && i < a.first.count; i++) {
        free(a.sum[i]);
    }
    free(a.sum);
    cla_st_close(&a.first);
    cla_config_fini(&a.settings);
    cla_text_free(&a.steps);
    return status;
}
