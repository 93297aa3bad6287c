/* zip.h - files in a ZIP archive, stored or deflated (APPNOTE 6.3, without ZIP64,
 * encryption and several parts). */
#pragma once

#include "base/base.h"

typedef struct cla_zip_entry {
    char *name;          // no path: it has no '/', '\' or ".."
    size_t at;           // of its local header in the archive
    size_t stored, size; // bytes in the archive, and of the file
    unsigned method;     // 0: stored, 8: deflated
    uint32_t crc;
} cla_zip_entry;

typedef struct cla_zip {
    char *path, *bytes; // the whole archive
    size_t size;
    cla_zip_entry *entries;
    size_t count, cap;
} cla_zip;

/* Reads the archive's directory. Call cla_zip_close in any case.
 * Errors: CLA_E_INPUT (no archive; an entry beyond its end, in another method,
 * encrypted, with a path in its name, or twice; entries that share bytes), CLA_E_IO,
 * CLA_E_NOMEM. */
cla_status cla_zip_open(cla_zip *zip, const char *path);
void cla_zip_close(cla_zip *zip);

/* The bytes of a file, e->size of them, which the caller frees.
 * Errors: CLA_E_INPUT (damage: name, size or checksum), CLA_E_NOMEM. */
cla_status cla_zip_read(const cla_zip *zip, const cla_zip_entry *e, char **data);
