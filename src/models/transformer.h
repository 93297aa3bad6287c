/* transformer.h - the Transformer for translation: from ids of source and target to
 * logits of the next piece, or to a loss. Vaswani et al. 2017. */
#pragma once

#include "base/config.h"
#include "nn/coder.h"

enum { TRANSFORMER_LAYERS = 48 }; // of a stack; NLLB has up to 24
enum {
    TRANSFORMER_PAD,
    TRANSFORMER_END,
    TRANSFORMER_UNKNOWN
}; // pieces, the same in all vocabularies

/* Which embedding tables are shared. */
typedef enum transformer_tied {
    TRANSFORMER_SEPARATE,    // source, target and output layer have one each
    TRANSFORMER_TIED_OUTPUT, // the output layer uses the target's
    TRANSFORMER_TIED_ALL,    // one table for all: both languages share a vocabulary
    TRANSFORMER_TIED_INPUT, // source and target share one, the output layer has its own
} transformer_tied;

/* Stacks whose self-attention is coder.self; the others have softmax attention. */
typedef enum transformer_where {
    TRANSFORMER_ENCODER,
    TRANSFORMER_DECODER,
    TRANSFORMER_BOTH,
} transformer_where;

/* Variants of the sinusoidal position encoding. */
typedef enum transformer_positions {
    TRANSFORMER_TENSOR2TENSOR, // cla_coder_signal
    TRANSFORMER_MARIAN,        // cla_coder_signal_marian
    TRANSFORMER_FAIRSEQ,       // cla_coder_signal of positions from 2 on (M2M-100)
    TRANSFORMER_OPENNMT,       // cla_coder_signal_opennmt
    TRANSFORMER_LEARNED,       // a trained table for each stack
} transformer_positions;

typedef struct transformer_config {
    int source_pieces, target_pieces; // sizes of the vocabularies, set by the task
    int layers;                       // of the encoder
    int decoder_layers;               // 0: as the encoder
    int tied;                         // transformer_tied
    bool source_vector;  // a trained vector is added to each token of the source
    bool unscaled;       // embeddings are not multiplied by sqrt(D)
    bool output_bias;    // a trained bias of the logits
    bool start_pad;      // a target starts with piece 0; else with a zero embedding
    bool start_end;      // or with the piece that ends sentences
    bool start_unknown;  // or with that of unknown words
    bool output_scale;   // the decoder's output is divided by sqrt(D)
    int positions;       // transformer_positions
    int max_positions;   // rows of each table of TRANSFORMER_LEARNED
    bool embedding_norm; // norms of the embeddings with their positions
    double smoothing;
    coder_config coder;
    int first, last; // layers, from 1, with coder.self and convolutions
    int where;       // transformer_where: stacks with coder.self
    // coder.hard is for the decoder's last layer alone
} transformer_config;

/* Writes the encodings [count,D] of positions 0 .. count-1 of a kind of sines. Errors:
 * CLA_E_NOMEM. */
cla_status cla_transformer_signal(int kind, int64_t count, int64_t D, float *signal);

/* Packed sentences. Random draws are keyed by a token's row in the whole batch, of
 * which these tokens are the rows from `first`. */
typedef struct transformer_tokens {
    int64_t count;                // N
    const int32_t *id, *position; // [N] piece (-1: start), position in its sentence
    const cla_ragged *rows;
    int64_t first;
} transformer_tokens;

typedef struct transformer_batch {
    transformer_tokens source, input; // input: the target shifted right
    const int32_t *target;            // [input.count]; NULL without a loss
    cross_hard_pass *pass;            // as in coder_input; may be NULL
    cla_tensor **maps; // out: [layers] maps of the encoder's self-attention [B,H,T,T],
                       // NULL of a layer whose way has none; may be NULL
} transformer_batch;

typedef struct transformer {
    transformer_config config;                              // decoder_layers is not 0
    cla_tensor *source_table, *target_table, *output_table; // [V,D]; tied: NULL
    cla_tensor *source_vector;                              // [1,D] or NULL
    cla_tensor *output_bias;                                // [V] or NULL
    coder_layer encoder[TRANSFORMER_LAYERS], decoder[TRANSFORMER_LAYERS];
    coder_norm encoder_norm, decoder_norm; // at the end of pre-norm stacks
    cla_tensor *positions[2];     // [max_positions,D] learned, encoder and decoder
    cla_tensor *buckets[2];       // [buckets,H] of relative positions
    coder_norm embedding_norm[2]; // the same
    cla_tensor *signal;           // [reach,D] position encodings
    int64_t reach;
    coder_angles angles; // of rotary positions
} transformer;

/* Programs whose formats a model can be written in. */
typedef enum transformer_format {
    TRANSFORMER_CLATTN,
    TRANSFORMER_MARIANMT, // of transformers
    TRANSFORMER_CTRANSLATE2,
    TRANSFORMER_M2M100, // of transformers
    TRANSFORMER_T5,     // of transformers: T5 1.1, mT5, MADLAD-400
    TRANSFORMER_MBART,  // of transformers: mBART-50
} transformer_format;

extern const double cla_transformer_marian_epsilon; // of MarianMT's norms

/* Returns the key of a setting that the format cannot express, or NULL. */
const char *cla_transformer_foreign(const transformer_config *config, int format);

/* Fails with CLA_E_INPUT for such a setting, naming key and value. asked: the key
 * "format" asked for it, and is named too. Errors: CLA_E_NOMEM. */
cla_status cla_transformer_check_format(const transformer_config *config,
                                        const cla_config *settings, int format,
                                        bool asked);

/* Reads the settings. The key "preset" (vaswani, csan, hard) sets defaults of other
 * keys, also those of the optimiser. Errors: CLA_E_INPUT, CLA_E_NOMEM. */
cla_status cla_transformer_configure(transformer_config *config, cla_config *settings);

/* Adds to settings the keys that a run of an older version lacks, with the meaning that
 * their absence had then: without "attention_where", rel_pos was in both stacks.
 * run  in  settings as the run saved them; may be the same object
 * Errors: CLA_E_NOMEM. */
cla_status cla_transformer_renew(cla_config *settings, const cla_config *run);

/* Adds the parameters. cla_transformer_fini frees everything else. Errors: CLA_E_NOMEM.
 * */
cla_status cla_transformer_init(transformer *m, const transformer_config *config,
                                cla_params *params);
void cla_transformer_fini(transformer *m);

/* Computes the encoder's output memory [Ns,D] for the sources of the batch. */
cla_status cla_transformer_encode(transformer *m, cla_tape *tape, cla_tensor **memory,
                                  const transformer_batch *batch);

/* Computes logits [Nt,V]. Row i depends on memory and on the pieces of its sentence
 * before i. */
cla_status cla_transformer_logits(transformer *m, cla_tape *tape, cla_tensor **logits,
                                  cla_tensor *memory, const transformer_batch *batch);

/* Intermediate results of a loss. */
typedef struct transformer_made {
    cla_tensor *memory, *logits;
} transformer_made;

/* Computes the mean cross entropy [1] over the target's pieces, with label smoothing.
 * made may be NULL. */
cla_status cla_transformer_loss(transformer *m, cla_tape *tape, cla_tensor **loss,
                                const transformer_batch *batch, double smoothing,
                                transformer_made *made);

/* A decoding step: the next token of each sequence. */
typedef struct transformer_step {
    int64_t sequences;                      // B
    int32_t position;                       // of the token, from 0
    const int32_t *token;                   // [B] previous piece; -1: start
    const cla_ragged *one, *seen;           // 1 and position + 1 tokens a sequence
    cla_tensor *kv[TRANSFORMER_LAYERS + 1]; // in: from cla_transformer_remember
    cross_hard_pass *pass;                  // as in coder_input; may be NULL
    const cla_ragged *memory;
    cla_tensor *past[TRANSFORMER_LAYERS]; // in, out: as in coder_input
    /* When cla_transformer_steps is true, these may replace one, seen, memory and past;
     * see coder_step_input. */
    cla_tensor *store[TRANSFORMER_LAYERS];
    const cla_tensor *place, *range; // place NULL: not in use
} transformer_step;

/* Returns whether cla_coder_step can run all layers of the decoder. */
bool cla_transformer_steps(const transformer *m, const cla_runtime *rt);

/* cla_transformer_remember computes the keys and values [Ns,..] of memory for each
 * decoder layer, followed by the values of a hard layer. cla_transformer_memories
 * returns the number of these tensors. */
int cla_transformer_memories(const transformer *m);
cla_status cla_transformer_remember(transformer *m, cla_tape *tape, cla_tensor **kv,
                                    cla_tensor *memory);

/* Computes logits [B,V] of the next piece. */
cla_status cla_transformer_next(transformer *m, cla_tape *tape, cla_tensor **logits,
                                transformer_step *step);
