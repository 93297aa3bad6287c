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

/* The first key that one has and the other has not, or not so; NULL: none. What a run
 * keeps may differ, since it changes no result. */
const char *cla_settings_difference(const cla_config *a, const cla_config *b);

/* Gives settings the keys that the version which began the run did not write. Leaves a
 * config.json that cannot be read to cla_folder_same_settings. Errors: CLA_E_NOMEM. */
cla_status cla_folder_renew(const cla_folder *folder, cla_config *settings);

/* Refuses settings that differ from those the run was begun with, naming the key, and
 * files of the folder that do not have their hashes. Who
 * has claimed the folder writes a new `keep' into its config. */
cla_status cla_folder_same_settings(const cla_folder *folder,
                                    const cla_config *settings);

/* path/name; the caller frees. */
cla_status cla_folder_path(const cla_folder *folder, const char *name, char **path);

/* Whether there is path/name, be it readable or not. */
bool cla_folder_holds(const char *path, const char *name);

/* Refuses a symbolic link dir/name that leads out of dir, which whoever made the folder
 * chose. Errors: CLA_E_INPUT. */
cla_status cla_folder_inside(const char *dir, const char *name);

/* Copies the file name from one folder to another. A symbolic link that leads out of
 * its folder is not followed. Errors: CLA_E_INPUT (such a link), CLA_E_IO,
 * CLA_E_NOMEM. */
cla_status cla_folder_copy(const char *from, const char *to, const char *name);
