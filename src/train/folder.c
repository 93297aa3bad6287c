/* folder.c - a run folder: its lock, its settings, copies of its files. */
#include "train/folder.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/platform.h"
#include "base/text.h"
#include "train/integrity.h"

cla_status cla_folder_path(const cla_folder *folder, const char *name, char **path)
{
    cla_text text = { 0 };
    CLA_TRY(cla_text_add(&text, "%s/%s", folder->path, name));
    *path = text.data;
    return CLA_OK;
}

/* Allocates nothing: a failed allocation would look like a missing file. */
bool cla_folder_holds(const char *path, const char *name)
{
    char text[4096]; // no system call takes a longer name
    cla_os_info info;
    snprintf(text, sizeof text, "%s/%s", path, name);
    return cla_os_info_link(text, &info) || (errno != ENOENT && errno != ENOTDIR);
}

static cla_status lock(cla_folder *folder)
{
    char *path = NULL;
    CLA_TRY(cla_folder_path(folder, "lock", &path));
    folder->lock = cla_os_open(path, CLA_OPEN_BOTH | CLA_OPEN_CREATE, 0644);
    cla_status status = CLA_OK;
    if (folder->lock < 0) {
        status = cla_fail(CLA_E_IO, "%s: cannot be written: %s", path, strerror(errno));
    } else if (!cla_os_lock(folder->lock)) {
        status =
            errno == EWOULDBLOCK
                ? cla_fail(CLA_E_USAGE, "%s: another process is writing this run",
                           folder->path)
                : cla_fail(CLA_E_IO, "%s: cannot be locked: %s", path, strerror(errno));
    }
    free(path);
    return status;
}

/* Returns whether a name has the form NAME.PROCESS-COUNT.tmp of cla_file_write. */
static bool has_scrap_name(const char *name)
{
    static const char digits[] = "0123456789";
    const char *dot = *name && *name != '.' ? strchr(name, '.') : NULL;
    for (; dot; dot = strchr(dot + 1, '.')) {
        const size_t process = strspn(dot + 1, digits);
        const char *dash = dot + 1 + process;
        const size_t count = *dash == '-' ? strspn(dash + 1, digits) : 0;
        if (process && count && strcmp(dash + 1 + count, ".tmp") == 0) {
            return true;
        }
    }
    return false;
}

/* Returns whether an entry of a folder is a temporary file of cla_file_write. */
static bool is_scrap(int dir, const char *name)
{
    cla_os_info info;
    return has_scrap_name(name) && cla_os_info_in(dir, name, &info) &&
           info.kind == CLA_OS_FILE;
}

/* Removes the temporary files of cla_file_write that a killed process left behind. The
 * folder's own name may contain [, * and ?, so only names inside it are matched. */
static void remove_scraps(const cla_folder *folder)
{
    cla_os_list *list = cla_os_list_begin(folder->path);
    for (const char *name; list && (name = cla_os_list_next(list));) {
        if (is_scrap(cla_os_list_folder(list), name)) {
            cla_os_remove_in(cla_os_list_folder(list), name);
        }
    }
    cla_os_list_end(list);
}

/* ---- claiming ------------------------------------------------------------------- */

/* Remembers the names in the folder, so that those that come can be told from them. */
static cla_status list_names(cla_folder *folder)
{
    cla_status status = CLA_OK;
    cla_os_list *list = cla_os_list_begin(folder->path);
    for (const char *name; list && !status && (name = cla_os_list_next(list));) {
        const size_t count = folder->before_count + 1;
        status = cla_grow(&folder->before, &folder->before_cap, count, sizeof(char *));
        status = status ? status : cla_strdup(&folder->before[count - 1], name);
        folder->before_count += !status;
    }
    cla_os_list_end(list);
    return status;
}

static bool was_there(const cla_folder *folder, const char *name)
{
    for (size_t i = 0; i < folder->before_count; i++) {
        if (strcmp(folder->before[i], name) == 0) {
            return true;
        }
    }
    return false;
}

void cla_folder_abandon(cla_folder *folder)
{
    cla_os_list *list = folder->lock >= 0 ? cla_os_list_begin(folder->path) : NULL;
    if (!list) {
        return;
    }
    for (const char *name; (name = cla_os_list_next(list));) {
        if (!was_there(folder, name)) {
            cla_os_remove_in(cla_os_list_folder(list), name); // leaves folders
        }
    }
    cla_os_list_end(list);
    if (folder->made) {
        cla_os_remove_folder(folder->path);
    }
}

static cla_status refuse_run(const char *path, bool resume)
{
    const bool run = cla_folder_holds(path, "config.json");
    if (run && !resume) {
        return cla_fail(CLA_E_USAGE,
                        "%s holds a run: --resume continues it, or choose another "
                        "folder",
                        path);
    }
    return !run && resume ? cla_fail(CLA_E_USAGE, "%s holds no run to resume", path)
                          : CLA_OK;
}

static cla_status claim(cla_folder *folder, bool resume)
{
    cla_os_info info;
    CLA_TRY(resume ? refuse_run(folder->path, resume) : CLA_OK); // makes no folder
    folder->made = !cla_os_info_link(folder->path, &info);
    CLA_TRY(cla_folder_make(folder->path));
    CLA_TRY(list_names(folder));
    CLA_TRY(lock(folder));
    CLA_TRY(refuse_run(folder->path, resume));
    remove_scraps(folder);
    return CLA_OK;
}

cla_status cla_folder_claim(cla_folder *folder, const char *path, bool resume)
{
    *folder = (cla_folder){ .lock = -1 };
    CLA_TRY(cla_strdup(&folder->path, path));
    return claim(folder, resume);
}

void cla_folder_release(cla_folder *folder)
{
    if (folder->lock >= 0) {
        cla_os_close(folder->lock);
    }
    for (size_t i = 0; i < folder->before_count; i++) {
        free(folder->before[i]);
    }
    free(folder->before);
    free(folder->path);
    *folder = (cla_folder){ .lock = -1 };
}

/* ---- settings ------------------------------------------------------------------- */

/* The keys in which two runs may differ: they set when a run ends, evaluates and
 * writes, or are for readers. None changes the next step, except that an annealed
 * learning rate depends on "steps". */
static const char *const free_keys[] = { "epochs",     "steps",      "patience",
                                         "eval_every", "save_every", "log_every",
                                         "keep",       "comment",    NULL };

static bool is_free(const char *key)
{
    for (int i = 0; free_keys[i]; i++) {
        if (strcmp(key, free_keys[i]) == 0) {
            return true;
        }
    }
    return false;
}

static const char *first_difference(const json_t *a, const json_t *b)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)a, key, value)
    {
        const json_t *other = json_object_get(b, key);
        if (is_free(key)) {
            continue;
        }
        const bool numbers = json_is_number(value) && json_is_number(other);
        if (numbers ? json_number_value(value) != json_number_value(other)
                    : !json_equal(value, other)) {
            return key;
        }
    }
    return NULL;
}

const char *cla_settings_difference(const cla_config *a, const cla_config *b)
{
    const char *key = first_difference(a->values, b->values);
    return key ? key : first_difference(b->values, a->values);
}

static cla_status compare_settings(const cla_folder *folder, const cla_config *settings,
                                   const cla_config *saved, const json_t *files)
{
    const char *key = cla_settings_difference(settings, saved);
    if (key) {
        return cla_fail(CLA_E_USAGE,
                        "%s: the run was begun with another '%s' (see %s/config.json)",
                        folder->path, key, folder->path);
    }
    bool same = true;
    for (int i = 0; free_keys[i]; i++) {
        same = same && json_equal(json_object_get(settings->values, free_keys[i]),
                                  json_object_get(saved->values, free_keys[i]));
    }
    return folder->lock < 0 || same ? CLA_OK
                                    : cla_folder_write(folder->path, settings, files);
}

cla_status cla_folder_renew(const cla_folder *folder, cla_config *settings)
{
    char *path = NULL;
    cla_config saved = { 0 };
    CLA_TRY(cla_folder_path(folder, "config.json", &path));
    cla_status status = cla_config_read(&saved, path);
    status = status ? status : cla_task_renew(settings, &saved);
    cla_config_fini(&saved);
    free(path);
    return status == CLA_E_NOMEM ? status : CLA_OK;
}

cla_status cla_folder_same_settings(const cla_folder *folder,
                                    const cla_config *settings)
{
    cla_config saved = { 0 };
    json_t *files = NULL;
    cla_status status = cla_folder_read(folder->path, &saved, &files);
    status = status ? status : cla_folder_compare_all(folder->path, files);
    status = status ? status : cla_task_renew(&saved, &saved);
    if (!status && settings->defaults) { // keys that an older version did not have
        status = cla_config_complete(&saved, json_incref(settings->defaults));
    }
    status = status ? status : compare_settings(folder, settings, &saved, files);
    json_decref(files);
    cla_config_fini(&saved);
    return status;
}

/* ---- files of a folder ----------------------------------------------------------- */

static cla_status check_inside(const char *dir, const char *path)
{
    char *folder = cla_os_real_path(dir), *real = cla_os_real_path(path);
    const size_t size = folder ? strlen(folder) : 0;
    cla_status status = CLA_OK; // a missing file fails when it is read
    if (folder && real &&
        (strncmp(real, folder, size) != 0 || !cla_os_is_slash(real[size]))) {
        status = cla_fail(CLA_E_INPUT, "%s: is a link to a file outside of its folder",
                          path);
    }
    free(folder);
    free(real);
    return status;
}

cla_status cla_folder_inside(const char *dir, const char *name)
{
    cla_text path = { 0 };
    cla_status status = cla_text_add(&path, "%s/%s", dir, name);
    status = status ? status : check_inside(dir, path.data);
    cla_text_free(&path);
    return status;
}

cla_status cla_folder_copy(const char *from, const char *to, const char *name)
{
    cla_text source = { 0 }, target = { 0 };
    char *data = NULL;
    size_t size = 0;
    cla_status status = cla_text_add(&source, "%s/%s", from, name);
    status = status ? status : cla_text_add(&target, "%s/%s", to, name);
    status = status ? status : check_inside(from, source.data);
    status = status ? status : cla_file_read(source.data, &data, &size);
    status = status ? status : cla_file_write(target.data, data, size);
    free(data);
    cla_text_free(&source);
    cla_text_free(&target);
    return status;
}
