/* export.c - exports a run: the files of its folder that using the model needs. */
#include "exchange/export.h"

#include "base/text.h"
#include "exchange/export_weights.h"
#include "exchange/foreign.h"
#include "exchange/foreign_lm.h"
#include "train/integrity.h"

static const char weights_name[] = "best.ckpt.safetensors";

static cla_status write_weights(cla_st_file *f, const char *from, const cla_task *task,
                                cla_weights weights, const char *to, int64_t *numbers)
{
    export_tensors tensors;
    const char *step = cla_st_meta(f, "step");
    json_t *meta = json_pack("{s:s}", "exported", step ? step : "");
    cla_status status =
        cla_export_tensors_of(&tensors, f, from, &task->params, weights);
    *numbers = tensors.numbers;
    if (!status) {
        status = meta ? cla_st_save(to, tensors.list, tensors.count, meta)
                      : cla_fail(CLA_E_NOMEM,
                                 "%s: out of memory, or its step is no text", to);
    }
    cla_export_tensors_free(&tensors);
    json_decref(meta);
    return status;
}

static cla_status export_weights(cla_publish *p, const char *run, const cla_task *task,
                                 cla_weights weights, int64_t *numbers)
{
    cla_text from = { 0 };
    char *to = NULL;
    cla_st_file f = { 0 };
    cla_status status = cla_folder_inside(run, weights_name);
    status = status ? status : cla_text_add(&from, "%s/%s", run, weights_name);
    status = status ? status : cla_state_open(&f, from.data, false);
    status = status ? status : cla_publish_file(p, weights_name, &to);
    status = status ? status : write_weights(&f, from.data, task, weights, to, numbers);
    cla_st_close(&f);
    cla_text_free(&from);
    free(to);
    return status;
}

/* Opens the network of a run without its weights, for the uses of its parameters. */
static cla_status open_network(cla_task **task, const char *run, cla_config *settings)
{
    cla_settings_plain(settings);
    CLA_TRY(cla_task_renew(settings, settings));
    return cla_task_open(task, NULL, settings, run, CLA_TASK_TRAINED);
}

static cla_status export_model(const char *run, const cla_export_options *o,
                               const char *out, const cla_config *settings,
                               cla_config *renewed, int64_t *numbers)
{
    const cla_task_kind *kind = NULL;
    cla_task *task = NULL;
    cla_publish p;
    CLA_TRY(cla_task_kind_find(renewed, &kind));
    cla_status status = cla_publish_begin(&p, out, o->signal);
    status = status ? status : cla_publish_vocabularies(&p, run, kind);
    status = status ? status : cla_publish_readme(&p, run);
    status = status ? status : open_network(&task, run, renewed);
    status = status ? status : export_weights(&p, run, task, o->weights, numbers);
    status = status ? status : cla_publish_settings(&p, settings, kind);
    cla_task_close(&task);
    return cla_publish_end(&p, status);
}

static cla_status export_ours(const char *run, const cla_export_options *o,
                              const char *out, int64_t *numbers)
{
    cla_config settings = { 0 }, renewed = { 0 };
    cla_status status = cla_folder_settings(run, &settings);
    status = status ? status : cla_config_read(&renewed, settings.path);
    status = status ? status : export_model(run, o, out, &settings, &renewed, numbers);
    cla_config_fini(&renewed);
    cla_config_fini(&settings);
    return status;
}

static cla_status write_foreign(const foreign *f, const cla_export_options *o,
                                cla_publish *p, int64_t *numbers)
{
    const bool half = o->weights == CLA_WEIGHTS_FLOAT16;
    if (f->t) {
        return (o->format == CLA_EXPORT_HUGGINGFACE
                    ? cla_foreign_huggingface
                    : cla_foreign_ctranslate2)(f, p, half, numbers);
    }
    return o->format == CLA_EXPORT_HUGGINGFACE
               ? cla_foreign_lm(f, p, half, numbers)
               : cla_fail(CLA_E_INPUT,
                          "%s: holds a language model: its format of another program "
                          "is huggingface",
                          f->run);
}

static cla_status export_foreign(const char *run, const cla_export_options *o,
                                 const char *out, int64_t *numbers)
{
    foreign f;
    cla_publish p;
    cla_status status = cla_foreign_open(&f, run);
    if (!status) {
        status = cla_publish_begin(&p, out, o->signal);
        status = status ? status : write_foreign(&f, o, &p, numbers);
        status = status ? status : cla_publish_readme(&p, run);
        status = cla_publish_end_foreign(&p, status);
    }
    cla_foreign_close(&f);
    return status;
}

const char *const cla_export_formats[] = { "clattn", "huggingface", "ctranslate2",
                                           NULL };

cla_status cla_export(const char *run, const cla_export_options *options,
                      const char *out, int64_t *numbers)
{
    *numbers = 0;
    if (options->format != CLA_EXPORT_CLATTN && options->weights == CLA_WEIGHTS_INT8) {
        return cla_fail(CLA_E_USAGE,
                        "--weights int8 is not for %s, which makes 8 bits of float32 "
                        "itself",
                        cla_export_formats[options->format]);
    }
    return (options->format == CLA_EXPORT_CLATTN ? export_ours : export_foreign)(
        run, options, out, numbers);
}
