/* model.c - opens a trained run on a device, and copies of it for workers. */
#include "cli/model.h"

#include <pthread.h>
#include <stdio.h>

cla_status cli_model_open(cli_model *m, const char *device, const char *folder,
                          const char *weights, const cla_task_kind *kind,
                          const char *wants)
{
    cla_weights bits = CLA_WEIGHTS_STORED;
    *m = (cli_model){ 0 };
    if (!*folder) {
        return cla_fail(CLA_E_USAGE, "--model is empty");
    }
    CLA_TRY(cla_weights_parse(weights, &bits));
    CLA_TRY(cla_runtime_new(&m->rt, device));
    CLA_TRY(cla_task_load(&m->task, m->rt, folder, bits));
    return !kind || m->task->kind == kind
               ? CLA_OK
               : cla_fail(CLA_E_USAGE, "%s holds a %s, %s", folder, m->task->kind->name,
                          wants);
}

void cli_model_close(cli_model *m)
{
    if (m->task) {
        cla_log(CLA_LOG_INFO, "%.1f MB of device memory at most",
                (double)cla_runtime_peak_bytes(m->rt) * 1e-6);
    }
    cla_task_close(&m->task);
    cla_runtime_free(&m->rt);
}

/* ---- copies on shares of the device ---------------------------------------------- */

int cli_workers_fit(const cli_model *m)
{
    enum { MOST = 8 };
    const cla_device *device = cla_runtime_device(m->rt);
    const uint64_t bytes = cla_runtime_peak_bytes(m->rt);
    if (device->kind != CLA_DEVICE_CPU) {
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
    cli_model *m;
    const cli_model *of;
    const char *folder;
    cla_weights bits;
    int share, shares;
    pthread_t thread;
    cla_status status;
    char error[1024];
} opening;

static void *open_copy(void *context)
{
    opening *o = context;
    o->status = cla_runtime_share(&o->m->rt, o->of->rt, o->share, o->shares);
    o->status = o->status ? o->status
                          : cla_task_load(&o->m->task, o->m->rt, o->folder, o->bits);
    if (o->status) {
        snprintf(o->error, sizeof o->error, "%s", cla_error());
    }
    return NULL;
}

static cla_status open_copies(opening *o, int count)
{
    int started = 0;
    while (started < count &&
           !pthread_create(&o[started].thread, NULL, open_copy, &o[started])) {
        started++;
    }
    cla_status status =
        started == count ? CLA_OK : cla_fail(CLA_E_NOMEM, "no thread for a worker");
    for (int i = 0; i < started; i++) {
        pthread_join(o[i].thread, NULL);
        if (o[i].status && !status) {
            status = cla_fail(o[i].status, "%s", o[i].error);
        }
    }
    return status;
}

cla_status cli_workers_open(cli_workers *w, int count, const cli_model *of,
                            const char *folder, const char *weights)
{
    opening *o = NULL;
    cla_weights bits = CLA_WEIGHTS_STORED;
    const cla_device *device = cla_runtime_device(of->rt);
    if (count > device->compute_units) {
        return cla_fail(CLA_E_USAGE,
                        "--workers is %d: device '%s' has %d compute units", count,
                        device->name, device->compute_units);
    }
    CLA_TRY(cla_weights_parse(weights, &bits));
    CLA_TRY(cla_alloc(&w->task, (size_t)count, sizeof *w->task));
    w->count = count;
    if (count == 1) {
        w->task[0] = of->task;
        return CLA_OK;
    }
    CLA_TRY(cla_alloc(&w->model, (size_t)count, sizeof *w->model));
    CLA_TRY(cla_alloc(&o, (size_t)count, sizeof *o));
    for (int i = 0; i < count; i++) {
        o[i] = (opening){ .m = &w->model[i],
                          .of = of,
                          .folder = folder,
                          .bits = bits,
                          .share = i,
                          .shares = count };
    }
    const cla_status status = open_copies(o, count);
    for (int i = 0; i < count; i++) {
        w->task[i] = w->model[i].task;
    }
    free(o);
    return status;
}

void cli_workers_close(cli_workers *w)
{
    for (int i = 0; w->model && i < w->count; i++) {
        cli_model_close(&w->model[i]);
    }
    free(w->model);
    free(w->task);
    *w = (cli_workers){ 0 };
}
