/* export.c - a run's folder, reduced to what using the model needs. */
#include "train/export.h"

#include <math.h>
#include <string.h>

#include "base/half.h"
#include "base/safetensors.h"
#include "base/text.h"
#include "train/folder.h"
#include "train/task.h"

static const char weights_name[] = "best.ckpt.safetensors";

/* A tensor's numbers as halves, in the place of the floats. */
static cla_status narrow(cla_st_tensor *t, const char *path)
{
    uint16_t *half = (uint16_t *)t->data; // fills up from the front, behind the reads
    const float *x = t->data;
    for (int64_t i = 0; i < t->size && t->dtype == CLA_ST_F32; i++) {
        float number = 0;
        memcpy(&number, x + i, sizeof number);
        if (isfinite(number) && fabsf(number) >= 65520) {
            return cla_fail(CLA_E_INPUT, "%s: tensor '%s': %g is too large for a half",
                            path, t->name, (double)number);
        }
        half[i] = cla_half_of(number);
    }
    t->dtype = CLA_ST_F16;
    return CLA_OK;
}

/* Names of an optimiser's numbers have a stroke; those of parameters have none. */
static cla_status write_weights(cla_st_file *f, const char *from, bool half,
                                const char *to, int64_t *numbers)
{
    size_t kept = 0;
    *numbers = 0;
    for (size_t i = 0; i < f->count; i++) {
        if (!strchr(f->tensors[i].name, '/')) {
            f->tensors[kept] = f->tensors[i];
            *numbers += f->tensors[kept].size;
            CLA_TRY(half ? narrow(&f->tensors[kept], from) : CLA_OK);
            kept++;
        }
    }
    const char *step = cla_st_meta(f, "step");
    json_t *meta = json_pack("{s:s}", "exported", step ? step : "");
    const cla_status status = cla_st_save(to, f->tensors, kept, meta);
    json_decref(meta);
    return status;
}

static cla_status export_weights(const char *run, bool half, const char *out,
                                 int64_t *numbers)
{
    cla_text from = { 0 }, to = { 0 };
    cla_st_file f = { 0 };
    cla_status status = cla_text_add(&from, "%s/%s", run, weights_name);
    status = status ? status : cla_text_add(&to, "%s/%s", out, weights_name);
    status = status ? status : cla_st_open(&f, from.data);
    status = status ? status : write_weights(&f, from.data, half, to.data, numbers);
    cla_st_close(&f);
    cla_text_free(&from);
    cla_text_free(&to);
    return status;
}

static cla_status find_kind(const char *run, const cla_task_kind **kind)
{
    cla_config settings = { 0 };
    cla_status status = cla_folder_settings(run, &settings);
    status = status ? status : cla_task_kind_find(&settings, kind);
    cla_config_fini(&settings);
    return status;
}

cla_status cla_export(const char *run, bool half, const char *out, int64_t *numbers)
{
    const cla_task_kind *kind = NULL;
    cla_folder folder = { .lock = -1 };
    CLA_TRY(find_kind(run, &kind));
    CLA_TRY(cla_folder_claim(&folder, out, false));
    cla_status status = CLA_OK;
    const char *name = NULL;
    for (int i = 0; !status && (name = cla_task_file(kind, run, i)); i++) {
        status = cla_folder_copy(run, out, name);
    }
    status = status ? status : export_weights(run, half, out, numbers);
    // last: a folder without settings is no model yet
    status = status ? status : cla_folder_copy(run, out, "config.json");
    cla_folder_release(&folder);
    return status;
}
