/* file.h - whole files in, whole files out, and the folders programs keep things in. */
#pragma once

#include "base/base.h"

/* Reads all of path, which must be a regular file or lie in /dev; *data ends with a NUL
 * that *size does not count. The caller frees.
 * Errors: CLA_E_IO (naming path and reason), CLA_E_NOMEM. */
cla_status cla_file_read(const char *path, char **data, size_t *size);

/* Is told that the first size bytes have been read. data may move between calls. */
typedef void cla_file_seen(void *user, char *data, size_t size);
/* cla_file_read that calls seen after each piece, while a cache still holds it. */
cla_status cla_file_watch(const char *path, char **data, size_t *size,
                          cla_file_seen *seen, void *user);

/* cla_file_read of a path that may be a FIFO: waits for its writer. */
cla_status cla_input_read(const char *path, char **data, size_t *size);
/* The same for standard input. */
cla_status cla_stdin_read(char **data, size_t *size);

/* Whether path holds exactly these bytes. Errors: as cla_file_read. */
cla_status cla_file_compare(const char *path, const char *data, size_t size,
                            bool *same);

/* Writes path whole or not at all: temporary file, fsync, the bytes read back and
 * compared, rename, fsync of the folder.
 * Errors: CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_file_write(const char *path, const void *data, size_t size);

/* mkdir -p. Errors: CLA_E_IO. */
cla_status cla_folder_make(const char *path);

/* Paths of all files below folder that end in suffix (folder itself when it is a file),
 * sorted. Errors: CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_folder_list(const char *folder, const char *suffix, char ***paths,
                           size_t *count);
void cla_folder_list_free(char ***paths, size_t count);

/* $XDG_CACHE_HOME/clattn, $XDG_DATA_HOME/clattn, or their defaults under $HOME; false
 * when there is no home. The caller frees *path. */
bool cla_cache_folder(char **path);
bool cla_data_folder(char **path);
