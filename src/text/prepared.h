/* prepared.h - a text as numbers, kept in a file beside it, so that the next start need
 * not read and split the text again.
 *
 * The file is mapped into memory: several processes share it. Its name has a hash of
 * the settings that the numbers depend on; in it stand that hash, one of the texts and
 * one of its own bytes. A file that does not fit, is damaged or of another version is
 * made again. Texts of less than CLA_PREPARED_LEAST bytes, and those that are no
 * regular files, are split at each start. */
#pragma once

#include "base/text.h"

enum { CLA_PREPARED_PARTS = 10, CLA_PREPARED_LEAST = 1 << 20 };

/* Bytes of a part; in a map they begin at a multiple of 64. */
typedef struct cla_part {
    const void *data;
    size_t size;
} cla_part;

/* What the numbers are made of. */
typedef struct cla_prepared_of {
    const char *beside;       // path to which the name of the file is added
    const char *settings;     // all that decides about the numbers but the texts
    const char *const *texts; // [count] paths
    size_t count, parts;
} cla_prepared_of;

typedef struct cla_prepared {
    cla_text path;                     // of the file; empty: nothing is kept
    cla_part part[CLA_PREPARED_PARTS]; // where found
    bool found;
    void *map;
    size_t size;    // of the map
    cla_text waits; // path of the lock that this process holds
    int lock;
    uint64_t settings, texts; // hashes
    size_t parts;
} cla_prepared;

/* Looks for prepared data. Where there is none, this process is the one to make it: the
 * others wait in this function until it is kept or closed. Says in the log why a file
 * is made again. Errors: CLA_E_IO (a text cannot be read), CLA_E_NOMEM. */
cla_status cla_prepared_open(cla_prepared *p, const cla_prepared_of *of);

/* Makes what was found not found, since it does not hold what it should; the reason is
 * the error text. */
cla_status cla_prepared_refuse(cla_prepared *p);

/* Keeps these parts, unless they were found. A folder that cannot be written is no
 * failure. Errors: CLA_E_NOMEM. */
cla_status cla_prepared_keep(cla_prepared *p, const cla_part *part);

/* Parts that were found end here. */
void cla_prepared_close(cla_prepared *p);

/* Reads a file of these hashes and number of parts, whatever its name. Errors:
 * CLA_E_INPUT with the reason; CLA_E_IO. */
cla_status cla_prepared_read(cla_prepared *p, const char *path);
