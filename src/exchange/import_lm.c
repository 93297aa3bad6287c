/* import_lm.c - imports a causal language model of Hugging Face. */
#include "exchange/import_lm.h"

#include <assert.h>
#include <string.h>

#include "base/file.h"
#include "exchange/import_marian.h"
#include "tasks/language/language.h"
#include "train/made.h"
#include "train/publish.h"

typedef struct importer {
    const char *from;
    const lm_family *family;
    cla_config settings;
    cla_task *task; // without a device: names and shapes of the parameters
    marian_tensors opened;
    bool *used; // [opened.all.count]
    cla_made made;
} importer;

/* ---- tensors -------------------------------------------------------------------- */

/* Finds a tensor, also without the prefix. */
static const cla_st_tensor *find(const importer *m, const char *name)
{
    const size_t prefix = strlen(m->family->prefix);
    const cla_st_tensor *t = cla_st_find(&m->opened.all, name);
    return t || strncmp(name, m->family->prefix, prefix) != 0
               ? t
               : cla_st_find(&m->opened.all, name + prefix);
}

/* Checks the shape of a tensor, [rows,columns] or, rows 0, [columns], and its numbers,
 * and copies them; the caller frees them. */
static cla_status take(const importer *m, const char *name, int64_t rows,
                       int64_t columns, float **numbers)
{
    const cla_st_tensor *t = find(m, name);
    const char *path = m->opened.path.data;
    if (!t) {
        return cla_fail(CLA_E_INPUT, "%s: tensor '%s' is missing", path, name);
    }
    m->used[t - m->opened.all.tensors] = true;
    const bool fits =
        rows ? t->rank == 2 && t->shape[0] == rows && t->shape[1] == columns
             : t->rank == 1 && t->shape[0] == columns;
    if (!fits) {
        return cla_marian_wrong_shape(path, t, rows, columns);
    }
    if (t->dtype == CLA_ST_I32 || t->dtype == CLA_ST_I8) {
        return cla_fail(CLA_E_INPUT, "%s: tensor '%s' holds whole numbers", path, name);
    }
    if (!cla_st_finite(t)) {
        return cla_fail(CLA_E_NUMERIC,
                        "%s: tensor '%s' holds numbers that are not finite", path,
                        name);
    }
    CLA_TRY(cla_alloc(numbers, (size_t)t->size + 1, sizeof **numbers));
    cla_st_floats(t, *numbers);
    return CLA_OK;
}

/* Copies a tensor to columns from `first` on of a parameter [rows,columns]. */
static cla_status copy_part(const importer *m, const lm_weight *w, const cla_param *p,
                            const char *name, int64_t first, int64_t width, float *to)
{
    const int64_t rows = p->rank == 2 ? p->shape[0] : 0, each = rows ? rows : 1;
    const int64_t columns = p->shape[p->rank - 1];
    const bool turned = w->turned && rows;
    float *from = NULL;
    CLA_TRY(take(m, name, turned ? width : rows, turned ? rows : width, &from));
    assert(from);
    for (int64_t r = 0; r < each; r++) {
        for (int64_t c = 0; c < width; c++) {
            to[r * columns + first + c] =
                turned ? from[c * rows + r] : from[r * width + c];
        }
    }
    free(from);
    return CLA_OK;
}

static cla_status copy(importer *m, const cla_param *p)
{
    int layer = 0;
    int64_t first = 0;
    float *to = NULL;
    cla_text name = { 0 };
    const int64_t D = ((language *)m->task)->config.coder.model;
    const lm_weight *w = cla_lm_weight(m->family, p->name, &layer);
    assert(w && p->rank <= 2);
    CLA_TRY(cla_made_add(&m->made, p->name, p->rank == 2 ? p->shape[0] : 0,
                         p->shape[p->rank - 1], &to));
    cla_status status = CLA_OK;
    for (int k = 0; k < 3 && w->theirs[k] && !status; k++) {
        const int64_t width = cla_lm_columns(w, p, D, k);
        name.size = 0;
        status = cla_lm_name(m->family, w, layer, k, &name);
        status = status ? status : copy_part(m, w, p, name.data, first, width, to);
        first += width;
    }
    cla_text_free(&name);
    return status;
}

/* Returns whether a tensor may be left over: it has no parameters, or is the table
 * again in a model that ties its output layer to it. */
static cla_status check_rest(const importer *m, const cla_st_tensor *t)
{
    const bool tied = ((language *)m->task)->config.tied;
    for (const char *const *end = m->family->skipped; *end; end++) {
        if (cla_ends_in(t->name, *end)) {
            return CLA_OK;
        }
    }
    if (!tied || strcmp(t->name, "lm_head.weight") != 0) {
        return cla_fail(CLA_E_INPUT, "%s: tensor '%s' is left over",
                        m->opened.path.data, t->name);
    }
    int layer = 0;
    cla_text name = { 0 };
    const lm_weight *w = cla_lm_weight(m->family, "table", &layer);
    CLA_TRY(cla_lm_name(m->family, w, layer, 0, &name));
    const cla_st_tensor *table = find(m, name.data);
    cla_text_free(&name);
    const size_t bytes = (size_t)(t->size * cla_st_dtypes[t->dtype].bytes);
    return table && table->dtype == t->dtype && table->size == t->size &&
                   memcmp(table->data, t->data, bytes) == 0
               ? CLA_OK
               : cla_fail(CLA_E_INPUT,
                          "%s: tensor '%s' is not the table, config.json ties them",
                          m->opened.path.data, t->name);
}

static cla_status copy_all(importer *m)
{
    const cla_st_file *all = &m->opened.all;
    CLA_TRY(cla_alloc(&m->used, all->count + 1, sizeof *m->used));
    for (size_t i = 0; i < m->task->params.count; i++) {
        CLA_TRY(copy(m, &m->task->params.list[i]));
    }
    for (size_t i = 0; i < all->count; i++) {
        CLA_TRY(m->used[i] ? CLA_OK : check_rest(m, &all->tensors[i]));
    }
    return CLA_OK;
}

/* ---- settings ------------------------------------------------------------------- */

/* Returns the names of the pieces that end a text: one, or a list; NULL when out of
 * memory. */
static json_t *names_of(const cla_vocab *pieces, const lm_ends *ends)
{
    json_t *list = json_array();
    bool whole = list != NULL;
    for (int i = 0; i < ends->count && whole; i++) {
        const size_t id = (size_t)ends->id[i];
        whole = id >= pieces->count ||
                !json_array_append_new(list, json_string(pieces->tokens[id]));
    }
    const size_t count = json_array_size(list);
    if (count > 1 && whole) {
        return list;
    }
    json_t *one = count ? json_incref(json_array_get(list, 0)) : json_string("");
    json_decref(list);
    if (!whole) {
        json_decref(one);
        return NULL;
    }
    return one;
}

/* The tokenizer is a file of Hugging Face's library, or a model of SentencePiece. */
static cla_status check_tokenizer(const char *from)
{
    const bool model = cla_language_has_model(from);
    return cla_marian_check_file(from, model ? "tokenizer.model" : "tokenizer.json");
}

/* Opens the model as if its folder were one of clattn: the tokenizer is read, and the
 * settings get their defaults. Then the end of documents is known by its number. */
static cla_status open_model(importer *m)
{
    lm_ends ends = { .count = 0 };
    CLA_TRY(cla_lm_read_settings(m->from, &m->family, &m->settings, &ends));
    CLA_TRY(check_tokenizer(m->from));
    CLA_TRY(cla_task_open(&m->task, NULL, &m->settings, m->from, CLA_TASK_TRAINED));
    const language *t = (language *)m->task;
    cla_config *c = &m->settings;
    const bool whole = !json_object_set_new(c->values, "end_token",
                                            names_of(&t->tokenizer.vocab, &ends)) &&
                       !json_object_set_new(c->values, "documents",
                                            json_boolean(t->tokenizer.start >= 0));
    return whole ? CLA_OK : cla_fail(CLA_E_NOMEM, "import: out of memory");
}

/* ---- files ---------------------------------------------------------------------- */

static cla_status write_weights(cla_publish *p, const importer *m)
{
    char *path = NULL;
    json_t *meta = json_pack("{s:s}", "imported", m->family->type);
    cla_status status = cla_publish_file(p, "best.ckpt.safetensors", &path);
    status = status ? status
             : meta ? cla_st_save(path, m->made.tensors, m->made.count, meta)
                    : cla_fail(CLA_E_NOMEM, "%s: out of memory", path);
    free(path);
    json_decref(meta);
    return status;
}

static cla_status write_tokenizer(cla_publish *p, const importer *m)
{
    const cla_text *json = &((language *)m->task)->subwords.codes;
    char *path = NULL;
    cla_status status = cla_publish_file(p, "tokenizer.json", &path);
    status = status ? status : cla_file_write(path, json->data, json->size);
    free(path);
    return status;
}

static cla_status publish(importer *m, const char *out, volatile const int *signal)
{
    cla_publish p;
    cla_status status = cla_publish_begin(&p, out, signal);
    status = status ? status : write_tokenizer(&p, m);
    status = status ? status : write_weights(&p, m);
    status =
        status ? status : cla_publish_settings(&p, &m->settings, &cla_language_kind);
    return cla_publish_end(&p, status);
}

cla_status cla_lm_import(const char *from, const char *out, volatile const int *signal,
                         int64_t *numbers)
{
    importer m = { .from = from };
    cla_status status = open_model(&m);
    status = status ? status : cla_marian_open_tensors(&m.opened, from);
    status = status ? status : copy_all(&m);
    *numbers = m.made.numbers;
    status = status ? status : publish(&m, out, signal);
    cla_marian_close_tensors(&m.opened);
    cla_made_free(&m.made);
    cla_task_close(&m.task);
    cla_config_fini(&m.settings);
    free(m.used);
    return status;
}
