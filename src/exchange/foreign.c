/* foreign.c - opens a model's folder to write it in another program's format. */
#include "exchange/foreign.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/quantise.h"
#include "tasks/language/language.h"
#include "train/integrity.h"

enum { NAME = 96, POSITIONS = 1024 };

/* ---- the translator ---------------------------------------------------------- */

static bool same_shape(const cla_st_tensor *t, const cla_param *p)
{
    int64_t size = 1;
    bool same = t->rank == p->rank;
    for (int i = 0; same && i < p->rank; i++) {
        same = t->shape[i] == p->shape[i];
        size *= p->shape[i];
    }
    return same && t->size == size && t->dtype != CLA_ST_I32;
}

/* Checks that the file has all parameters of the network and no others. */
static cla_status check_tensors(const foreign *f)
{
    const cla_params *params = &f->task->params;
    size_t found = 0;
    for (size_t i = 0; i < params->count; i++) {
        const cla_param *p = &params->list[i];
        const cla_st_tensor *t = cla_st_find(&f->file, p->name);
        if (!t || !same_shape(t, p)) {
            return cla_fail(CLA_E_INPUT, "%s: tensor '%s' %s", f->path, p->name,
                            t ? "has another shape than config.json says"
                              : "is missing");
        }
        found++;
    }
    for (size_t i = 0; i < f->file.count; i++) {
        const char *name = f->file.tensors[i].name;
        if (!strchr(name, '/') && !cla_params_find(params, name)) {
            return cla_fail(CLA_E_INPUT, "%s: tensor '%s' is left over", f->path, name);
        }
    }
    return found ? CLA_OK : cla_fail(CLA_E_INPUT, "%s: has no tensors", f->path);
}

static cla_status open_weights(foreign *f)
{
    static const char name[] = "best.ckpt.safetensors";
    cla_text path = { 0 };
    CLA_TRY(cla_folder_inside(f->run, name));
    CLA_TRY(cla_text_add(&path, "%s/%s", f->run, name));
    f->path = path.data;
    CLA_TRY(cla_state_open(&f->file, f->path, false));
    CLA_TRY(cla_st_unpack(&f->file, f->path));
    return check_tensors(f);
}

static bool same_pieces(const cla_vocab *a, const cla_vocab *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++) {
        same = strcmp(a->tokens[i], b->tokens[i]) == 0;
    }
    return same;
}

cla_status cla_foreign_open(foreign *f, const char *run)
{
    const cla_task_kind *kind = NULL;
    *f = (foreign){ .run = run };
    CLA_TRY(cla_folder_settings(run, &f->settings));
    CLA_TRY(cla_task_kind_find(&f->settings, &kind));
    const bool translates = kind == &cla_translation_kind;
    if (!translates && kind != &cla_language_kind) {
        return cla_fail(CLA_E_INPUT,
                        "%s: holds a %s: only translators and language models have a "
                        "format of other programs",
                        run, kind->name);
    }
    CLA_TRY(kind->renew ? kind->renew(&f->settings, &f->settings) : CLA_OK);
    CLA_TRY(cla_alloc(&f->task, 1, kind->size));
    f->task->kind = kind;
    CLA_TRY(kind->open(f->task, &f->settings, run, CLA_TASK_TRAINED));
    f->t = translates ? (const translation *)f->task : NULL;
    f->joint = f->t && same_pieces(&f->t->source.vocab, &f->t->target.vocab);
    return open_weights(f);
}

void cla_foreign_close(foreign *f)
{
    cla_st_close(&f->file);
    free(f->path);
    cla_task_close(&f->task);
    cla_config_fini(&f->settings);
    *f = (foreign){ 0 };
}

/* Returns whether a piece is the only one of its name. */
static bool is_alone(const cla_vocab *v, size_t at)
{
    if (at >= v->count || !*v->tokens[at]) {
        return false;
    }
    for (size_t i = 0; i < v->specials && at >= v->specials; i++) {
        if (strcmp(v->tokens[i], v->tokens[at]) == 0) {
            return false;
        }
    }
    return true;
}

const char *cla_foreign_token(const cla_vocab *vocab, size_t at, int64_t *next,
                              char unused[FOREIGN_UNUSED])
{
    if (is_alone(vocab, at)) {
        return vocab->tokens[at];
    }
    do {
        snprintf(unused, FOREIGN_UNUSED, "<unused%lld>", (long long)(*next)++);
    } while (cla_vocab_spells(vocab, unused));
    return unused;
}

/* ---- tensors ----------------------------------------------------------------- */

cla_status cla_foreign_take(const foreign *f, const char *name, float **numbers)
{
    const cla_st_tensor *t = cla_st_find(&f->file, name);
    assert(t);
    CLA_TRY(cla_alloc(numbers, (size_t)t->size + 1, sizeof **numbers));
    cla_st_floats(t, *numbers);
    return CLA_OK;
}

static cla_status add_weight(const foreign *f, cla_made *made, const foreign_linear *l)
{
    const cla_st_tensor *t = cla_st_find(&f->file, l->from);
    assert(t && t->rank == 2 && l->first + l->out <= t->shape[1]);
    const int64_t in = t->shape[0], columns = t->shape[1];
    float *from = NULL, *to = NULL;
    CLA_TRY(cla_made_add(made, l->weight, l->out, in, &to));
    CLA_TRY(cla_foreign_take(f, l->from, &from));
    for (int64_t o = 0; o < l->out; o++) {
        for (int64_t i = 0; i < in; i++) {
            to[o * in + i] = from[i * columns + l->first + o];
        }
    }
    free(from);
    return CLA_OK;
}

cla_status cla_foreign_add_linear(const foreign *f, cla_made *made,
                                  const foreign_linear *l)
{
    char name[NAME];
    float *from = NULL, *to = NULL;
    CLA_TRY(add_weight(f, made, l));
    if (!l->bias) {
        return CLA_OK;
    }
    snprintf(name, sizeof name, "%s_bias", l->from);
    CLA_TRY(cla_made_add(made, l->bias, 0, l->out, &to));
    CLA_TRY(cla_foreign_take(f, name, &from));
    memcpy(to, from + l->first, (size_t)l->out * sizeof *to);
    free(from);
    return CLA_OK;
}

cla_status cla_foreign_add_rows(const foreign *f, cla_made *made, const char *from,
                                const char *to, const int32_t *row, int64_t rows)
{
    const int64_t D = f->t->config.coder.model;
    float *numbers = NULL, *table = NULL;
    CLA_TRY(cla_made_add(made, to, rows, D, &table));
    CLA_TRY(cla_foreign_take(f, from, &numbers));
    for (int64_t i = 0; i < rows; i++) {
        memcpy(table + i * D, numbers + row[i] * D, (size_t)D * sizeof *table);
    }
    free(numbers);
    return CLA_OK;
}

cla_status cla_foreign_add_same(const foreign *f, cla_made *made, const char *from,
                                const char *to, int64_t rows, int64_t columns)
{
    float *numbers = NULL, *copy = NULL;
    CLA_TRY(cla_made_add(made, to, rows, columns, &copy));
    CLA_TRY(cla_foreign_take(f, from, &numbers));
    memcpy(copy, numbers, (size_t)((rows ? rows : 1) * columns) * sizeof *copy);
    free(numbers);
    return CLA_OK;
}

cla_status cla_foreign_add_norm(const foreign *f, cla_made *made, const char *from,
                                const char *gain, const char *bias)
{
    const char *const ends[][2] = { { "gain", gain }, { "bias", bias } };
    for (int i = 0; i < 2; i++) {
        char name[NAME];
        snprintf(name, sizeof name, "%s.%s", from, ends[i][0]);
        CLA_TRY(cla_foreign_add_same(f, made, name, ends[i][1], 0,
                                     f->t->config.coder.model));
    }
    return CLA_OK;
}

int cla_foreign_positions(const foreign *f)
{
    const int most = f->t->search.most + 1; // with the start
    return most > POSITIONS ? most : POSITIONS;
}

cla_status cla_foreign_add_positions(const foreign *f, cla_made *made, const char *name)
{
    const transformer_config *c = &f->t->config;
    const int64_t rows = cla_foreign_positions(f), D = c->coder.model;
    float *to = NULL;
    CLA_TRY(cla_made_add(made, name, rows, D, &to));
    return cla_transformer_signal(c->positions, rows, D, to);
}

/* ---- files ------------------------------------------------------------------- */

cla_status cla_foreign_write(cla_publish *p, const char *name, const char *bytes,
                             size_t size)
{
    char *path = NULL;
    cla_status status = cla_publish_file(p, name, &path);
    status = status ? status : cla_file_write(path, bytes, size);
    free(path);
    return status;
}

cla_status cla_foreign_write_json(cla_publish *p, const char *name, json_t *value)
{
    char *json = value ? cla_json_write(value, JSON_INDENT(2), CLA_JSON_EXACT) : NULL;
    json_decref(value);
    if (!json) return cla_fail(CLA_E_NOMEM, "export: out of memory");

    cla_text text = { 0 };
    cla_status status = cla_text_add(&text, "%s\n", json);
    status = status ? status : cla_foreign_write(p, name, text.data, text.size);
    free(json);
    cla_text_free(&text);
    return status;
}

cla_status cla_foreign_write_codes(const foreign *f, cla_publish *p)
{
    const cla_text *source = &f->t->source.codes, *target = &f->t->target.codes;
    if (f->t->source.kind != CLA_PIECES_MODEL) {
        return cla_foreign_write(p, "codes.txt", source->data, source->size);
    }
    CLA_TRY(cla_foreign_write(p, "source.spm", source->data, source->size));
    return cla_foreign_write(p, "target.spm", target->data, target->size);
}
