/* warm.c - warm start: copies the weights of another run into a new one. */
#include "train/warm.h"

#include <string.h>

#include "base/file.h"
#include "base/quantise.h"
#include "train/integrity.h"
#include "train/weights.h"

/* Checks that a vocabulary has the same bytes in both folders, so that ids agree. */
static cla_status same_file(const char *run, const char *dir, const char *name)
{
    cla_text theirs = { 0 }, ours = { 0 };
    char *data = NULL;
    size_t size = 0;
    bool same = false;
    cla_status status = cla_text_add(&theirs, "%s/%s", run, name);
    status = status ? status : cla_text_add(&ours, "%s/%s", dir, name);
    status = status ? status : cla_file_read(ours.data, &data, &size);
    status = status ? status : cla_file_compare(theirs.data, data, size, &same);
    if (!status && !same) {
        status =
            cla_fail(CLA_E_INPUT, "warm_start: %s is not that of %s: their ids differ",
                     theirs.data, dir);
    }
    free(data);
    cla_text_free(&theirs);
    cla_text_free(&ours);
    return status;
}

static bool fits(const cla_st_tensor *t, const cla_param *p)
{
    return t && t->dtype != CLA_ST_I32 && t->rank == p->rank &&
           !memcmp(t->shape, p->shape, (size_t)p->rank * sizeof *p->shape);
}

static cla_status take(cla_warm *w, const cla_params *params, const cla_st_file *f)
{
    for (size_t i = 0; i < params->count; i++) {
        const cla_param *p = &params->list[i];
        const cla_st_tensor *t = cla_st_find(f, p->name);
        if (fits(t, p)) {
            CLA_TRY(cla_weights_write(params, p, f, w->path.data, t));
            w->taken++;
        } else {
            CLA_TRY(cla_text_add(&w->fresh, " %s", p->name));
        }
    }
    return CLA_OK;
}

/* Lists the tensors that were not taken; skips moments, whose names have a slash. */
static cla_status list_left(cla_warm *w, const cla_params *params, const cla_st_file *f)
{
    for (size_t i = 0; i < f->count; i++) {
        const cla_st_tensor *t = &f->tensors[i];
        const cla_param *p = cla_params_find(params, t->name);
        if (!strchr(t->name, '/') && !(p && fits(t, p))) {
            CLA_TRY(cla_text_add(&w->left, " %s", t->name));
        }
    }
    return CLA_OK;
}

static cla_status take_all(cla_warm *w, cla_task *task)
{
    cla_st_file f;
    CLA_TRY(cla_state_open(&f, w->path.data, false));
    cla_status status = cla_st_unpack(&f, w->path.data);
    status = status ? status : take(w, &task->params, &f);
    status = status ? status : list_left(w, &task->params, &f);
    cla_st_close(&f);
    cla_params_changed(&task->params);
    return status || w->taken
               ? status
               : cla_fail(CLA_E_INPUT, "warm_start: %s has no tensor of this system",
                          w->path.data);
}

cla_status cla_warm_start(cla_warm *w, cla_task *task, const char *run, const char *dir)
{
    const char *name = NULL;
    for (int i = 0; dir && (name = cla_task_file(task->kind, dir, i)); i++) {
        CLA_TRY(same_file(run, dir, name));
    }
    CLA_TRY(cla_task_weights(&w->path, run));
    return take_all(w, task);
}

void cla_warm_fini(cla_warm *w)
{
    cla_text_free(&w->path);
    cla_text_free(&w->fresh);
    cla_text_free(&w->left);
}
