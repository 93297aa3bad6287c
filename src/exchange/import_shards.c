/* import_shards.c - the tensors of a Hugging Face folder: model.safetensors, or several
 * files that model.safetensors.index.json lists. */
#include <string.h>

#include "base/json.h"
#include "exchange/import_marian.h"
#include "train/folder.h"

#define WEIGHTS "model.safetensors"
#define INDEX   "model.safetensors.index.json"

/* Opens a file of the folder and appends its tensors. */
static cla_status open_file(marian_tensors *t, const char *dir, const char *name)
{
    cla_text path = { 0 };
    cla_st_file *file = &t->files[t->count];
    cla_status status = cla_marian_check_file(dir, name);
    status = status ? status : cla_text_add(&path, "%s/%s", dir, name);
    status = status ? status : cla_st_open(file, path.data);
    cla_text_free(&path);
    CLA_TRY(status);
    t->count++;
    cla_st_file *all = &t->all;
    size_t cap = all->count;
    const size_t need = all->count + file->count + 1;
    CLA_TRY(cla_grow(&all->tensors, &cap, need, sizeof *all->tensors));
    memcpy(all->tensors + all->count, file->tensors,
           file->count * sizeof *file->tensors);
    all->count += file->count;
    return CLA_OK;
}

/* ---- an index ------------------------------------------------------------ */

static cla_status wrong(const marian_tensors *t, const char *what)
{
    return cla_fail(CLA_E_INPUT, "%s: %s", t->path.data, what);
}

/* Returns the position of a file among names, to which it is added; -1: no memory. */
static int place_of(json_t *names, const char *name)
{
    const json_t *known = json_object_get(names, name);
    const int next = (int)json_object_size(names);
    if (known) {
        return (int)json_integer_value(known);
    }
    return json_object_set_new(names, name, json_integer(next)) ? -1 : next;
}

/* Lists the files of an index with their positions. */
static cla_status list_files(const marian_tensors *t, const json_t *map, json_t *names)
{
    const char *tensor = NULL;
    json_t *file = NULL;
    if (!json_object_size(map)) {
        return wrong(t, "has no 'weight_map'");
    }
    json_object_foreach((json_t *)map, tensor, file)
    {
        const char *name = json_string_value(file);
        if (!name || !*name || strchr(name, '/') || *name == '.') {
            return cla_fail(CLA_E_INPUT,
                            "%s: tensor '%.80s': its file is no name of this folder",
                            t->path.data, tensor);
        }
        if (place_of(names, name) < 0) {
            return cla_fail(CLA_E_NOMEM, "%s: out of memory", t->path.data);
        }
    }
    return CLA_OK;
}

/* Checks that each tensor lies in the file that the index says, and in no other. */
static cla_status check_map(const marian_tensors *t, const json_t *map, json_t *names)
{
    size_t listed = 0;
    for (size_t f = 0; f < t->count; f++) {
        for (size_t i = 0; i < t->files[f].count; i++) {
            const char *name = t->files[f].tensors[i].name;
            const json_t *file = json_object_get(map, name);
            if (!file || place_of(names, json_string_value(file)) != (int)f) {
                return cla_fail(CLA_E_INPUT,
                                "%s: tensor '%s' is in another file than it says",
                                t->path.data, name);
            }
            listed++;
        }
    }
    return listed == json_object_size(map)
               ? CLA_OK
               : cla_fail(CLA_E_INPUT, "%s: lists %zu tensors, its files have %zu",
                          t->path.data, json_object_size(map), listed);
}

static cla_status open_listed(marian_tensors *t, const char *dir, const json_t *root)
{
    const json_t *map = json_object_get(root, "weight_map");
    json_t *names = json_object(), *place = NULL;
    const char *name = NULL;
    cla_status status = list_files(t, map, names);
    status = status
                 ? status
                 : cla_alloc(&t->files, json_object_size(names) + 1, sizeof *t->files);
    json_object_foreach(names, name, place)
    {
        status = status ? status : open_file(t, dir, name);
    }
    status = status ? status : check_map(t, map, names);
    json_decref(names);
    return status;
}

static cla_status open_index(marian_tensors *t, const char *dir)
{
    json_t *root = NULL;
    CLA_TRY(cla_marian_check_file(dir, INDEX));
    CLA_TRY(cla_text_add(&t->path, "%s/" INDEX, dir));
    CLA_TRY(
        cla_json_file(&root, t->path.data, CLA_SOURCE_FILE, JSON_REJECT_DUPLICATES));
    const cla_status status = open_listed(t, dir, root);
    json_decref(root);
    return status;
}

/* ---- either -------------------------------------------------------------- */

cla_status cla_marian_open_tensors(marian_tensors *t, const char *dir)
{
    *t = (marian_tensors){ .count = 0 };
    if (cla_folder_holds(dir, WEIGHTS)) {
        CLA_TRY(cla_text_add(&t->path, "%s/" WEIGHTS, dir));
        CLA_TRY(cla_alloc(&t->files, 1, sizeof *t->files));
        return open_file(t, dir, WEIGHTS);
    }
    if (cla_folder_holds(dir, INDEX)) {
        return open_index(t, dir);
    }
    return !cla_folder_holds(dir, "pytorch_model.bin")
               ? cla_marian_check_file(dir, WEIGHTS)
               : cla_fail(CLA_E_INPUT,
                          "%s: pytorch_model.bin can run programs and is not read; "
                          "convert it in Python: MarianMTModel.from_pretrained(DIR)"
                          ".save_pretrained(DIR, safe_serialization=True)",
                          dir);
}

void cla_marian_close_tensors(marian_tensors *t)
{
    for (size_t i = 0; i < t->count; i++) {
        cla_st_close(&t->files[i]);
    }
    free(t->files);
    free(t->all.tensors);
    cla_text_free(&t->path);
    *t = (marian_tensors){ .count = 0 };
}

static cla_status shape_text(const cla_st_tensor *t, cla_text *out)
{
    for (int i = 0; i < t->rank; i++) {
        CLA_TRY(cla_text_add(out, "%s%lld", i ? "," : "", (long long)t->shape[i]));
    }
    return cla_text_append(out, "", 0);
}

cla_status cla_marian_wrong_shape(const char *path, const cla_st_tensor *t,
                                  int64_t rows, int64_t columns)
{
    cla_text shape = { 0 }, want = { 0 };
    cla_status status = shape_text(t, &shape);
    status = status ? status
             : rows
                 ? cla_text_add(&want, "%lld,%lld", (long long)rows, (long long)columns)
                 : cla_text_add(&want, "%lld", (long long)columns);
    status = status ? status
                    : cla_fail(CLA_E_INPUT,
                               "%s: tensor '%s' is [%s], config.json makes it [%s]",
                               path, t->name, shape.data, want.data);
    cla_text_free(&shape);
    cla_text_free(&want);
    return status;
}
