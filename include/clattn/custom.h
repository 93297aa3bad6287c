/* custom.h - attention with scores of the caller's own: an operator like those of ops.h
 * (tier 2). docs/custom.md has recipes. */
#pragma once

#include "clattn/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor that expressions read by name: `name[x][y]` with as many indices as it has
 * axes. Indices outside the tensor are clamped into it. */
typedef struct cla_custom_input {
    const char *name;   // letters, digits and _, at most 31; NULL ends the list
    cla_tensor *tensor; // f32 or i32, contiguous, rank 1 to 4; f32 may want a gradient
} cla_custom_input;

enum { CLA_CUSTOM_INPUTS = 8 };

/* How scores are modified. {0} is plain attention.
 *
 * Expressions read s (the scaled score), the positions i of the query and
 * j of the key in their sequences, from 0, the head h, the sequence b, the lengths T of
 * the queries and S of the keys, the rows ni and nj of query and key in the packed
 * batch, and inputs. i, j, h, b, T, S, ni and nj are integers. Grammar: c ? x : y || &&
 * == != < <= > >= + - * / % ! ( ), numbers, and the functions exp exp2 log tanh sigmoid
 * erf sin cos sqrt abs min max clamp pow floor round int. x / y is always a float. NaN
 * passes through min, max and clamp. */
typedef struct cla_attention_mod {
    const char *score; // the score that the softmax sees; NULL: "s"
    const char *mask;  // a condition, true where a key is visible; NULL: everywhere
    // the factor of a visible key's value. It reads w, the key's weight after the
    // softmax and before dropout, and not s; NULL: "w"
    const char *weight;
    cla_custom_input inputs[CLA_CUSTOM_INPUTS];
    int window; // also hides keys with abs(i - j) > window / 2; odd, or 0 for none
} cla_attention_mod;

/* Scaled dot-product attention with modified scores.
 *
 *   o[i,h] = sum_j weight(p[h,i,j], i, j, h, ...) v[j,h],  p[h,i,:] = softmax over
 *   the visible j of score(<q[i,h], k[j,h]> / sqrt(d), i, j, h, ...)
 *   over the keys of i's own sequence; a query without a visible key gives 0.
 *
 * o        out  [Nq,H,d] f32
 * q        in   [Nq,H,d] f32, a tensor or a column view (likewise k, v)
 * k, v     in   [Nk,H,d] f32
 * q_rows   in   Nq tokens in B sequences
 * k_rows   in   Nk tokens in B sequences; the same object for self-attention
 * mod      in   expressions and what they read; its texts are copied
 * options  in   NULL for none; options.map is of the weights that weight gives
 *
 * Gradients reach q, k, v and each f32 input that wants one, by derivatives of the
 * expression. Where a function has none, abs(0) has slope 0, min and max give all to
 * their first argument when both are equal, and clamp gives it to x at its ends.
 * Conditions are constants. The same inputs give the same bits, whatever the indices.
 *
 * Nothing of size T x S is stored. The backward pass sums the gradients of inputs into
 * copies of these: at least one, at most 1024, and no more than fit into 32 MiB; an
 * input [Nq,H] that the score alone reads, at [ni][h], needs no copy. Blocks of pairs
 * cost nothing where window, causal or a mask that does not read s hides them.
 *
 * Errors: CLA_E_USAGE (an invalid expression, with a caret under the place;
 * a wanted gradient that is zero everywhere; dropout outside [0,1); an even window),
 * CLA_E_SHAPE, CLA_E_NOMEM, CLA_E_DEVICE.
 * Source: Vaswani et al. 2017, section 3.2; the form of modifiers after Dong et al.
 * 2024, Flex Attention. */
CLA_API cla_status cla_custom_attention(cla_tape *tape, cla_tensor **o, cla_tensor *q,
                                        cla_tensor *k, cla_tensor *v,
                                        const cla_ragged *q_rows,
                                        const cla_ragged *k_rows,
                                        const cla_attention_mod *mod,
                                        const cla_attention_options *options);

#ifdef __cplusplus
}
#endif
