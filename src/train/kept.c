/* kept.c - evaluated states that a run keeps. */
#include "train/kept.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/platform.h"
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
    char **names = NULL;
    size_t n = 0;
    *paths = NULL;
    *count = 0;
    CLA_TRY(cla_folder_names(dir, &names, &n));
    cla_status status = cla_alloc(paths, n + 1, sizeof **paths);
    for (size_t i = 0; i < n && !status; i++) {
        cla_text path = { 0 };
        if (step_of(names[i]) < 0) {
            continue;
        }
        status = cla_text_add(&path, "%s/%s", dir, names[i]);
        if (!status) {
            (*paths)[(*count)++] = path.data;
        }
    }
    cla_folder_list_free(&names, n);
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
        if ((i < first || i >= end) && !cla_os_remove(paths[i])) {
            status = cla_fail(CLA_E_IO, "%s: %s", paths[i], strerror(errno));
        }
    }
    cla_folder_list_free(&paths, count);
    return status;
}
