/* publish.c - writes the folder of a new model, completely or not at all. */
#include "train/publish.h"

#include <assert.h>

#include "base/platform.h"
#include "train/integrity.h"

cla_status cla_publish_begin(cla_publish *p, const char *out,
                             volatile const int *signal)
{
    cla_os_info info;
    *p = (cla_publish){ .folder = { .lock = -1 }, .signal = signal };
    p->made = !cla_os_info_link(out, &info);
    return cla_folder_claim(&p->folder, out, false);
}

cla_status cla_publish_file(cla_publish *p, const char *name, char **path)
{
    assert(p->count < CLA_PUBLISHED);
    *path = NULL;
    if (p->signal && *p->signal) {
        return cla_fail(CLA_E_IO, "%s: stopped by a signal", p->folder.path);
    }
    CLA_TRY(cla_folder_path(&p->folder, name, path));
    const cla_status status = cla_strdup(&p->written[p->count], *path);
    p->count += !status;
    if (status) {
        free(*path);
        *path = NULL;
    }
    return status;
}

static cla_status copy(cla_publish *p, const char *from, const char *name)
{
    char *path = NULL;
    CLA_TRY(cla_publish_file(p, name, &path));
    free(path);
    return cla_folder_copy(from, p->folder.path, name);
}

cla_status cla_publish_vocabularies(cla_publish *p, const char *from,
                                    const cla_task_kind *kind)
{
    const char *name = NULL;
    for (int i = 0; (name = cla_task_file(kind, from, i)); i++) {
        CLA_TRY(copy(p, from, name));
    }
    return CLA_OK;
}

cla_status cla_publish_readme(cla_publish *p, const char *from)
{
    static const char name[] = "README.md";
    return cla_folder_holds(from, name) ? copy(p, from, name) : CLA_OK;
}

cla_status cla_publish_settings(cla_publish *p, const cla_config *settings,
                                const cla_task_kind *kind)
{
    char *path = NULL;
    json_t *files = NULL;
    CLA_TRY(cla_publish_file(p, "config.json", &path));
    free(path);
    CLA_TRY(cla_folder_hash(p->folder.path, kind, &files));
    const cla_status status = cla_folder_write(p->folder.path, settings, files);
    json_decref(files);
    return status;
}

static void remove_lock(const cla_publish *p)
{
    char *lock = NULL;
    if (p->folder.lock >= 0 && cla_folder_path(&p->folder, "lock", &lock) == CLA_OK) {
        cla_os_remove(lock);
    }
    free(lock);
}

static void remove_all(const cla_publish *p)
{
    for (int i = 0; i < p->count; i++) {
        cla_os_remove(p->written[i]);
    }
    if (p->made && p->folder.lock >= 0) {
        remove_lock(p);
        cla_os_remove_folder(p->folder.path);
    }
}

cla_status cla_publish_end(cla_publish *p, cla_status status)
{
    if (status) {
        remove_all(p);
    }
    for (int i = 0; i < p->count; i++) {
        free(p->written[i]);
    }
    cla_folder_release(&p->folder);
    return status;
}

cla_status cla_publish_end_foreign(cla_publish *p, cla_status status)
{
    if (!status) {
        remove_lock(p);
    }
    return cla_publish_end(p, status);
}
