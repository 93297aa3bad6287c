/* file.h - reads and writes whole files; handles folders (folder.c). */
#pragma once

#include "base/base.h"

/* Reads all of path, which must be a regular file or lie in /dev. *data ends with a NUL
 * that *size does not count; the caller frees it.
 * Errors: CLA_E_IO (naming path and reason), CLA_E_NOMEM. */
cla_status cla_file_read(const char *path, char **data, size_t *size);

/* Called when the first size bytes have been read. data may move between calls. */
typedef void cla_file_seen(void *user, char *data, size_t size);
/* Reads as cla_file_read; calls seen after each piece, while a cache still holds it. */
cla_status cla_file_watch(const char *path, char **data, size_t *size,
                          cla_file_seen *seen, void *user);

/* Reads as cla_file_read, but path may be a FIFO, whose writer it waits for. */
cla_status cla_input_read(const char *path, char **data, size_t *size);
/* Reads standard input in the same way. */
cla_status cla_stdin_read(char **data, size_t *size);

/* Sets *same to whether path holds exactly these bytes. Errors: those of
 * cla_file_read. */
cla_status cla_file_compare(const char *path, const char *data, size_t size,
                            bool *same);

/* Writes path whole or not at all: writes a temporary file, syncs it, reads it back and
 * compares, renames it, syncs the folder.
 * Errors: CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_file_write(const char *path, const void *data, size_t size);

/* Makes a folder and its parents. Errors: CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_folder_make(const char *path);

/* Lists the paths of all files below folder that end in suffix, sorted. A folder that
 * is a file gives its own path. Errors: CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_folder_list(const char *folder, const char *suffix, char ***paths,
                           size_t *count);
/* Lists the names in one folder, sorted by bytes; cla_folder_list_free frees them. */
cla_status cla_folder_names(const char *folder, char ***names, size_t *count);
void cla_folder_list_free(char ***paths, size_t count);
/* Removes a folder with all that it holds; links in it are removed, not followed.
 * Errors: CLA_E_IO (what could be removed is), CLA_E_NOMEM. */
cla_status cla_folder_remove(const char *folder);

/* Give $XDG_CACHE_HOME/clattn and $XDG_DATA_HOME/clattn, or their defaults under $HOME;
 * on Windows both default to %LOCALAPPDATA%. Return false without a home folder or
 * memory. The caller frees *path. */
bool cla_cache_folder(char **path);
bool cla_data_folder(char **path);
