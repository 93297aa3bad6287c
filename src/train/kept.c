/* kept.c - evaluated states that a run keeps. */
#include "train/kept.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

/* All steps have as many digits as the largest `steps', so that names sort by step. */
#define PREFIX "kept-"
#define SUFFIX ".ckpt.safetensors"
enum { DIGITS = 10, NAME_BYTES = 64 };

/* Returns the step in the file name of a kept state; -1 for any other name. */
static int64_t step_of(const char *name)
{
    char digits[DIGITS + 1] = "";
    int64_t step = 0;
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0) {
        return -1;
    }
    name += strlen(PREFIX);
    if (strspn(name, "0123456789") != DIGITS || strcmp(name + DIGITS, SUFFIX) != 0) {
        return -1;
    }
    memcpy(digits, name, DIGITS);
    return cla_parse_int(digits, &step) ? step : -1;
}

static int is_state(const struct dirent *entry)
{
    return step_of(entry->d_name) >= 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

cla_status cla_kept_save(const cla_folder *folder, const cla_params *params,
                         const cla_progress *progress)
{
    char name[NAME_BYTES];
    char *path = NULL;
    snprintf(name, sizeof name, PREFIX "%0*lld" SUFFIX, DIGITS,
             (long long)progress->step);
    CLA_TRY(cla_folder_path(folder, name, &path));
    const cla_status status = cla_checkpoint_save(path, params, NULL, progress);
    free(path);
    return status;
}

cla_status cla_kept_list(const char *dir, char ***paths, size_t *count)
{
    struct dirent **entries = NULL;
    *paths = NULL;
    *count = 0;
    const int n = scandir(dir, &entries, is_state, by_name);
    if (n < 0) {
        return cla_fail(CLA_E_IO, "%s: %s", dir, strerror(errno));
    }
    cla_status status = cla_alloc(paths, (size_t)n + 1, sizeof **paths);
    for (int i = 0; i < n; i++) {
        cla_text path = { 0 };
        status =
            status ? status : cla_text_add(&path, "%s/%s", dir, entries[i]->d_name);
        if (!status) {
            (*paths)[(*count)++] = path.data;
        }
        free(entries[i]);
    }
    free(entries);
    if (status) {
        cla_folder_list_free(paths, *count);
    }
    return status;
}

cla_status cla_kept_trim(const cla_folder *folder, int keep, int64_t step)
{
    char **paths = NULL;
    size_t count = 0, first = 0;
    CLA_TRY(cla_kept_list(folder->path, &paths, &count));
    size_t end = count;
    while (end && step_of(strrchr(paths[end - 1], '/') + 1) > step) {
        end--;
    }
    first = end > (size_t)keep ? end - (size_t)keep : 0;
    cla_status status = CLA_OK;
    for (size_t i = 0; i < count; i++) {
        if ((i < first || i >= end) && unlink(paths[i])) {
            status = cla_fail(CLA_E_IO, "%s: %s", paths[i], strerror(errno));
        }
    }
    cla_folder_list_free(&paths, count);
    return status;
}
