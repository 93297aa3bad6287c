/* import_package.h - the files of a model: a folder, or an Argos package, which is a
 * ZIP archive with one folder. */
#pragma once

#include "base/text.h"
#include "base/zip.h"

typedef struct import_package {
    const char *path;
    bool archive;
    cla_zip zip; // of an archive
    char *top;   // of an archive: its folder and '/'
} import_package;

/* Opens a folder or a file. path must live as long as p. Call cla_package_close in any
 * case. Errors: CLA_E_INPUT (the file is no archive of a package), CLA_E_USAGE (clattn
 * was built without zlib), CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_package_open(import_package *p, const char *path);
void cla_package_close(import_package *p);

/* Returns whether there is a file of this name, such as "model/model.bin". */
bool cla_package_holds(const import_package *p, const char *name);

/* Reads a file. The caller frees both.
 * path   out  appended: its name in messages
 * bytes  out  [size] and a NUL
 * Errors: CLA_E_INPUT (no such file; a link out of the folder; damage), CLA_E_IO,
 * CLA_E_NOMEM. */
cla_status cla_package_read(const import_package *p, const char *name, cla_text *path,
                            char **bytes, size_t *size);
