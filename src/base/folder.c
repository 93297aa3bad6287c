/* folder.c - makes, lists and removes folders. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/platform.h"
#include "base/text.h"

static cla_status fail_io(const char *what, const char *path)
{
    const int error = errno;
    char reason[128];
    return cla_fail(CLA_E_IO, "%s: cannot %s: %s", *path ? path : "''", what,
                    cla_os_reason(error, reason, sizeof reason));
}

/* ---- making ---------------------------------------------------------------- */

static bool is_folder(const char *path)
{
    cla_os_info info;
    return cla_os_info_of(path, &info) && info.kind == CLA_OS_FOLDER;
}

cla_status cla_folder_make(const char *path)
{
    char *prefix;
    CLA_TRY(cla_strdup(&prefix, path));
    cla_status status = CLA_OK;
    for (size_t i = 1; *path && !status; i++) {
        const char end = path[i];
        if (!cla_os_is_slash(end) && end != '\0') continue;
        prefix[i] = '\0';
        if (!cla_os_make_folder(prefix) && !is_folder(prefix)) {
            status = fail_io("make folder", prefix);
        }
        if (end == '\0') break;
        prefix[i] = end;
    }
    free(prefix);
    return status;
}

/* ---- names in one folder --------------------------------------------------- */

typedef struct name_list {
    char **names;
    size_t count, cap;
} name_list;

static cla_status add_name(name_list *list, const char *name)
{
    CLA_TRY(cla_grow(&list->names, &list->cap, list->count + 1, sizeof *list->names));
    CLA_TRY(cla_strdup(&list->names[list->count], name));
    list->count++;
    return CLA_OK;
}

/* Adds the names of a folder. */
static cla_status read_names(name_list *list, const char *folder)
{
    cla_os_list *names = cla_os_list_begin(folder);
    cla_status status = names ? CLA_OK : fail_io("open", folder);
    while (!status) {
        const char *name = cla_os_list_next(names);
        if (!name) {
            status = errno ? fail_io("read", folder) : CLA_OK;
            break;
        }
        status = add_name(list, name);
    }
    cla_os_list_end(names);
    return status;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Hands a list over, sorted by bytes; frees it on failure. */
static cla_status hand_over(name_list *list, cla_status status, char ***names,
                            size_t *count)
{
    if (status) cla_folder_list_free(&list->names, list->count);
    if (list->names) {
        qsort(list->names, list->count, sizeof *list->names, compare_names);
    }
    *names = list->names;
    *count = status ? 0 : list->count;
    return status;
}

cla_status cla_folder_names(const char *folder, char ***names, size_t *count)
{
    name_list list = { 0 };
    const cla_status status = read_names(&list, folder);
    return hand_over(&list, status, names, count);
}

void cla_folder_list_free(char ***paths, size_t count)
{
    for (size_t i = 0; *paths && i < count; i++) {
        free((*paths)[i]);
    }
    free(*paths);
    *paths = NULL;
}

/* ---- all files below a folder ---------------------------------------------- */

/* A folder that is listed, or waits for that. */
typedef struct place {
    char *path;
    size_t around; // index of the folder around it; its own: the first one
    uint64_t device, number;
} place;

typedef struct walk {
    place *places;
    size_t count, cap;
    name_list files;
    const char *suffix;
    bool links; // are followed
} walk;

static void walk_fini(walk *w)
{
    for (size_t i = 0; i < w->count; i++) {
        free(w->places[i].path);
    }
    free(w->places);
}

/* Returns whether a folder is one of those around place i, or place i. */
static bool lies_around(const walk *w, size_t i, const cla_os_info *info)
{
    for (;; i = w->places[i].around) {
        const place *p = &w->places[i];
        if (p->device == info->device && p->number == info->number) return true;
        if (p->around == i) return false;
    }
}

static cla_status add_place(walk *w, const char *path, size_t around,
                            const cla_os_info *info)
{
    place p = { .around = around, .device = info->device, .number = info->number };
    CLA_TRY(cla_grow(&w->places, &w->cap, w->count + 1, sizeof *w->places));
    CLA_TRY(cla_strdup(&p.path, path));
    w->places[w->count++] = p;
    return CLA_OK;
}

/* Adds what a path of folder i names: a file that ends in the suffix, or a folder. A
 * folder around itself, which a link makes, and a link to nothing are left out. */
static cla_status add_entry(walk *w, size_t i, const char *path)
{
    cla_os_info info;
    if (w->links ? !cla_os_info_of(path, &info) : !cla_os_info_link(path, &info)) {
        return cla_os_info_link(path, &info) ? CLA_OK : fail_io("open", path);
    }
    if (info.kind == CLA_OS_FOLDER) {
        return lies_around(w, i, &info) ? CLA_OK : add_place(w, path, i, &info);
    }
    const bool wanted = info.kind == CLA_OS_FILE || !w->links;
    return wanted && cla_ends_in(path, w->suffix) ? add_name(&w->files, path) : CLA_OK;
}

static cla_status walk_place(walk *w, size_t i)
{
    name_list names = { 0 };
    cla_text path = { 0 };
    cla_status status = read_names(&names, w->places[i].path);
    for (size_t k = 0; k < names.count && !status; k++) {
        const char *folder = w->places[i].path;
        const bool slash = *folder && cla_os_is_slash(folder[strlen(folder) - 1]);
        path.size = 0;
        status =
            cla_text_add(&path, "%s%s%s", folder, slash ? "" : "/", names.names[k]);
        status = status ? status : add_entry(w, i, path.data);
    }
    cla_folder_list_free(&names.names, names.count);
    cla_text_free(&path);
    return status;
}

/* Walks through all places, to which each adds those in it. */
static cla_status walk_all(walk *w, const char *folder)
{
    cla_os_info info;
    if (!cla_os_info_of(folder, &info)) return fail_io("open", folder);
    if (info.kind != CLA_OS_FOLDER) { // the argument itself needs no suffix
        return info.kind == CLA_OS_FILE ? add_name(&w->files, folder) : CLA_OK;
    }
    CLA_TRY(add_place(w, folder, 0, &info));
    for (size_t i = 0; i < w->count; i++) {
        CLA_TRY(walk_place(w, i));
    }
    return CLA_OK;
}

cla_status cla_folder_list(const char *folder, const char *suffix, char ***paths,
                           size_t *count)
{
    walk w = { .suffix = suffix, .links = true };
    const cla_status status = walk_all(&w, folder);
    walk_fini(&w);
    return hand_over(&w.files, status, paths, count);
}

cla_status cla_folder_remove(const char *folder)
{
    walk w = { .suffix = "" };
    cla_status status = walk_all(&w, folder);
    for (size_t i = 0; i < w.files.count; i++) {
        const bool removed = cla_os_remove(w.files.names[i]);
        status = removed || status ? status : fail_io("remove", w.files.names[i]);
    }
    for (size_t i = w.count; i-- > 0;) { // those inside a folder lie behind it
        const bool removed = cla_os_remove_folder(w.places[i].path);
        status = removed || status ? status : fail_io("remove", w.places[i].path);
    }
    cla_folder_list_free(&w.files.names, w.files.count);
    walk_fini(&w);
    return status;
}

/* ---- cache and data folders ------------------------------------------------ */

static bool home_folder(char **path, const char *variable, const char *below_home)
{
    cla_text text = { 0 };
    char *base = cla_os_user_folder(variable, below_home);
    *path = NULL;
    if (base && !cla_text_add(&text, "%s/clattn", base)) {
        *path = text.data;
    } else {
        cla_text_free(&text);
    }
    free(base);
    return *path != NULL;
}

bool cla_cache_folder(char **path)
{
    return home_folder(path, "XDG_CACHE_HOME", ".cache");
}

bool cla_data_folder(char **path)
{
    return home_folder(path, "XDG_DATA_HOME", ".local/share");
}
