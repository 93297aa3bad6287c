/* model.c - loads trained systems, and copies of them for workers. */
#include "tasks/model.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/platform.h"
#include "base/platform_thread.h"

/* ---- one model ---------------------------------------------------------------- */

cla_status cla_model_open(cla_model **model, cla_runtime *rt, const char *folder,
                          const cla_model_options *options)
{
    CLA_NEED(model, rt, folder);
    const cla_model_options o = options ? *options : (cla_model_options){ 0 };
    CLA_KNOWN("options.weights", o.weights, CLA_WEIGHTS_INT8);
    CLA_KNOWN("options.compute", o.compute, CLA_COMPUTE_INT8);
    CLA_TRY(cla_reserved("model_open", o.reserved));
    CLA_HOLD(rt);
    CLA_TRY(cla_alloc(model, 1, sizeof **model));
    **model = (cla_model){ .rt = rt, .options = o, .workers = 1 };
    cla_status status = cla_strdup(&(*model)->folder, folder);
    status = status ? status : cla_task_load(&(*model)->task, rt, folder, &o);
    if (status) {
        cla_model_free(model);
    }
    return status;
}

cla_status cla_model_load(cla_model **model, cla_runtime *rt, const char *folder)
{
    CLA_NEED(model, rt, folder);
    return cla_model_open(model, rt, folder, NULL);
}

/* Returns the bytes that the weights in a folder take on a device as `weights`. Those
 * that stay as they are take what their file does. */
static cla_status weigh(const cla_task *task, const char *folder, cla_weights weights,
                        uint64_t *bytes)
{
    static const int width[] = { 0, 4, 2, 1 }; // of cla_weights
    cla_text path = { 0 };
    cla_os_info info;
    CLA_TRY(cla_task_weights(&path, folder));
    const bool there = cla_os_info_of(path.data, &info);
    cla_status status =
        there ? CLA_OK : cla_fail(CLA_E_IO, "%s: %s", path.data, strerror(errno));
    *bytes = there ? (uint64_t)info.size : 0;
    uint64_t numbers = 0;
    for (size_t i = 0; i < task->params.count; i++) {
        numbers += (uint64_t)cla_param_size(&task->params.list[i]);
    }
    *bytes = weights ? numbers * (uint64_t)width[weights] : *bytes;
    cla_text_free(&path);
    return status;
}

cla_status cla_model_outline(cla_model **model, const char *folder, cla_weights weights,
                             uint64_t *bytes)
{
    CLA_TRY(cla_alloc(model, 1, sizeof **model));
    (*model)->workers = 1;
    cla_status status = cla_task_outline(&(*model)->task, NULL, folder);
    status = status ? status : weigh((*model)->task, folder, weights, bytes);
    if (status) {
        cla_model_free(model);
    }
    return status;
}

/* Frees what a model has but the model. */
static void close_parts(cla_model *m)
{
    cla_model_forget(m);
    cla_text_free(&m->target_text);
    cla_text_free(&m->written);
    free(m->targets);
    cla_task_close(&m->task);
    free(m->folder);
}

/* Frees a model that has no workers. */
static void close_one(cla_model **model)
{
    cla_model *m = *model;
    CLA_HOLD_WAIT(m->rt);
    if (m->task) {
        cla_log(CLA_LOG_INFO, "%.1f MB of device memory at most",
                (double)cla_runtime_peak_bytes(m->rt) * 1e-6);
    }
    close_parts(m);
    free(m);
    *model = NULL;
}

/* Frees the workers. */
static void dismiss(cla_model *m)
{
    for (int i = 0; m->worker && i < m->workers; i++) {
        cla_runtime *rt = m->worker[i] ? m->worker[i]->rt : NULL;
        if (rt) {
            close_one(&m->worker[i]);
        }
        cla_runtime_free(&rt);
    }
    free(m->worker);
    free(m->tasks);
    m->worker = NULL;
    m->tasks = NULL;
    m->workers = 1;
}

void cla_model_free(cla_model **model)
{
    if (model && *model) {
        dismiss(*model);
        if ((*model)->rt) {
            close_one(model);
            return;
        }
        close_parts(*model); // an outline
        free(*model);
        *model = NULL;
    }
}

const char *cla_model_kind(const cla_model *model)
{
    return model ? model->task->kind->name : "";
}

cla_status cla_model_watch(cla_model *model, cla_watch watch, void *to)
{
    CLA_NEED(model);
    CLA_HOLD(model->rt);
    model->task->watch = watch;
    model->task->watcher = to;
    return CLA_OK;
}

cla_task *cla_model_task(const cla_model *model)
{
    return model->task;
}

cla_status cla_model_must_be(const cla_model *model, const char *who,
                             const cla_task_kind *kind)
{
    return model->task->kind == kind ? CLA_OK
                                     : cla_fail(CLA_E_USAGE, "%s: the model is a %s",
                                                who, cla_model_kind(model));
}

cla_status cla_model_need_texts(const char *who, const char *name,
                                const char *const *text, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!text || !text[i]) {
            return text ? cla_fail(CLA_E_USAGE, "%s: %s[%zu] is NULL", who, name, i)
                        : cla_fail(CLA_E_USAGE, "%s: %s is NULL", who, name);
        }
    }
    return CLA_OK;
}

cla_status cla_model_option(const char *who, const char *name, int64_t value,
                            int64_t low, int64_t high)
{
    return value >= low && value <= high
               ? CLA_OK
               : cla_fail(CLA_E_USAGE, "%s: %s is %lld, must be %lld to %lld", who,
                          name, (long long)value, (long long)low, (long long)high);
}

/* ---- copies on shares of the device ------------------------------------------- */

/* Returns the number of workers that suits a model's device. A large model has none:
 * one product of it keeps all cores busy, and each copy would read weights of its own.
 */
static int fitting(const cla_model *m)
{
    enum { MOST = 8, LARGE = 1 << 27 }; // LARGE: numbers in all parameters
    const cla_device *device = cla_runtime_device(m->rt);
    const uint64_t bytes = cla_runtime_peak_bytes(m->rt);
    if (device->kind != CLA_DEVICE_CPU || m->task->params.size > LARGE) {
        return 1;
    }
    int count = device->compute_units < MOST ? device->compute_units : MOST;
    while (count > 1 && (uint64_t)count * bytes > device->memory_bytes / 2) {
        count--;
    }
    return count;
}

/* A copy that is being opened. */
typedef struct opening {
    cla_model *of, **copy;
    int share, shares;
    cla_thread thread;
    cla_status status;
    char error[1024];
} opening;

static void *open_copy(void *context)
{
    opening *o = context;
    cla_runtime *rt = NULL;
    o->status = cla_runtime_share(&rt, o->of->rt, o->share, o->shares);
    o->status = o->status ? o->status
                          : cla_model_open(o->copy, rt, o->of->folder, &o->of->options);
    if (o->status) {
        snprintf(o->error, sizeof o->error, "%s", cla_error());
        cla_runtime_free(&rt);
    }
    return NULL;
}

/* Opens all copies at the same time. */
static cla_status open_copies(opening *o, int count)
{
    int started = 0;
    while (started < count &&
           !cla_thread_start(&o[started].thread, open_copy, &o[started])) {
        started++;
    }
    cla_status status =
        started == count ? CLA_OK : cla_fail(CLA_E_NOMEM, "no thread for a worker");
    for (int i = 0; i < started; i++) {
        cla_thread_join(o[i].thread);
        if (o[i].status && !status) {
            status = cla_fail(o[i].status, "%s", o[i].error);
        }
    }
    return status;
}

static cla_status hire(cla_model *m, int count)
{
    opening *o = NULL;
    CLA_TRY(cla_alloc(&m->worker, (size_t)count, sizeof(cla_model *)));
    m->workers = count;
    CLA_TRY(cla_alloc(&m->tasks, (size_t)count, sizeof(cla_task *)));
    CLA_TRY(cla_alloc(&o, (size_t)count, sizeof *o));
    for (int i = 0; i < count; i++) {
        o[i] = (opening){ .of = m, .copy = &m->worker[i], .share = i, .shares = count };
    }
    const cla_status status = open_copies(o, count);
    for (int i = 0; i < count && !status; i++) {
        m->worker[i]->hired = true;
        m->tasks[i] = m->worker[i]->task;
    }
    free(o);
    return status;
}

cla_status cla_model_hire(cla_model *model, int count)
{
    CLA_NEED(model);
    CLA_HOLD(model->rt);
    const cla_device *device = cla_runtime_device(model->rt);
    CLA_TRY(cla_model_option("hire", "count", count, 0, INT_MAX));
    if (model->hired) {
        return cla_fail(CLA_E_USAGE, "hire: the model is a worker");
    }
    if (count > device->compute_units) {
        return cla_fail(CLA_E_USAGE, "workers is %d: device '%s' has %d compute units",
                        count, device->name, device->compute_units);
    }
    dismiss(model);
    const int wanted = count ? count : fitting(model);
    cla_status status = wanted > 1 ? hire(model, wanted) : CLA_OK;
    if (status) {
        dismiss(model);
    }
    if (status && !count) { // not requested by the caller
        cla_log(CLA_LOG_INFO, "the whole device works on each batch: %s", cla_error());
        status = CLA_OK;
    }
    return status;
}

int cla_model_workers(const cla_model *model)
{
    return model ? model->workers : 0;
}

cla_model *cla_model_worker(cla_model *model, int i)
{
    if (!model || i < 0 || i >= model->workers) {
        return NULL;
    }
    return model->worker ? model->worker[i] : model;
}
