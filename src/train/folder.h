/* folder.h - a run's folder: claimed by one process, refused when it holds another run.
 * */
#pragma once

#include "base/config.h"

typedef struct cla_folder {
    char *path;
    int lock; // descriptor of path/lock, -1 when none
} cla_folder;

/* Makes the folder and locks it. Errors: CLA_E_USAGE (it holds a run and resume is not
 * asked,
 * it holds none and resume is asked, or another process has the lock), CLA_E_IO. */
cla_status cla_folder_claim(cla_folder *folder, const char *path, bool resume);
void cla_folder_release(cla_folder *folder);

/* Refuses settings that differ from those the run was begun with, naming the key. */
cla_status cla_folder_same_settings(const cla_folder *folder,
                                    const cla_config *settings);

/* path/name; the caller frees. */
cla_status cla_folder_path(const cla_folder *folder, const char *name, char **path);
