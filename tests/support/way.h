/* way.h - a fixture: one kind of attention (attn_way), chosen by settings, and its
 * batch. */
#pragma once

#include "nn/attn.h"
#include "support/support.h"

typedef struct way_case {
    attn_layer layer;
    cla_params params; // of the attn_way alone
    cla_config settings;
    cla_ragged *rows;
    int32_t *offsets;
    cla_tensor **map; // NULL, or what receives the map of the softmax
} way_case;

/* Makes settings from assignments such as "attention=rel_pos", up to a NULL. */
void way_settings(cla_config *s, const char *const *assignments);

/* Opens the attention of these settings with `heads` heads of size width. */
void way_open(way_case *w, int heads, int width, const char *const *keys);
/* Does the same for sequences of at most length tokens. */
void way_open_tied(way_case *w, int heads, int width, int length,
                   const char *const *keys);
void way_close(way_case *w);

/* Makes the batch; way_close frees it. */
void way_rows(way_case *w, cla_runtime *rt, int sequences, const int *lengths);

/* Computes the attention o [N,parts*H*d] (in any shape of that size) of qkv [N,3*H*d].
 */
cla_status way_attend(way_case *w, cla_tape *tape, cla_tensor **o, cla_tensor *qkv);

/* Calls way_attend, for op_case.device. context is the way_case; x[0] is qkv, the
 * others are its parameters in the order of their addition. */
cla_status way_device(cla_tape *tape, cla_tensor **o, cla_tensor **x, void *context);

/* Computes the same into the host's o; frees x [n], the tape and the case. */
void way_finish(way_case *w, cla_tape *tape, cla_tensor **x, int n, float *o);

/* Returns copies of q, k and v [N,D] of qkv [N,3*D], one after the other. The caller
 * frees them. */
double *way_split(const double *qkv, int N, int D);
