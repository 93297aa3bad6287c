/* zip.h - reads stored and deflated files of ZIP archives (APPNOTE 6.3, without ZIP64,
 * encryption and multi-part archives). */
#pragma once

#include "base/base.h"

typedef struct cla_zip_entry {
    char *name;          // without '\' and ".."; plain, or a path inside the archive
    size_t at;           // offset of its local header in the archive
    size_t stored, size; // bytes in the archive and after unpacking
    unsigned method;     // 0: stored, 8: deflated
    uint32_t crc;
} cla_zip_entry;

typedef struct cla_zip {
    char *path, *bytes; // bytes: the whole archive
    size_t size;
    cla_zip_entry *entries;
    size_t count, cap;
    bool paths; // entries may lie in folders
} cla_zip;

/* Reads the archive's directory. Call cla_zip_close in any case.
 * paths  in  entries may lie in folders, which are no entries; else names have no '/'
 * Errors: CLA_E_INPUT (not an archive; an entry that is beyond its end, in another
 * method, encrypted, a duplicate, or has a path in its name; entries that share bytes),
 * CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_zip_open(cla_zip *zip, const char *path, bool paths);
void cla_zip_close(cla_zip *zip);

/* Returns the entry of this name, or NULL. */
const cla_zip_entry *cla_zip_find(const cla_zip *zip, const char *name);

/* Unpacks an entry into *data, e->size bytes, which the caller frees.
 * Errors: CLA_E_INPUT (damage: name, size or checksum), CLA_E_NOMEM. */
cla_status cla_zip_read(const cla_zip *zip, const cla_zip_entry *e, char **data);
