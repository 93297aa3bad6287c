/* themes.c - the themes of a run: lists of words from a poets' dictionary. */
#include <errno.h>
#include <string.h>

#include "base/platform.h"
#include "tasks/poetry/poetry.h"

const char cla_poetry_themes_file[] = "themes.txt";

/* Removes the themes that a killed run left behind: a folder's themes count. */
static cla_status remove_old(const char *path)
{
    char reason[128];
    return cla_os_remove(path) || errno == ENOENT
               ? CLA_OK
               : cla_fail(CLA_E_IO, "%s: cannot be removed: %s", path,
                          cla_os_reason(errno, reason, sizeof reason));
}

cla_status cla_poetry_keep_themes(poetry *t, const char *dir)
{
    const bool given = *t->themes_path;
    cla_text path = { 0 };
    if (given) { // first: they may be in dir
        CLA_TRY(cla_themes_read(&t->themes, t->themes_path, &t->ranking));
    }
    if (!dir) {
        return CLA_OK;
    }
    cla_status status = cla_text_add(&path, "%s/%s", dir, cla_poetry_themes_file);
    if (!status) {
        status = given ? cla_themes_save(&t->themes, path.data, &t->ranking)
                       : remove_old(path.data);
    }
    cla_text_free(&path);
    return status;
}

cla_status cla_poetry_load_themes(poetry *t, const char *dir)
{
    cla_text path = { 0 };
    cla_status status = cla_text_add(&path, "%s/%s", dir, cla_poetry_themes_file);
    status = status || !cla_os_may(path.data, CLA_MAY_BE)
                 ? status
                 : cla_themes_read(&t->themes, path.data, &t->ranking);
    cla_text_free(&path);
    return status;
}
