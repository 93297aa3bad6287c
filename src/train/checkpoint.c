/* checkpoint.c - a run's state in one safetensors file. */
#include "train/checkpoint.h"

#include <string.h>

#include "base/safetensors.h"

/* Names and host copies of everything that is saved. */
typedef struct bundle {
    cla_st_tensor *tensors;
    char (*names)[96];
    size_t count;
} bundle;

static void free_bundle(bundle *b)
{
    for (size_t i = 0; i < b->count; i++) {
        free((void *)b->tensors[i].data);
    }
    free(b->tensors);
    free(b->names);
}

/* One parameter's part of a block, under prefix/name. */
static cla_status add(bundle *b, const cla_params *params, const cla_memory *block,
                      const cla_param *p, const char *prefix)
{
    const int64_t size = cla_size(p->tensor);
    float *host = NULL;
    CLA_TRY(cla_alloc(&host, (size_t)size + 1, sizeof *host));
    cla_st_tensor *t = &b->tensors[b->count];
    snprintf(b->names[b->count], sizeof *b->names, "%s%s%s", prefix, *prefix ? "/" : "",
             p->name);
    *t = (cla_st_tensor){ b->names[b->count], CLA_ST_F32, p->rank, { 0 }, size, host };
    memcpy(t->shape, p->shape, (size_t)p->rank * sizeof *p->shape);
    b->count++;
    return cla_memory_read(params->rt, block, p->offset, host, (size_t)size * 4);
}

static cla_status gather(bundle *b, const cla_params *params, const cla_optim *optim)
{
    const size_t room = params->count * (1 + OPTIM_MOMENTS) + 1;
    CLA_TRY(cla_alloc(&b->tensors, room, sizeof *b->tensors));
    CLA_TRY(cla_alloc(&b->names, room, sizeof *b->names));
    for (size_t i = 0; i < params->count; i++) {
        CLA_TRY(add(b, params, &params->values, &params->list[i], ""));
    }
    for (int m = 0; optim && cla_optim_moment_name(optim, m); m++) {
        for (size_t i = 0; i < params->count; i++) {
            CLA_TRY(add(b, params, &optim->moment[m], &params->list[i],
                        cla_optim_moment_name(optim, m)));
        }
    }
    return CLA_OK;
}

/* ---- progress as text -------------------------------------------------------------
 * */

/* Doubles go as hexadecimal floats: bit for bit, whatever the locale. */
static cla_status put_double(json_t *meta, const char *key, double value)
{
    uint64_t bits = 0;
    char text[32];
    memcpy(&bits, &value, sizeof bits);
    snprintf(text, sizeof text, "%016llx", (unsigned long long)bits);
    return json_object_set_new(meta, key, json_string(text))
               ? cla_fail(CLA_E_NOMEM, "checkpoint: out of memory")
               : CLA_OK;
}

static cla_status put_int(json_t *meta, const char *key, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return json_object_set_new(meta, key, json_string(text))
               ? cla_fail(CLA_E_NOMEM, "checkpoint: out of memory")
               : CLA_OK;
}

static cla_status put_progress(json_t *meta, const cla_progress *p, const char *tuning)
{
    CLA_TRY(put_int(meta, "step", p->step));
    CLA_TRY(put_int(meta, "epoch", p->epoch));
    CLA_TRY(put_int(meta, "next", p->next));
    CLA_TRY(put_int(meta, "stale", p->stale));
    CLA_TRY(put_int(meta, "best_step", p->best_step));
    CLA_TRY(put_int(meta, "finished", p->finished));
    CLA_TRY(put_double(meta, "best", p->best));
    CLA_TRY(put_double(meta, "loss_sum", p->loss_sum));
    CLA_TRY(put_double(meta, "loss_weight", p->loss_weight));
    json_object_set_new(meta, "tuning", json_string(tuning));
    return CLA_OK;
}

cla_status cla_checkpoint_save(const char *path, const cla_params *params,
                               const cla_optim *optim, const cla_progress *progress)
{
    bundle b = { 0 };
    json_t *meta = json_object();
    char tuning[17];
    cla_tuning_hash(params->rt, tuning);
    cla_status status = put_progress(meta, progress, tuning);
    status = status ? status : gather(&b, params, optim);
    status = status ? status : cla_st_save(path, b.tensors, b.count, meta);
    free_bundle(&b);
    json_decref(meta);
    return status;
}

/* ---- loading ----------------------------------------------------------------------
 * */

static cla_status get_int(const cla_st_file *f, const char *path, const char *key,
                          int64_t *value)
{
    const char *text = cla_st_meta(f, key);
    char *end = NULL;
    *value = text ? strtoll(text, &end, 10) : 0;
    return text && *text && !*end
               ? CLA_OK
               : cla_fail(CLA_E_INPUT, "%s: no checkpoint of a run ('%s' is missing)",
                          path, key);
}

static cla_status get_double(const cla_st_file *f, const char *path, const char *key,
                             double *value)
{
    const char *text = cla_st_meta(f, key);
    char *end = NULL;
    const uint64_t bits = text ? strtoull(text, &end, 16) : 0;
    memcpy(value, &bits, sizeof bits);
    return text && *text && !*end
               ? CLA_OK
               : cla_fail(CLA_E_INPUT, "%s: no checkpoint of a run ('%s' is missing)",
                          path, key);
}

static cla_status get_progress(const cla_st_file *f, const char *path, cla_progress *p)
{
    int64_t finished = 0;
    CLA_TRY(get_int(f, path, "step", &p->step));
    CLA_TRY(get_int(f, path, "epoch", &p->epoch));
    CLA_TRY(get_int(f, path, "next", &p->next));
    CLA_TRY(get_int(f, path, "stale", &p->stale));
    CLA_TRY(get_int(f, path, "best_step", &p->best_step));
    CLA_TRY(get_int(f, path, "finished", &finished));
    CLA_TRY(get_double(f, path, "best", &p->best));
    CLA_TRY(get_double(f, path, "loss_sum", &p->loss_sum));
    p->finished = finished;
    return get_double(f, path, "loss_weight", &p->loss_weight);
}

/* The file's tensor for a parameter; found counts those that are wanted. */
static cla_status match(const cla_st_file *f, const char *path, const cla_param *p,
                        const char *prefix, const cla_st_tensor **out)
{
    char name[96];
    snprintf(name, sizeof name, "%s%s%s", prefix, *prefix ? "/" : "", p->name);
    const cla_st_tensor *t = cla_st_find(f, name);
    if (!t) {
        return cla_fail(CLA_E_INPUT, "%s: tensor '%s' is missing", path, name);
    }
    bool same = t->dtype != CLA_ST_I32 && t->rank == p->rank;
    for (int i = 0; i < p->rank && same; i++) {
        same = t->shape[i] == p->shape[i];
    }
    *out = t;
    return same ? CLA_OK
                : cla_fail(CLA_E_INPUT,
                           "%s: tensor '%s' has %lld numbers in %d axes, the "
                           "model's is %s",
                           path, name, (long long)t->size, t->rank,
                           cla_shape_text(p->tensor));
}

static cla_status write_tensor(const cla_st_tensor *t, const cla_params *params,
                               const cla_memory *block, size_t offset)
{
    float *numbers = NULL;
    CLA_TRY(cla_alloc(&numbers, (size_t)t->size + 1, sizeof *numbers));
    cla_st_floats(t, numbers);
    const cla_status status =
        cla_memory_write(params->rt, block, offset, numbers, (size_t)t->size * 4);
    free(numbers);
    return status;
}

/* Checks (write false) or copies one set of tensors. */
static cla_status walk(const cla_st_file *f, const char *path, cla_params *params,
                       const cla_memory *block, const char *prefix, bool write,
                       size_t *found)
{
    for (size_t i = 0; i < params->count; i++) {
        const cla_st_tensor *t = NULL;
        CLA_TRY(match(f, path, &params->list[i], prefix, &t));
        (*found)++;
        if (write) {
            CLA_TRY(write_tensor(t, params, block, params->list[i].offset));
        }
    }
    return CLA_OK;
}

static cla_status walk_all(const cla_st_file *f, const char *path, cla_params *params,
                           cla_optim *optim, bool write)
{
    size_t found = 0;
    CLA_TRY(walk(f, path, params, &params->values, "", write, &found));
    for (int m = 0; optim && cla_optim_moment_name(optim, m); m++) {
        CLA_TRY(walk(f, path, params, &optim->moment[m],
                     cla_optim_moment_name(optim, m), write, &found));
    }
    if (optim && found < f->count) {
        return cla_fail(CLA_E_INPUT,
                        "%s: %zu tensors, the model and optimiser have %zu", path,
                        f->count, found);
    }
    return CLA_OK;
}

static void warn_of_tuning(const cla_st_file *f, const char *path,
                           const cla_params *params)
{
    char tuning[17];
    cla_tuning_hash(params->rt, tuning);
    const char *saved = cla_st_meta(f, "tuning");
    if (saved && strcmp(saved, tuning) != 0) {
        cla_log(CLA_LOG_WARN,
                "%s was written under tuning %s, this is %s: results may differ "
                "in the last bits",
                path, saved, tuning);
    }
}

cla_status cla_checkpoint_load(const char *path, cla_params *params, cla_optim *optim,
                               cla_progress *progress)
{
    cla_st_file f;
    cla_progress p = { 0 };
    CLA_TRY(cla_st_open(&f, path));
    cla_status status = progress ? get_progress(&f, path, &p) : CLA_OK;
    status = status ? status : walk_all(&f, path, params, optim, false);
    status = status ? status : walk_all(&f, path, params, optim, true);
    cla_params_changed(params);
    if (!status && progress) {
        *progress = p;
        warn_of_tuning(&f, path, params);
    }
    cla_st_close(&f);
    return status;
}
