/* import_marian.h - what the files of a Hugging Face MarianMT folder say. */
#pragma once

#include "base/config.h"
#include "base/safetensors.h"
#include "models/search.h"
#include "text/vocab.h"
#include "train/made.h"

/* Pieces in our order: the special tokens first, then by their numbers there. */
typedef struct marian_pieces {
    cla_vocab vocab;
    int32_t *from; // [vocab.count] the number there
} marian_pieces;

typedef struct marian {
    const char *dir;
    cla_config config, generation, tokenizer; // empty where there is no such file
    int model, heads, inner, layers, decoder_layers;
    int activation;                      // of coder.h
    bool scaled, shared, tied, separate; // separate: two vocabularies
    int source_pieces, target_pieces;    // that config.json states
    int end, pad;                        // numbers there
    int positions;                       // transformer_positions, with the weights
    double norm_epsilon;
    search_options search;
    bool renormalize;              // the pad has no share of probability
    marian_pieces source, target;  // target: empty where both are one
    bool release;                  // Marian's own folder
    char *source_spm, *target_spm; // of a release; NULL: source.spm, target.spm
    char *weights;                 // of a release: the file, and its tensors
    cla_made made;
} marian;

void marian_fini(marian *m);

/* Refuses a file of the folder that is not there, or a link that leads out of it.
 * Errors: CLA_E_INPUT, CLA_E_NOMEM. */
cla_status marian_check_file(const char *dir, const char *name);

/* Reads the three files of settings. Errors: CLA_E_INPUT (file, key and value),
 * CLA_E_IO, CLA_E_NOMEM. */
cla_status marian_read_settings(marian *m, const char *dir);

/* Reads vocab.json, and target_vocab.json where there are two. Errors: the same. */
cla_status marian_read_pieces(marian *m);

/* Puts the pieces of a vocabulary, a token's number by its text, into our order.
 * path  in  for messages
 * Errors: CLA_E_INPUT (an id that is missing or there twice; a special token
 * elsewhere), CLA_E_NOMEM. */
cla_status marian_arrange(const marian *m, marian_pieces *p, const char *path,
                          json_t *tokens, int pieces);

/* Reads all of a folder as Marian writes it (decoder.yml, *.npz, vocabularies), with
 * its tensors under the names of Hugging Face's. Errors: the same, CLA_E_NUMERIC,
 * CLA_E_USAGE (clattn was built without zlib or libyaml). */
cla_status marian_read_release(marian *m, const char *dir);

/* The pieces that the decoder writes. */
const marian_pieces *marian_target(const marian *m);

#define MARIAN_WEIGHTS "model.safetensors"

/* Writes the parameters of a translator to the file `to`, from the tensors of
 * MARIAN_WEIGHTS, and notes the kind of positions.
 * Errors: CLA_E_INPUT (tensor and shape), CLA_E_NUMERIC, CLA_E_IO, CLA_E_NOMEM. */
cla_status marian_write_weights(marian *m, const char *to, int64_t *numbers);
