/* model.c - opens a trained run on a device. */
#include "cli/model.h"

#include <stdio.h>
#include <string.h>

cla_status cli_weights_read(const cli_weights *w, cla_model_options *options)
{
    CLA_TRY(cla_weights_parse(w->bits, &options->weights));
    CLA_TRY(cla_compute_parse(w->compute, &options->compute));
    return options->compute != CLA_COMPUTE_INT8 || !w->bits ||
                   options->weights == CLA_WEIGHTS_INT8
               ? CLA_OK
               : cla_fail(CLA_E_USAGE, "--compute int8 needs --weights int8");
}

cla_status cli_model_open(cli_model *m, const char *device, const char *folder,
                          const cli_weights *weights, const char *kind,
                          const char *wants)
{
    cla_model_options options = { 0 };
    *m = (cli_model){ 0 };
    if (!*folder) {
        return cla_fail(CLA_E_USAGE, "--model is empty");
    }
    CLA_TRY(weights ? cli_weights_read(weights, &options) : CLA_OK);
    CLA_TRY(cla_runtime_new(&m->rt, device));
    CLA_TRY(cla_model_open(&m->model, m->rt, folder, &options));
    const char *own = cla_model_kind(m->model);
    return !kind || strcmp(own, kind) == 0
               ? CLA_OK
               : cla_fail(CLA_E_USAGE, "%s holds a %s, %s", folder, own, wants);
}

void cli_model_close(cli_model *m)
{
    cla_model_free(&m->model);
    cla_runtime_free(&m->rt);
}

cla_status cli_model_hire(cla_model *model, int count)
{
    const cla_status status = cla_model_hire(model, count);
    return status == CLA_E_USAGE ? cla_fail(status, "--%s", cla_error()) : status;
}

void cli_tell_cut(int extra, int most, size_t cut, size_t n)
{
    char limit[64];
    snprintf(limit, sizeof limit, "%d pieces more than their sources have", extra);
    if (most) {
        snprintf(limit, sizeof limit, "%d pieces (max_length in config.json)", most);
    }
    if (cut) {
        cla_log(CLA_LOG_WARN, "%zu of %zu translations were cut at %s", cut, n, limit);
    }
}
