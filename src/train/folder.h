/* folder.h - a run folder: locked by one process and protected from other runs. */
#pragma once

#include "base/config.h"

typedef struct cla_folder {
    char *path;
    int lock;      // descriptor of path/lock, -1 when none
    bool made;     // cla_folder_claim made the folder
    char **before; // [before_count] names that it held then, for cla_folder_abandon
    size_t before_count, before_cap;
} cla_folder;

/* Makes the folder and locks it. Errors: CLA_E_USAGE (it holds a run and resume is not
 * set, it holds none and resume is set, or another process has the lock), CLA_E_IO,
 * CLA_E_NOMEM. */
cla_status cla_folder_claim(cla_folder *folder, const char *path, bool resume);
void cla_folder_release(cla_folder *folder);

/* Removes the files that came into a claimed folder, and the folder if claim made it: a
 * start that failed leaves nothing. Does nothing without the lock. */
void cla_folder_abandon(cla_folder *folder);

/* Returns the first key that only one of them has or whose values differ; NULL: none.
 * Ignores "epochs", "steps", "patience", "eval_every", "save_every", "log_every",
 * "keep" and "comment". */
const char *cla_settings_difference(const cla_config *a, const cla_config *b);

/* Adds to settings the keys that the version which began the run did not write, with
 * their meaning then. Leaves a config.json that cannot be read to
 * cla_folder_same_settings. Errors: CLA_E_NOMEM. */
cla_status cla_folder_renew(const cla_folder *folder, cla_config *settings);

/* Checks that settings have no cla_settings_difference from those of the run and that
 * the files of the folder match their hashes. If this process has claimed the folder,
 * writes new values of the ignored keys to config.json. Errors: CLA_E_USAGE (names the
 * differing key), those of cla_folder_settings. */
cla_status cla_folder_same_settings(const cla_folder *folder,
                                    const cla_config *settings);

/* Gives the path of the folder's file name, which the caller frees. Errors:
 * CLA_E_NOMEM. */
cla_status cla_folder_path(const cla_folder *folder, const char *name, char **path);

/* Returns whether path/name exists, readable or not. */
bool cla_folder_holds(const char *path, const char *name);

/* Refuses a symbolic link dir/name that leads out of dir: the maker of the folder chose
 * its target. Errors: CLA_E_INPUT. */
cla_status cla_folder_inside(const char *dir, const char *name);

/* Copies the file name from one folder to another. Does not follow a symbolic link that
 * leads out of its folder. Errors: CLA_E_INPUT (such a link), CLA_E_IO,
 * CLA_E_NOMEM. */
cla_status cla_folder_copy(const char *from, const char *to, const char *name);
