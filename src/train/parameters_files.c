/* parameters_files.c - files of a user's parameters and of their optimiser's state.
 *
 * Adam's running mean of the gradients of the parameter "table" is the tensor
 * "adam.mean/table", as in the states of runs; the metadata has the optimiser and its
 * steps. A set that never stepped has values alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/safetensors.h"
#include "base/text.h"
#include "train/parameters.h"

enum { PARTS = 1 + CLA_OPTIMISER_MOMENTS, PREFIX = 32, NAME = 96 };

/* The blocks that a file has numbers for: the values, then running means. */
typedef struct parts {
    int count;
    const cla_memory *block[PARTS];
    char prefix[PARTS][PREFIX]; // of the names of tensors
} parts;

static parts parts_of(const cla_parameters *set, const cla_optimiser *kind)
{
    parts p = { .count = 1, .block = { &set->params.values } };
    for (int i = 0; kind && i < cla_optimiser_moments(kind); i++, p.count++) {
        p.block[p.count] = &set->memory[i];
        snprintf(p.prefix[p.count], PREFIX, "%s.%s/", kind->signature.op,
                 kind->moment[i]);
    }
    return p;
}

static void name_of(char name[NAME], const char *prefix, const cla_param *p)
{
    snprintf(name, NAME, "%s%s", prefix, p->name);
}

/* ---- saving --------------------------------------------------------------------- */

/* What becomes a file. */
typedef struct content {
    float *numbers;
    char (*names)[NAME];
    cla_st_tensor *list;
    size_t count;
    json_t *meta;
} content;

static void free_content(content *c)
{
    free(c->numbers);
    free(c->names);
    free(c->list);
    json_decref(c->meta);
}

/* Reads a part of all parameters to numbers, and lists its tensors. */
static cla_status read_part(const cla_parameters *set, const parts *all, int part,
                            content *c, float *numbers)
{
    for (size_t i = 0; i < set->params.count; i++) {
        const cla_param *p = &set->params.list[i];
        char *name = c->names[c->count];
        name_of(name, all->prefix[part], p);
        if (part && cla_params_find(&set->params, name)) {
            return cla_fail(CLA_E_USAGE,
                            "parameter '%s' has the name of a running mean of '%s'",
                            name, p->name);
        }
        cla_st_tensor *t = &c->list[c->count++];
        *t = (cla_st_tensor){
            name, CLA_ST_F32, p->rank, { 0 }, cla_tensor_size(p->tensor), numbers
        };
        memcpy(t->shape, p->shape, sizeof p->shape);
        CLA_TRY(cla_memory_read(set->rt, all->block[part], p->offset, numbers,
                                (size_t)t->size * sizeof *numbers));
        numbers += t->size;
    }
    return CLA_OK;
}

static cla_status note_state(const cla_parameters *set, content *c)
{
    char step[24];
    snprintf(step, sizeof step, "%lld", (long long)set->step);
    c->meta =
        json_pack("{s:s, s:s}", "optimiser", set->kind->signature.op, "step", step);
    return c->meta ? CLA_OK : cla_fail(CLA_E_NOMEM, "parameters: out of memory");
}

static cla_status fill_content(const cla_parameters *set, content *c)
{
    const parts all = parts_of(set, set->kind);
    const size_t numbers = (size_t)cla_parameters_size(set),
                 tensors = set->params.count;
    const size_t times = (size_t)all.count;
    CLA_TRY(cla_alloc(&c->numbers, numbers * times, sizeof *c->numbers));
    CLA_TRY(cla_alloc(&c->names, tensors * times, sizeof *c->names));
    CLA_TRY(cla_alloc(&c->list, tensors * times, sizeof *c->list));
    for (int i = 0; i < all.count; i++) {
        CLA_TRY(read_part(set, &all, i, c, c->numbers + (size_t)i * numbers));
    }
    return set->kind ? note_state(set, c) : CLA_OK;
}

cla_status cla_parameters_save(const cla_parameters *set, const char *path)
{
    content c = { NULL };
    CLA_NEED(set, path);
    CLA_HOLD(set->rt);
    CLA_TRY(cla_parameters_need_built(set));
    cla_status status = fill_content(set, &c);
    status = status ? status : cla_st_save(path, c.list, c.count, c.meta);
    free_content(&c);
    return status;
}

/* ---- loading -------------------------------------------------------------------- */

/* Finds whose running means a file has, after how many steps; *kind is NULL if it has
 * none. */
static cla_status read_state(const cla_st_file *file, const char *path,
                             const cla_optimiser **kind, int64_t *step)
{
    const char *name = cla_st_meta(file, "optimiser");
    const char *text = cla_st_meta(file, "step");
    *kind = name ? cla_optimiser_named(name) : NULL;
    *step = 0;
    if (name && !*kind) {
        return cla_fail(CLA_E_INPUT, "%s: there is no optimiser '%.40s'", path, name);
    }
    if (name && (!text || !cla_parse_int(text, step) || *step < 1)) {
        return cla_fail(CLA_E_INPUT, "%s: step is '%.40s', must be 1 or more", path,
                        text ? text : "");
    }
    return CLA_OK;
}

static cla_status check_tensor(const cla_st_file *file, const char *path,
                               const cla_param *p, const char *name)
{
    const cla_st_tensor *t = cla_st_find(file, name);
    if (!t) {
        return cla_fail(CLA_E_INPUT, "%s: '%s' is missing", path, name);
    }
    if (t->dtype != CLA_ST_F32) {
        return cla_fail(CLA_E_INPUT, "%s: '%s' is %s, must be F32", path, name,
                        cla_st_dtypes[t->dtype].name);
    }
    if (t->rank != p->rank ||
        memcmp(t->shape, p->shape, (size_t)p->rank * sizeof *p->shape) != 0) {
        return cla_fail(CLA_E_INPUT, "%s: '%s' has another shape than the parameter %s",
                        path, name, cla_shape_text(p->tensor));
    }
    return cla_st_finite(t)
               ? CLA_OK
               : cla_fail(CLA_E_NUMERIC, "%s: '%s' is not finite", path, name);
}

/* Returns whether one of the parts has a tensor of this name. */
static bool is_known(const cla_parameters *set, const parts *all, const char *name)
{
    for (int part = 0; part < all->count; part++) {
        const size_t size = strlen(all->prefix[part]);
        if (!strncmp(name, all->prefix[part], size) &&
            cla_params_find(&set->params, name + size)) {
            return true;
        }
    }
    return false;
}

static cla_status check_file(const cla_parameters *set, const parts *all,
                             const cla_st_file *file, const char *path)
{
    char name[NAME];
    for (int part = 0; part < all->count; part++) {
        for (size_t i = 0; i < set->params.count; i++) {
            name_of(name, all->prefix[part], &set->params.list[i]);
            CLA_TRY(check_tensor(file, path, &set->params.list[i], name));
        }
    }
    for (size_t i = 0; i < file->count; i++) {
        if (!is_known(set, all, file->tensors[i].name)) {
            return cla_fail(CLA_E_INPUT, "%s: '%.80s' is no parameter of this set",
                            path, file->tensors[i].name);
        }
    }
    return CLA_OK;
}

static cla_status write_all(const cla_parameters *set, const parts *all,
                            const cla_st_file *file)
{
    char name[NAME];
    for (int part = 0; part < all->count; part++) {
        for (size_t i = 0; i < set->params.count; i++) {
            const cla_param *p = &set->params.list[i];
            name_of(name, all->prefix[part], p);
            const cla_st_tensor *t = cla_st_find(file, name);
            CLA_TRY(cla_memory_write(set->rt, all->block[part], p->offset, t->data,
                                     (size_t)t->size * sizeof(float)));
        }
    }
    return CLA_OK;
}

static cla_status load(cla_parameters *set, const cla_st_file *file, const char *path)
{
    const cla_optimiser *kind = NULL;
    int64_t step = 0;
    CLA_TRY(read_state(file, path, &kind, &step));
    const parts all = parts_of(set, kind);
    CLA_TRY(check_file(set, &all, file, path));
    CLA_TRY(cla_parameters_forget(set));
    const cla_status status = write_all(set, &all, file);
    cla_params_changed(&set->params);
    set->kind = status ? NULL : kind;
    set->step = status ? 0 : step;
    return status;
}

cla_status cla_parameters_load(cla_parameters *set, const char *path)
{
    cla_st_file file = { 0 };
    CLA_NEED(set, path);
    CLA_HOLD(set->rt);
    CLA_TRY(cla_parameters_need_built(set));
    CLA_TRY(cla_st_open(&file, path));
    const cla_status status = load(set, &file, path);
    cla_st_close(&file);
    return status;
}
