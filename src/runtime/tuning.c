/* tuning.c - constants that were measured best on a device.
 *
 * The file is JSON: { "device | driver": { "matmul_tile": { "MR": 6 } } }. A missing
 * file is none; a damaged one is named in a warning and not used. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/file.h"
#include "runtime/internal.h"

static cla_status device_key(const cla_runtime *rt, cla_text *key)
{
    return cla_text_add(key, "%s | %s | %s", rt->device.platform_name, rt->device.name,
                        rt->device.driver);
}

static cla_status find_path(cla_runtime *rt)
{
    const char *path = getenv("CLATTN_TUNING");
    if (path && *path) {
        return cla_strdup(&rt->tuning_path, path);
    }
    char *folder = NULL;
    if (!cla_data_folder(&folder)) {
        return CLA_OK;
    }
    cla_text text = { 0 };
    const cla_status status = cla_text_add(&text, "%s/tuning.json", folder);
    free(folder);
    rt->tuning_path = text.data;
    return status;
}

/* All devices' constants, an empty object where there is no (good) file. */
static json_t *read_all(const cla_runtime *rt)
{
    json_error_t error = { 0 };
    json_t *all = NULL;
    if (rt->tuning_path && access(rt->tuning_path, F_OK) == 0) {
        all = json_load_file(rt->tuning_path, 0, &error);
        if (!json_is_object(all)) {
            cla_log(CLA_LOG_WARN, "tuning: %s:%d: %s; using built-in constants",
                    rt->tuning_path, error.line,
                    *error.text ? error.text : "not an object");
            json_decref(all);
            all = NULL;
        }
    }
    return all ? all : json_object();
}

cla_status cla_tuning_init(cla_runtime *rt)
{
    CLA_TRY(find_path(rt));
    cla_text key = { 0 };
    json_t *all = read_all(rt);
    const cla_status status = device_key(rt, &key);
    json_t *mine = status ? NULL : json_object_get(all, key.data);
    rt->tuning = json_is_object(mine) ? json_deep_copy(mine) : json_object();
    json_decref(all);
    cla_text_free(&key);
    return status;
}

int cla_tuned(cla_runtime *rt, const char *name, const char *key, int fallback)
{
    const json_t *value = json_object_get(json_object_get(rt->tuning, name), key);
    return json_is_integer(value) ? (int)json_integer_value(value) : fallback;
}

cla_status cla_tuning_set(cla_runtime *rt, const char *name, const char *key, int value)
{
    json_t *group = json_object_get(rt->tuning, name);
    if (!json_is_object(group)) {
        group = json_object();
        if (json_object_set_new(rt->tuning, name, group)) {
            return cla_fail(CLA_E_NOMEM, "tuning: out of memory");
        }
    }
    if (json_object_set_new(group, key, json_integer(value))) {
        return cla_fail(CLA_E_NOMEM, "tuning: out of memory");
    }
    return CLA_OK;
}

void cla_tuning_clear(cla_runtime *rt, const char *name, const char *key)
{
    json_object_del(json_object_get(rt->tuning, name), key);
}

static cla_status write_all(const cla_runtime *rt, json_t *all)
{
    char *text = json_dumps(all, JSON_INDENT(2) | JSON_SORT_KEYS);
    if (!text) {
        return cla_fail(CLA_E_NOMEM, "tuning: out of memory");
    }
    char *slash = NULL;
    char *folder = NULL;
    cla_status status = cla_strdup(&folder, rt->tuning_path);
    if (!status && (slash = strrchr(folder, '/')) && slash != folder) {
        *slash = 0;
        status = cla_folder_make(folder);
    }
    status = status ? status : cla_file_write(rt->tuning_path, text, strlen(text));
    free(folder);
    free(text);
    return status;
}

cla_status cla_tuning_save(cla_runtime *rt, const char **path)
{
    if (!rt->tuning_path) {
        return cla_fail(CLA_E_IO, "tuning: no home folder; CLATTN_TUNING names a file");
    }
    cla_text key = { 0 };
    CLA_TRY(device_key(rt, &key));
    json_t *all = read_all(rt);
    cla_status status = json_object_set(all, key.data, rt->tuning)
                            ? cla_fail(CLA_E_NOMEM, "tuning: out of memory")
                            : write_all(rt, all);
    json_decref(all);
    cla_text_free(&key);
    *path = rt->tuning_path;
    return status;
}

void cla_tuning_hash(const cla_runtime *rt, char hash[17])
{
    char *text = json_dumps(rt->tuning, JSON_COMPACT | JSON_SORT_KEYS);
    const uint64_t h = text ? XXH3_64bits(text, strlen(text)) : 0;
    free(text);
    snprintf(hash, 17, "%016llx", (unsigned long long)h);
}
