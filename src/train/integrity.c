/* integrity.c - hashes of the files in a model folder. */
#include "train/integrity.h"

#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/platform.h"
#include "base/text.h"

#define KEY "integrity"

void cla_settings_plain(cla_config *settings)
{
    json_object_del(settings->values, KEY);
}

/* ---- one file ---------------------------------------------------------------- */

static cla_status hash_file(const char *path, char hash[CLA_HASH_TEXT])
{
    char *data = NULL;
    size_t size = 0;
    CLA_TRY(cla_file_read(path, &data, &size));
    cla_hash_text(hash, data, size);
    free(data);
    return CLA_OK;
}

static cla_status hash_in(const char *dir, const char *name, char hash[CLA_HASH_TEXT])
{
    cla_text path = { 0 };
    cla_status status = cla_text_add(&path, "%s/%s", dir, name);
    status = status ? status : hash_file(path.data, hash);
    cla_text_free(&path);
    return status;
}

cla_status cla_folder_compare(const char *dir, const char *name, const json_t *hash)
{
    char own[CLA_HASH_TEXT] = "";
    const char *said = json_string_value(hash);
    if (!said || strchr(name, '/')) {
        return cla_fail(CLA_E_INPUT, "%s/config.json: '%s' in '%s' has no hash", dir,
                        name, KEY);
    }
    CLA_TRY(hash_in(dir, name, own));
    return strcmp(own, said) == 0
               ? CLA_OK
               : cla_fail(CLA_E_INPUT,
                          "%s/%s: damaged or changed: its hash is %s, config.json has "
                          "%s",
                          dir, name, own, said);
}

cla_status cla_folder_hash(const char *dir, const cla_task_kind *kind, json_t **files)
{
    const char *name = NULL;
    cla_status status = CLA_OK;
    *files = json_object();
    for (int i = 0; !status && (name = cla_task_file(kind, dir, i)); i++) {
        char hash[CLA_HASH_TEXT];
        status = hash_in(dir, name, hash);
        if (!status && json_object_set_new(*files, name, json_string(hash))) {
            status = cla_fail(CLA_E_NOMEM, "%s: out of memory", dir);
        }
    }
    if (status || !*files) {
        json_decref(*files);
        *files = NULL;
        return status ? status : cla_fail(CLA_E_NOMEM, "%s: out of memory", dir);
    }
    return CLA_OK;
}

/* ---- config.json ------------------------------------------------------------- */

static cla_status fail_config(const char *path)
{
    return cla_fail(CLA_E_INPUT,
                    "%s: damaged or changed: it does not have the hash that was "
                    "written with it (without its key '" KEY "' it loads unchecked)",
                    path);
}

/* Checks a config.json against its own hash. A file with the key "integrity" but
 * without a readable hash counts as broken. */
static cla_status read_seal(const char *path, cla_seal *seal)
{
    char *data = NULL;
    size_t size = 0;
    *seal = CLA_SEAL_NONE;
    CLA_TRY(cla_file_read(path, &data, &size));
    *seal = cla_seal_check(data, size, size);
    if (!*seal && cla_os_find(data, size, "\"" KEY "\"", strlen(KEY) + 2)) {
        *seal = CLA_SEAL_BROKEN;
    }
    free(data);
    return CLA_OK;
}

/* Moves the hashes from the settings to files. */
static cla_status split(cla_config *settings, json_t **files)
{
    *files = json_incref(json_object_get(settings->values, KEY));
    cla_settings_plain(settings);
    if (!json_is_object(*files) || json_object_del(*files, CLA_SEAL_KEY)) {
        json_decref(*files);
        *files = NULL;
        return fail_config(settings->path);
    }
    return CLA_OK;
}

static cla_status read_config(const char *path, cla_config *settings, json_t **files)
{
    cla_seal seal = CLA_SEAL_NONE;
    CLA_TRY(read_seal(path, &seal));
    if (seal == CLA_SEAL_BROKEN) {
        return fail_config(path);
    }
    CLA_TRY(cla_config_read(settings, path));
    if (seal == CLA_SEAL_GOOD) {
        return split(settings, files);
    }
    cla_log(CLA_LOG_WARN,
            "%s: has no hashes (an older version wrote it): damage to the files of "
            "this folder cannot be seen",
            path);
    return CLA_OK;
}

cla_status cla_folder_read(const char *dir, cla_config *settings, json_t **files)
{
    cla_text path = { 0 };
    *files = NULL;
    cla_status status = cla_text_add(&path, "%s/config.json", dir);
    status = status ? status : read_config(path.data, settings, files);
    cla_text_free(&path);
    return status;
}

cla_status cla_folder_compare_all(const char *dir, const json_t *files)
{
    json_t *hash = NULL;
    const char *name = NULL;
    json_object_foreach((json_t *)files, name, hash)
    {
        CLA_TRY(cla_folder_compare(dir, name, hash));
    }
    return CLA_OK;
}

cla_status cla_folder_settings(const char *dir, cla_config *settings)
{
    json_t *files = NULL;
    cla_status status = cla_folder_read(dir, settings, &files);
    status = status ? status : cla_folder_compare_all(dir, files);
    json_decref(files);
    return status;
}

/* Returns the settings, then the hashes of the files, then a blank hash of the config
 * itself. NULL: out of memory. */
static json_t *join(const json_t *values, const json_t *files)
{
    json_t *all = cla_json_copy((json_t *)values);
    json_t *hashes = cla_json_copy((json_t *)files);
    int failed = !all || !hashes;
    failed = failed ||
             json_object_set_new(hashes, CLA_SEAL_KEY, json_string(CLA_SEAL_BLANK));
    failed = failed || json_object_set(all, KEY, hashes);
    json_decref(hashes);
    if (failed) {
        json_decref(all);
        return NULL;
    }
    return all;
}

static cla_status write_sealed(const char *path, const json_t *values,
                               const json_t *files)
{
    json_t *all = join(values, files);
    char *json = all ? cla_json_write(all, JSON_INDENT(2), CLA_JSON_EXACT) : NULL;
    json_decref(all);
    cla_text text = { 0 };
    cla_status status = json ? cla_text_add(&text, "%s\n", json)
                             : cla_fail(CLA_E_NOMEM, "%s: out of memory", path);
    if (!status && !cla_seal_put(text.data, text.size, text.size)) {
        status = cla_fail(CLA_E_INPUT, "%s: no place for the hash", path);
    }
    status = status ? status : cla_file_write(path, text.data, text.size);
    cla_text_free(&text);
    free(json);
    return status;
}

cla_status cla_folder_write(const char *dir, const cla_config *settings,
                            const json_t *files)
{
    cla_text path = { 0 };
    cla_status status = cla_text_add(&path, "%s/config.json", dir);
    status = status  ? status
             : files ? write_sealed(path.data, settings->values, files)
                     : cla_config_save(settings, path.data);
    cla_text_free(&path);
    return status;
}

/* ---- states ------------------------------------------------------------------ */

/* Refuses a state without a hash when the config.json beside it has one: only a folder
 * of an older version has no hashes. */
static cla_status check_old(const char *path)
{
    const char *slash = cla_os_last_slash(path);
    cla_text config = { 0 };
    cla_seal seal = CLA_SEAL_NONE;
    CLA_TRY(cla_text_add(&config, "%.*sconfig.json",
                         slash ? (int)(slash + 1 - path) : 0, path));
    const cla_status status = read_seal(config.data, &seal);
    cla_text_free(&config);
    if (status == CLA_E_NOMEM || status == CLA_E_INPUT) return status;
    return seal == CLA_SEAL_NONE
               ? CLA_OK
               : cla_fail(CLA_E_INPUT,
                          "%s: damaged or changed: it has no hash, its config.json has "
                          "one",
                          path);
}

static cla_status check_numbers(const cla_st_file *file, const char *path, bool moments)
{
    for (size_t i = 0; !file->finite && i < file->count; i++) {
        const cla_st_tensor *t = &file->tensors[i];
        const bool counts = moments || !strchr(t->name, '/');
        if (counts && !cla_st_finite(t)) {
            return cla_fail(CLA_E_NUMERIC,
                            "%s: tensor '%s' holds numbers that are not finite: the "
                            "run that wrote it had diverged",
                            path, t->name);
        }
    }
    return CLA_OK;
}

cla_status cla_state_open(cla_st_file *file, const char *path, bool moments)
{
    CLA_TRY(cla_st_open(file, path));
    cla_status status = file->sealed ? CLA_OK : check_old(path);
    status = status ? status : check_numbers(file, path, moments);
    if (status) {
        cla_st_close(file);
    }
    return status;
}
