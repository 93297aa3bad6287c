/* model.c - a trained run and the device it works on. */
#include "cli/model.h"

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
