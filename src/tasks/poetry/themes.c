/* themes.c - the themes of a run: lists of words from a poets' dictionary. */
#include <unistd.h>

#include "tasks/poetry/poetry.h"

const char poetry_themes_file[] = "themes.txt";

cla_status poetry_keep_themes(poetry *t, const char *dir)
{
    cla_text path = { 0 };
    if (!*t->themes_path) {
        return CLA_OK;
    }
    CLA_TRY(cla_themes_read(&t->themes, t->themes_path, &t->ranking));
    cla_status status =
        dir ? cla_text_add(&path, "%s/%s", dir, poetry_themes_file) : CLA_OK;
    status =
        status || !dir ? status : cla_themes_save(&t->themes, path.data, &t->ranking);
    cla_text_free(&path);
    return status;
}

cla_status poetry_load_themes(poetry *t, const char *dir)
{
    cla_text path = { 0 };
    cla_status status = cla_text_add(&path, "%s/%s", dir, poetry_themes_file);
    status = status || access(path.data, F_OK) != 0
                 ? status
                 : cla_themes_read(&t->themes, path.data, &t->ranking);
    cla_text_free(&path);
    return status;
}
