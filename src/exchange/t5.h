/* t5.h - the tensors of T5, mT5 and MADLAD-400 in transformers and CTranslate2, for
 * import and export. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "nn/coder.h"

/* Linear layers without biases, which stand side by side in clattn. */
typedef struct t5_linear {
    const char *name;    // of clattn, behind "encoder.0."
    const char *part[3]; // of transformers, behind "encoder.block.0.layer.N."
    const char *ct2;     // of CTranslate2, behind "encoder/layer_0/"; all parts
    int layer;           // N; T5_FEED: that of the feed-forward block
    char in, out;        // their widths: 'D', 'F', or 'A' for all heads together
    bool cross;          // of the decoder alone
    int gate;            // t5_gate
} t5_linear;

enum { T5_FEED = -1, T5_LINEARS = 9, T5_NORMS = 3 };

typedef enum t5_gate {
    T5_ANY,
    T5_GATED, // of a feed-forward block with a gate
    T5_PLAIN, // of one without
} t5_gate;

typedef struct t5_norm {
    const char *name; // of clattn: the same
    const char *ct2;  // of CTranslate2: the same
    int layer;        // its layer_norm
    bool cross;
} t5_norm;

extern const t5_linear cla_t5_linears[T5_LINEARS];
extern const t5_norm cla_t5_norms[T5_NORMS];

/* Returns whether a stack has the linear layer. */
bool cla_t5_has(const t5_linear *linear, bool decoder, bool gated);
/* Returns the width of a letter. all: of all heads together. */
int64_t cla_t5_width(char letter, int model, int inner, int all);
/* Returns N of a layer. */
int cla_t5_layer(int layer, bool decoder);
