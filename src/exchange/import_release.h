/* import_release.h - reads a folder as Marian writes it: decoder.yml, a *.npz archive
 * with the weights and their settings, vocabularies in YAML or SentencePiece models. */
#pragma once

#include "base/zip.h"
#include "exchange/import_marian.h"

typedef struct release {
    marian *m;
    cla_zip zip;
    bool *used;       // [zip.count] arrays read so far
    json_t *settings; // special:model.yml of the archive
    json_t *decoder;  // decoder.yml
} release;

/* Opens the archive and reads the settings in it. Errors: CLA_E_INPUT, CLA_E_IO,
 * CLA_E_NOMEM. */
cla_status cla_release_open_weights(release *r, const char *path);

/* Makes the tensors of r->m with the names and shapes of Hugging Face. Needs the sizes
 * and the numbers of pieces in r->m.
 * Errors: CLA_E_INPUT (an array that is missing, left over or of another shape),
 * CLA_E_NUMERIC, CLA_E_NOMEM. */
cla_status cla_release_read_weights(release *r);
