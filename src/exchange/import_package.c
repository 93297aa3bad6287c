/* import_package.c - reads the files of a folder or of an Argos package. */
#include "exchange/import_package.h"

#include <string.h>

#include "base/file.h"
#include "base/platform.h"
#include "train/folder.h"

#define METADATA "metadata.json"

/* Finds the folder of the archive that holds the description of the package. */
static cla_status find_top(import_package *p)
{
    for (size_t i = 0; i < p->zip.count; i++) {
        const char *name = p->zip.entries[i].name, *slash = strchr(name, '/');
        if (slash && strcmp(slash + 1, METADATA) == 0) {
            CLA_TRY(cla_alloc(&p->top, (size_t)(slash - name) + 2, 1));
            memcpy(p->top, name, (size_t)(slash - name) + 1);
            return CLA_OK;
        }
    }
    return cla_fail(CLA_E_INPUT, "%s: is no package of Argos: has no FOLDER/" METADATA,
                    p->path);
}

cla_status cla_package_open(import_package *p, const char *path)
{
    cla_os_info info;
    *p = (import_package){ .path = path };
    if (!cla_os_info_of(path, &info) || info.kind == CLA_OS_FOLDER) {
        return CLA_OK; // one that is not there lacks each file
    }
    p->archive = true;
    CLA_TRY(cla_zip_open(&p->zip, path, true));
    return find_top(p);
}

void cla_package_close(import_package *p)
{
    cla_zip_close(&p->zip);
    free(p->top);
    *p = (import_package){ 0 };
}

static cla_status find(const import_package *p, const char *name,
                       const cla_zip_entry **entry)
{
    cla_text whole = { 0 };
    CLA_TRY(cla_text_add(&whole, "%s%s", p->top, name));
    *entry = cla_zip_find(&p->zip, whole.data);
    cla_text_free(&whole);
    return CLA_OK;
}

bool cla_package_holds(const import_package *p, const char *name)
{
    const cla_zip_entry *entry = NULL;
    return p->archive ? !find(p, name, &entry) && entry
                      : cla_folder_holds(p->path, name);
}

cla_status cla_package_read(const import_package *p, const char *name, cla_text *path,
                            char **bytes, size_t *size)
{
    const cla_zip_entry *entry = NULL;
    *bytes = NULL;
    *size = 0;
    if (!cla_package_holds(p, name)) {
        return cla_fail(CLA_E_INPUT, "%s: has no %s", p->path, name);
    }
    CLA_TRY(cla_text_add(path, "%s/%s", p->path, name));
    if (p->archive) {
        CLA_TRY(find(p, name, &entry));
        *size = entry->size;
        return cla_zip_read(&p->zip, entry, bytes);
    }
    CLA_TRY(cla_folder_inside(p->path, name));
    return cla_file_read(path->data, bytes, size);
}
