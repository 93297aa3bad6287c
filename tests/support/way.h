/* way.h - one way of attending by its keys, and the batch that it sees. */
#pragma once

#include "nn/attn.h"
#include "support/support.h"

typedef struct way_case {
    attn_layer layer;
    cla_params params; // of the way alone
    cla_config settings;
    cla_ragged *rows;
    int32_t *offsets;
} way_case;

/* Settings of these assignments, up to a NULL. */
void way_settings(cla_config *s, const char *const *assignments);

/* heads of that width. */
void way_open(way_case *w, int heads, int width, const char *const *keys);
/* The same with sequences of at most length tokens. */
void way_open_tied(way_case *w, int heads, int width, int length,
                   const char *const *keys);
void way_close(way_case *w);

/* The sequences; free them with the way. */
void way_rows(way_case *w, cla_runtime *rt, int sequences, const int *lengths);

/* o [N,parts*H*d], in any shape, of qkv [N,3*H*d]. */
cla_status way_attend(way_case *w, cla_tape *tape, cla_tensor **o, cla_tensor *qkv);

/* For op_case.device; context is the way. x[0] is qkv, the others are what it learns,
 * in the order in which they were added. */
cla_status way_device(cla_tape *tape, cla_tensor **o, cla_tensor **x, void *context);

/* q, k and v [N,D] of qkv [N,3*D], one behind the other. The caller frees. */
double *way_split(const double *qkv, int N, int D);
