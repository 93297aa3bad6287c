/* verify_files.c - finds the files of clattn verify. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/platform.h"
#include "cli/verify.h"

typedef struct list {
    char **files;
    size_t count, cap;
} list;

static cla_status add_path(list *l, const char *path)
{
    char **found = NULL;
    size_t count = 0;
    CLA_TRY(cla_folder_list(path, ".safetensors", &found, &count));
    if (count == 0) {
        return cla_fail(CLA_E_INPUT, "%s: contains no .safetensors file", path);
    }
    const cla_status status =
        cla_grow(&l->files, &l->cap, l->count + count, sizeof(char *));
    if (status) {
        cla_folder_list_free(&found, count);
        return status;
    }
    memcpy(l->files + l->count, found, count * sizeof(char *));
    l->count += count;
    free(found);
    return CLA_OK;
}

/* Gives the folder of the built-in cases: beside the installed program, beside the
 * built one, or the one that an installation fills. */
static cla_status builtin_folder(cla_text *folder)
{
    static const char *const places[] = { "../share/clattn/golden",
                                          "tests/data/golden" };
    char program[4096];
    char *slash =
        cla_os_program(program, sizeof program) ? cla_os_last_slash(program) : NULL;
    for (int i = 0; slash && i < 2; i++) {
        folder->size = 0;
        CLA_TRY(cla_text_add(folder, "%.*s/%s", (int)(slash - program), program,
                             places[i]));
        if (cla_os_may(folder->data, CLA_MAY_READ)) {
            return CLA_OK;
        }
    }
    folder->size = 0;
    return cla_text_add(folder, "%s/golden", CLATTN_DATA_FOLDER);
}

static cla_status list_files(list *l, const cli_words *paths)
{
    for (int i = 0; i < paths->count; i++) {
        CLA_TRY(add_path(l, paths->word[i]));
    }
    if (paths->count > 0) {
        return CLA_OK;
    }
    cla_text folder = { 0 };
    cla_status status = builtin_folder(&folder);
    status = status ? status : add_path(l, folder.data);
    cla_text_free(&folder);
    return status;
}

cla_status cli_verify_files(const cli_words *paths, char ***files, size_t *count)
{
    list l = { 0 };
    const cla_status status = list_files(&l, paths);
    *files = l.files;
    *count = l.count;
    return status;
}
