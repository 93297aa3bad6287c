/* task.c - opens systems by name and loads trained ones from their folders. */
#include "train/task.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "train/checkpoint.h"
#include "train/folder.h"
#include "train/integrity.h"

static cla_status unknown_kind(const cla_config *settings, const char *name)
{
    cla_text place = { 0 }, known = { 0 };
    cla_status status = cla_config_place(settings, "model", &place);
    for (size_t i = 0; cla_tasks[i] && !status; i++) {
        status = cla_text_add(&known, " %s", cla_tasks[i]->name);
    }
    status = status ? status
                    : cla_fail(CLA_E_INPUT, "%s: model is '%.80s', must be one of%s",
                               place.data, name, known.data);
    cla_text_free(&place);
    cla_text_free(&known);
    return status;
}

cla_status cla_task_kind_find(cla_config *settings, const cla_task_kind **out)
{
    static const char *const comment[] = { "comment", NULL };
    const char *name = NULL;
    *out = NULL;
    CLA_TRY(cla_config_know(settings, comment));
    CLA_TRY(cla_config_text(settings, "model", &name));
    for (size_t i = 0; cla_tasks[i]; i++) {
        if (strcmp(cla_tasks[i]->name, name) == 0) {
            *out = cla_tasks[i];
            return CLA_OK;
        }
    }
    return unknown_kind(settings, name);
}

cla_status cla_task_renew(cla_config *settings, cla_config *run)
{
    const cla_task_kind *kind = NULL;
    CLA_TRY(cla_task_kind_find(run, &kind));
    return kind && kind->renew ? kind->renew(settings, run) : CLA_OK;
}

const char *cla_task_file(const cla_task_kind *kind, const char *dir, int i)
{
    int n = 0;
    while (n < i && kind->files[n]) {
        n++;
    }
    if (kind->files[n]) {
        return kind->files[n];
    }
    const char *const *more = kind->sometimes;
    for (; more && *more; more++) {
        if (cla_folder_holds(dir, *more) && n++ == i) {
            break;
        }
    }
    return more ? *more : NULL;
}

static cla_status open_kind(cla_task **out, const cla_task_kind *kind, cla_runtime *rt,
                            cla_config *settings, const char *dir, cla_task_mode mode)
{
    int seed = 42;
    assert(kind);
    CLA_TRY(cla_config_int(settings, "seed", &seed, 0, INT32_MAX));
    CLA_TRY(cla_alloc(out, 1, kind->size));
    (*out)->kind = kind;
    (*out)->rt = rt;
    (*out)->seed = (uint32_t)seed;
    CLA_TRY(kind->open(*out, settings, dir, mode));
    if (mode == CLA_TASK_TRAINED) {
        return CLA_OK; // take_weights builds them once it knows their type
    }
    CLA_TRY(cla_params_build(&(*out)->params, rt, (*out)->seed));
    return kind->start && mode == CLA_TASK_NEW ? kind->start(*out) : CLA_OK;
}

cla_status cla_task_open(cla_task **out, cla_runtime *rt, cla_config *settings,
                         const char *dir, cla_task_mode mode)
{
    const cla_task_kind *kind = NULL;
    *out = NULL;
    CLA_TRY(cla_task_kind_find(settings, &kind));
    const cla_status status = open_kind(out, kind, rt, settings, dir, mode);
    if (status) {
        cla_task_close(out);
    }
    return status;
}

void cla_task_close(cla_task **task)
{
    if (!task || !*task) {
        return;
    }
    (*task)->kind->close(*task);
    cla_params_free(&(*task)->params);
    cla_config_fini(&(*task)->settings);
    free(*task);
    *task = NULL;
}

cla_status cla_task_weights(cla_text *path, const char *dir)
{
    const bool best = cla_folder_holds(dir, "best.ckpt.safetensors");
    return cla_text_add(path, "%s/%s.ckpt.safetensors", dir, best ? "best" : "last");
}

/* Sets how parameters are held and multiplied. */
static cla_status choose(cla_params *params, const char *path, const cla_st_file *f,
                         const cla_model_options *options)
{
    params->weights = cla_weights_dtype(options->weights, f);
    params->bytes = options->compute == CLA_COMPUTE_INT8;
    params->infers = params->loads = true;
    return !params->bytes || params->weights == CLA_I8
               ? CLA_OK
               : cla_fail(CLA_E_USAGE, "%s: compute is int8, weights must be int8, too",
                          path);
}

static cla_status take_weights(cla_task *task, const char *path,
                               const cla_model_options *options)
{
    cla_st_file f;
    CLA_TRY(cla_state_open(&f, path, false));
    cla_status status = choose(&task->params, path, &f, options);
    status = status ? status : cla_params_build(&task->params, task->rt, task->seed);
    status = status ? status : cla_checkpoint_take(&f, path, &task->params);
    cla_st_close(&f);
    return status;
}

static cla_status load_weights(cla_task *task, const char *dir,
                               const cla_model_options *options)
{
    cla_text path = { 0 };
    cla_status status = cla_task_weights(&path, dir);
    status = status ? status : take_weights(task, path.data, options);
    cla_text_free(&path);
    return status;
}

cla_status cla_task_outline(cla_task **out, cla_runtime *rt, const char *dir)
{
    cla_config settings = { 0 };
    *out = NULL;
    cla_status status = cla_folder_settings(dir, &settings);
    status = status ? status : cla_task_renew(&settings, &settings);
    status = status ? status : cla_task_open(out, rt, &settings, dir, CLA_TASK_TRAINED);
    if (!status) {
        (*out)->settings = settings; // strings of the task point into it
        settings = (cla_config){ 0 };
    }
    cla_config_fini(&settings);
    return status;
}

cla_status cla_task_load(cla_task **out, cla_runtime *rt, const char *dir,
                         const cla_model_options *options)
{
    const cla_model_options stored = { 0 };
    CLA_TRY(cla_task_outline(out, rt, dir));
    const cla_status status = load_weights(*out, dir, options ? options : &stored);
    if (status) {
        cla_task_close(out);
    }
    return status;
}

cla_status cla_task_tell(const cla_task *task, size_t done, size_t count)
{
    const cla_status status =
        task->watch ? task->watch(task->watcher, done, count) : CLA_OK;
    return status ? cla_fail(status, "stopped after %zu of %zu", done, count) : CLA_OK;
}
