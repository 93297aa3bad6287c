/* serve_models.c - the models of the service: which of them are in memory, and new ones
 * in their place. */
#include <stdio.h>
#include <string.h>

#include "cli/model.h"
#include "cli/serve.h"
#include "tasks/model.h"

/* ---- memory ---------------------------------------------------------------------- */

/* Returns the model in memory that was held the longest ago and is not held now, or
 * NULL. */
static serve_model *oldest(const serve_models *m)
{
    serve_model *found = NULL;
    for (int i = 0; i < m->count; i++) {
        serve_model *t = &m->item[i];
        if (t->model && !t->holders && (!found || t->held < found->held)) {
            found = t;
        }
    }
    return found;
}

/* Waits until there is room for a model, and takes it. The caller holds the lock. */
static void make_room(serve_models *m, const serve_model *t)
{
    const uint64_t limit = m->s->folders->memory;
    m->making_room = true;
    while (limit && m->bytes + t->bytes > limit) {
        serve_model *old = oldest(m);
        if (old) {
            cla_model_free(&old->model);
            m->bytes -= old->bytes;
        } else {
            cla_condition_wait(&m->changed, &m->lock);
        }
    }
    m->bytes += t->bytes;
    m->making_room = false;
    cla_condition_wake_all(&m->changed);
}

static cla_status open_model(const serve_models *m, const serve_model *t,
                             cla_model **model)
{
    const serve_folders *f = m->s->folders;
    CLA_TRY(cla_model_open(model, m->rt, t->folder, &f->how));
    const cla_status status = cli_model_hire(*model, f->workers);
    if (status) {
        cla_model_free(model);
    }
    return status;
}

/* Loads a model. The caller holds the lock, which others may have meanwhile. */
static cla_status load(serve_models *m, serve_model *t)
{
    cla_model *model = NULL;
    m->loading = true;
    make_room(m, t);
    cla_mutex_unlock(&m->lock);
    const cla_status status = open_model(m, t, &model);
    serve_count_add(m->s, &m->s->counts.loads, !status);
    cla_mutex_lock(&m->lock);
    t->model = model;
    m->bytes -= status ? t->bytes : 0;
    m->loading = false;
    cla_condition_wake_all(&m->changed);
    return status;
}

cla_status serve_hold(serve_models *m, serve_model *t, cla_model **model)
{
    cla_mutex_lock(&m->lock);
    /* Who makes room goes first, or models that are busy all the time would keep it. */
    while (m->making_room || (!t->model && m->loading)) {
        cla_condition_wait(&m->changed, &m->lock);
    }
    const cla_status status = t->model ? CLA_OK : load(m, t);
    if (!status) {
        t->holders++;
        t->held = ++m->clock;
    }
    *model = t->model;
    cla_mutex_unlock(&m->lock);
    return status;
}

void serve_release(serve_models *m, serve_model *t)
{
    cla_mutex_lock(&m->lock);
    t->holders--;
    cla_condition_wake_all(&m->changed);
    cla_mutex_unlock(&m->lock);
}

serve_model *serve_first(const serve_job *job)
{
    return job->pivot.with ? job->pivot.with : job->with;
}

uint64_t serve_models_bytes(serve_models *m)
{
    cla_mutex_lock(&m->lock);
    const uint64_t bytes = m->bytes;
    cla_mutex_unlock(&m->lock);
    return bytes;
}

/* ---- folders --------------------------------------------------------------------- */

/* Refuses a model that no service, or not this one, can have. */
static cla_status check_kind(const serve_models *m, const char *folder,
                             const char *kind)
{
    const serve *s = m->s;
    if (m->count == 1 && strcmp(kind, s->kind_name) != 0) {
        return cla_fail(CLA_E_USAGE, "%s holds a %s, the service has a %s", folder,
                        kind, s->kind_name);
    }
    if (m->count > 1 && strcmp(kind, "translator") != 0) {
        return cla_fail(CLA_E_USAGE,
                        "several models have to be translators: %s holds a %s", folder,
                        kind);
    }
    return CLA_OK;
}

/* Notes what a model is, without its weights. */
static cla_status describe(const serve_models *m, serve_model *t)
{
    const serve_folders *f = m->s->folders;
    cla_model *model = NULL;
    CLA_TRY(cla_model_outline(&model, t->folder, f->how.weights, &t->bytes));
    t->bytes *= f->workers > 1 ? (uint64_t)f->workers + 1 : 1;
    cla_status status = check_kind(m, t->folder, cla_model_kind(model));
    if (!status && m->s->kind == SERVE_TRANSLATE) {
        status = serve_read_languages(t, model, m->s->limits);
    }
    cla_model_free(&model);
    if (!status && f->memory && t->bytes > f->memory) {
        status = cla_fail(CLA_E_USAGE, "--memory is %llu bytes: %s has weights of %llu",
                          (unsigned long long)f->memory, t->folder,
                          (unsigned long long)t->bytes);
    }
    return status;
}

/* Loads all models, which stay; under a limit of memory the first alone, which tells
 * what is wrong with the device. */
static cla_status load_first(serve_models *m)
{
    const int count = m->s->folders->memory ? 1 : m->count;
    for (int i = 0; i < count; i++) {
        cla_model *model = NULL;
        CLA_TRY(serve_hold(m, &m->item[i], &model));
        serve_release(m, &m->item[i]);
    }
    return CLA_OK;
}

static cla_status build(serve_models *m)
{
    const serve_folders *f = m->s->folders;
    const bool made = cla_mutex_init(&m->lock) && cla_condition_init(&m->changed);
    CLA_TRY(made ? CLA_OK : cla_fail(CLA_E_NOMEM, "serve: no memory for a lock"));
    CLA_TRY(cla_alloc(&m->item, (size_t)f->count, sizeof *m->item));
    m->count = f->count;
    for (int i = 0; i < m->count; i++) {
        m->item[i].folder = f->folder[i];
        CLA_TRY(describe(m, &m->item[i]));
    }
    CLA_TRY(cla_runtime_new(&m->rt, f->device));
    CLA_TRY(load_first(m));
    if (m->s->kind == SERVE_TRANSLATE && serve_detector_new(&m->detector, m)) {
        snprintf(m->no_detector, sizeof m->no_detector, "%s", cla_error());
    }
    return CLA_OK;
}

cla_status serve_models_open(serve_models **out, serve *s)
{
    CLA_TRY(cla_alloc(out, 1, sizeof **out));
    (*out)->s = s;
    (*out)->users = 1;
    const cla_status status = build(*out);
    if (status) {
        serve_models_leave(out);
    }
    return status;
}

serve_models *serve_models_take(serve *s)
{
    cla_mutex_lock(&s->lock);
    serve_models *m = s->models;
    atomic_fetch_add(&m->users, 1);
    cla_mutex_unlock(&s->lock);
    return m;
}

void serve_models_leave(serve_models **models)
{
    serve_models *m = *models;
    *models = NULL;
    if (!m || atomic_fetch_sub(&m->users, 1) > 1) {
        return;
    }
    for (int i = 0; i < m->count; i++) {
        cla_model_free(&m->item[i].model);
        cla_text_free(&m->item[i].names);
        free(m->item[i].name);
    }
    serve_detector_free(&m->detector);
    cla_runtime_free(&m->rt);
    cla_condition_fini(&m->changed);
    cla_mutex_fini(&m->lock);
    free(m->item);
    free(m);
}

void serve_reload(serve *s)
{
    serve_models *found = NULL;
    if (serve_models_open(&found, s)) {
        serve_count_add(s, &s->counts.failed_reloads, 1);
        cla_log(CLA_LOG_ERROR, "the models stay as they were: %s", cla_error());
        return;
    }
    cla_mutex_lock(&s->lock);
    serve_models *old = s->models;
    s->models = found;
    s->counts.reloads++;
    cla_mutex_unlock(&s->lock);
    serve_models_leave(&old);
    cla_log(CLA_LOG_INFO, "read %d models again", found->count);
}
