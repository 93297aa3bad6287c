/* publish.h - writes the folder of a new model, completely or not at all. */
#pragma once

#include "train/folder.h"
#include "train/task.h"

enum { CLA_PUBLISHED = 16 }; // files of a model folder, at most

typedef struct cla_publish {
    cla_folder folder;
    bool made;                  // the folder is new
    volatile const int *signal; // set by a handler: stop after the current file
    char *written[CLA_PUBLISHED];
    int count;
} cla_publish;

/* Claims the folder out. signal may be NULL. Call cla_publish_end in any case. Errors:
 * those of cla_folder_claim. */
cla_status cla_publish_begin(cla_publish *p, const char *out,
                             volatile const int *signal);

/* Records that the folder's file name is about to be written, and gives its path, which
 * the caller frees. Errors: CLA_E_IO (a signal came), CLA_E_NOMEM. */
cla_status cla_publish_file(cla_publish *p, const char *name, char **path);

/* Copies the kind's vocabularies from the folder of a run.
 * Errors: CLA_E_INPUT (a link out of the folder), CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_publish_vocabularies(cla_publish *p, const char *from,
                                    const cla_task_kind *kind);

/* Copies README.md of a folder, if it has one. Errors: the same. */
cla_status cla_publish_readme(cla_publish *p, const char *from);

/* Writes config.json with the hashes of the vocabularies. Call it last: a folder
 * without settings is no model yet. Errors: CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_publish_settings(cla_publish *p, const cla_config *settings,
                                const cla_task_kind *kind);

/* Releases the folder. After a failure, removes the written files, and the folder if it
 * is new. Returns status. */
cla_status cla_publish_end(cla_publish *p, cla_status status);
/* Does the same for a folder of another program's format, which has no lock file. */
cla_status cla_publish_end_foreign(cla_publish *p, cla_status status);
