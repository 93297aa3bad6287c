/* cache_files.h - the kernel cache's own folder and the files in it.
 *
 * The cache works in one sub-folder of the folder that it is given. It opens the
 * sub-folder once and names files relative to that descriptor, so replacing a folder on
 * the way later changes nothing. It follows no symbolic link, enters no other folder,
 * and deletes a file only if its name and its header are those of an entry. */
#pragma once

#include "base/base.h"
#include "base/text.h"

enum { CLA_CACHE_ID = 33 }; // 32 hexadecimal digits and a NUL

/* Opens the cache's sub-folder of given, and creates it if there is none. *path
 * receives its path (or the part that failed), for messages. Returns a descriptor that
 * the caller closes, or -1 with the reason in *why. The sub-folder must belong to this
 * user, no other user may have the right to write to it, and it must hold the cache's
 * CACHEDIR.TAG. */
int cla_cache_files_open(const char *given, cla_text *path, const char **why);

/* Appends the path of an entry, for messages. */
cla_status cla_cache_files_path(cla_text *path, const char *folder_path,
                                const char *id);

/* Reads the data of an entry; the caller frees *data. *data is NULL when the entry
 * cannot be used. *why is then the reason, if the file is damaged or other users can
 * write to it; it is NULL if there is no such regular file, or no memory. */
void cla_cache_files_read(int folder, const char *id, unsigned char **data,
                          size_t *size, const char **why);

/* Writes an entry whole or not at all. It replaces an older regular file of that name,
 * but nothing else. Errors: CLA_E_IO. */
cla_status cla_cache_files_write(int folder, const char *id, const void *data,
                                 size_t size);

/* Deletes an entry. */
void cla_cache_files_remove(int folder, const char *id);

/* Deletes the entries unused for longest until those left take at most limit bytes. */
void cla_cache_files_shrink(int folder, uint64_t limit);
