/* export.c - a run's folder, reduced to what using the model needs. */
#include "exchange/export.h"

#include <string.h>

#include "base/text.h"
#include "exchange/foreign.h"
#include "train/integrity.h"

static const char weights_name[] = "best.ckpt.safetensors";

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
            CLA_TRY(half ? cla_made_halve(&f->tensors[kept], from) : CLA_OK);
            kept++;
        }
    }
    const char *step = cla_st_meta(f, "step");
    json_t *meta = json_pack("{s:s}", "exported", step ? step : "");
    const cla_status status =
        meta ? cla_st_save(to, f->tensors, kept, meta)
             : cla_fail(CLA_E_NOMEM, "%s: out of memory, or its step is no text", to);
    json_decref(meta);
    return status;
}

static cla_status export_weights(cla_publish *p, const char *run, bool half,
                                 int64_t *numbers)
{
    cla_text from = { 0 };
    char *to = NULL;
    cla_st_file f = { 0 };
    cla_status status = cla_folder_inside(run, weights_name);
    status = status ? status : cla_text_add(&from, "%s/%s", run, weights_name);
    status = status ? status : cla_state_open(&f, from.data, false);
    status = status ? status : cla_publish_file(p, weights_name, &to);
    status = status ? status : write_weights(&f, from.data, half, to, numbers);
    cla_st_close(&f);
    cla_text_free(&from);
    free(to);
    return status;
}

static cla_status export_model(const char *run, const cla_export_options *o,
                               const char *out, cla_config *settings, int64_t *numbers)
{
    const cla_task_kind *kind = NULL;
    cla_publish p;
    CLA_TRY(cla_folder_settings(run, settings));
    CLA_TRY(cla_task_kind_find(settings, &kind));
    cla_status status = cla_publish_begin(&p, out, o->signal);
    status = status ? status : cla_publish_vocabularies(&p, run, kind);
    status = status ? status : export_weights(&p, run, o->half, numbers);
    status = status ? status : cla_publish_settings(&p, settings, kind);
    return cla_publish_end(&p, status);
}

static cla_status export_ours(const char *run, const cla_export_options *o,
                              const char *out, int64_t *numbers)
{
    cla_config settings = { 0 };
    const cla_status status = export_model(run, o, out, &settings, numbers);
    cla_config_fini(&settings);
    return status;
}

static cla_status export_foreign(const char *run, const cla_export_options *o,
                                 const char *out, int64_t *numbers)
{
    foreign f;
    cla_publish p;
    cla_status status = foreign_open(&f, run);
    if (!status) {
        status = cla_publish_begin(&p, out, o->signal);
        status = status ? status
                        : (o->format == CLA_EXPORT_HUGGINGFACE
                               ? foreign_huggingface
                               : foreign_ctranslate2)(&f, &p, o->half, numbers);
        status = cla_publish_end_foreign(&p, status);
    }
    foreign_close(&f);
    return status;
}

const char *const cla_export_formats[] = { "clattn", "huggingface", "ctranslate2",
                                           NULL };

cla_status cla_export(const char *run, const cla_export_options *options,
                      const char *out, int64_t *numbers)
{
    *numbers = 0;
    return (options->format == CLA_EXPORT_CLATTN ? export_ours : export_foreign)(
        run, options, out, numbers);
}
