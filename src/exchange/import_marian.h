/* import_marian.h - reads the files of a Hugging Face folder: MarianMT, M2M-100, NLLB
 * mBART-50, and T5. */
#pragma once

#include "base/config.h"
#include "base/safetensors.h"
#include "clattn/ops.h"
#include "exchange/import.h"
#include "exchange/import_package.h"
#include "tasks/translation/translation.h"
#include "text/vocab.h"
#include "train/made.h"

/* Pieces in clattn's order: the special tokens first, then the others by their ids in
 * the folder. */
typedef struct marian_pieces {
    cla_vocab vocab;
    bool prefixes; // some are names of languages, ">>x<<"
    int32_t *from; // [vocab.count] id in the folder
} marian_pieces;

/* The networks and vocabularies that are read. */
typedef enum marian_family {
    FAMILY_MARIAN = TRANSLATION_PREFIX,
    FAMILY_M2M100 = TRANSLATION_M2M100, // norms in front; languages behind the pieces
    FAMILY_NLLB = TRANSLATION_NLLB,     // its network, pieces numbered by SentencePiece
    FAMILY_MBART = TRANSLATION_MBART,   // learned positions; pieces as NLLB's
    FAMILY_T5 = TRANSLATION_TAG,        // T5 1.1, mT5, MADLAD; numbers of SentencePiece
} marian_family;

typedef struct marian {
    const char *dir;
    int family;                                      // marian_family
    cla_config config, generation, tokenizer, added; // empty without such a file
    int model, heads, inner, layers, decoder_layers;
    cla_activation activation;
    bool scaled, shared, tied, separate; // separate: two vocabularies
    bool pre_norm, output_bias;
    int max_positions;                     // learned ones; 0: sines
    bool start_pad, start_end, source_end; // as in the settings of a translator
    int head_width, buckets, bucket_reach; // of T5
    const char *feed;                      // of T5: feed_forward of a translator
    bool gated, output_scale, start_unknown;
    int source_pieces, target_pieces; // sizes of the vocabularies
    int end, pad, start;              // ids in the folder
    int positions;                    // transformer_positions, from the weights
    double norm_epsilon;
    cla_import_watch *watch; // may be NULL
    search_options search;
    bool renormalize;              // softmax without <pad> where it is never produced
    marian_pieces source, target;  // target: empty unless separate
    bool release;                  // no folder of Hugging Face: has made, not weights
    char *source_spm, *target_spm; // of a release; NULL: source.spm, target.spm
    char *weights;                 // of a release: path of the file; made: its tensors
    cla_made made;
} marian;

/* Sets what each model of the family has in common. */
void cla_marian_set_family(marian *m, int family);

void cla_marian_fini(marian *m);

/* Checks that the folder has the file and that it is no link out of the folder.
 * Errors: CLA_E_INPUT, CLA_E_NOMEM. */
cla_status cla_marian_check_file(const char *dir, const char *name);

/* Removes keys whose value is null; they count as absent. */
void cla_marian_drop_nulls(json_t *object);

/* Reads config.json and, where present, generation_config.json, tokenizer_config.json
 * and added_tokens.json. Uses m->search.kind. Errors: CLA_E_INPUT (file, key and
 * value), CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_marian_read_settings(marian *m, const char *dir);

/* import_t5.c: reads sizes, activation and tables of T5; gives the keys of a translator
 * that it alone needs, NULL when out of memory. Errors: CLA_E_INPUT. */
cla_status cla_t5_read_network(marian *m);
json_t *cla_t5_settings(const marian *m);
/* Returns the name that a translator has for a feed-forward block; NULL: T5 has none of
 * this kind. */
const char *cla_t5_feed(cla_activation activation, bool gated);
/* Finds by m->start whether translations start with padding, end or unknown. key: of
 * m->config, for the message. Errors: CLA_E_INPUT (with another). */
cla_status cla_t5_find_start(marian *m, const char *key);

/* Returns the name of the SentencePiece model in a folder of the family that has one
 * for both languages; NULL: it has two. */
const char *cla_marian_pieces_file(const marian *m);

/* Reads the ids of special tokens and the search, as the releases of m->search.kind
 * (search_kind) read them; a part of cla_marian_read_settings. Errors: the same. */
cla_status cla_marian_read_search(marian *m);

/* Reads vocab.json, and target_vocab.json when the vocabularies are separate. Errors:
 * those of cla_marian_read_settings. */
cla_status cla_marian_read_pieces(marian *m);

/* import_languages.c: adds the languages of M2M-100 to the object of tokens of its
 * vocab.json; gives the tokens of an NLLB folder, an object to be freed. Errors: those
 * of cla_marian_read_pieces. */
cla_status cla_m2m100_add_languages(const marian *m, json_t *tokens);
cla_status cla_nllb_tokens(const marian *m, json_t **tokens);
/* A part of the latter: adds the tokens that tokenizer.json lists with their numbers,
 * which are the languages. Errors: the same. */
cla_status cla_nllb_add_languages(const marian *m, json_t *tokens);

/* Sorts the pieces of a vocabulary into clattn's order.
 * path    in  for messages
 * tokens  in  an object: the id of each token
 * pieces  in  rows of the table; those without a token follow the special ones
 * Errors: CLA_E_INPUT (a duplicate id; a missing or misplaced special token),
 * CLA_E_NOMEM. */
cla_status cla_marian_arrange(const marian *m, marian_pieces *p, const char *path,
                              json_t *tokens, int pieces);

/* Reads a folder as Marian writes it (decoder.yml, *.npz, vocabularies). Its tensors
 * get the names of Hugging Face. Errors: those of cla_marian_read_settings,
 * CLA_E_NUMERIC, CLA_E_USAGE (clattn was built without zlib or libyaml). */
cla_status cla_marian_read_release(marian *m, const char *dir);

/* Returns whether the files are those of a CTranslate2 folder, or of an Argos package
 * around one. cla_marian_read_ctranslate2 reads them; its tensors get the names of
 * Hugging Face. Errors: those of cla_marian_read_settings, CLA_E_NUMERIC, CLA_E_USAGE
 * (clattn was built without zlib). */
bool cla_marian_is_ctranslate2(const import_package *p);
cla_status cla_marian_read_ctranslate2(marian *m, const import_package *p);

/* Returns the pieces that the decoder produces. */
const marian_pieces *cla_marian_target(const marian *m);

/* The tensors of a folder, in one file or in several that an index lists. */
typedef struct marian_tensors {
    cla_text path;   // of the file, or of the index
    cla_st_file all; // its tensors are in the files below
    cla_st_file *files;
    size_t count;
} marian_tensors;

/* Opens the file of weights, or the index and its files; cla_marian_close_tensors
 * closes them also when that failed. Errors: CLA_E_INPUT (no such file, with advice; a
 * damaged one; an index that does not suit its files), CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_marian_open_tensors(marian_tensors *t, const char *dir);
void cla_marian_close_tensors(marian_tensors *t);

/* Refuses a tensor of another shape than [rows,columns], or [columns] if rows is 0.
 * path: of its file. Returns CLA_E_INPUT, or CLA_E_NOMEM. */
cla_status cla_marian_wrong_shape(const char *path, const cla_st_tensor *t,
                                  int64_t rows, int64_t columns);

/* Converts the tensors of the folder, or those of a release, to the parameters of a
 * translator and writes them to the file `to`. Sets m->positions unless m is a release.
 * numbers  out  parameter values written
 * Errors: CLA_E_INPUT (tensor and shape), CLA_E_NUMERIC, CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_marian_write_weights(marian *m, const char *to, int64_t *numbers);
