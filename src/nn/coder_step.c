/* coder_step.c - a decoder layer for one token of each sequence. The last product of a
 * block adds x, and keys and values keep their places in the store. */
#include "nn/coder.h"
#include "ops/step_attention.h"

bool cla_coder_steps(const coder_layer *l, const cla_runtime *rt)
{
    return l->decoder && !l->config.hard.on && !l->config.convolutions &&
           cla_attn_steps(&l->self, rt) && cla_attn_steps(&l->cross, rt);
}

/* Computes the input u of a block: x, normalised in a pre-norm layer. */
static cla_status enter(const coder_layer *l, cla_tape *tape, cla_tensor **u,
                        cla_tensor *x, coder_norm *norm)
{
    *u = x;
    return l->config.pre_norm ? cla_coder_norm_forward(norm, tape, u, x) : CLA_OK;
}

/* Normalises the sum of x and the block's output in a post-norm layer. */
static cla_status leave(const coder_layer *l, cla_tape *tape, cla_tensor **x,
                        coder_norm *norm)
{
    return l->config.pre_norm ? CLA_OK : cla_coder_norm_forward(norm, tape, x, *x);
}

static cla_status attend_self(coder_layer *l, cla_tape *tape, cla_tensor **x,
                              const coder_step_input *in)
{
    attn_layer *a = &l->self;
    cla_tensor *u = NULL;
    CLA_TRY(enter(l, tape, &u, *x, &l->self_norm));
    CLA_TRY(cla_attn_project(a, tape, &u, u, &in->turn));
    const step_scores scores = { a->config.heads, a->config.unscaled, in->distances };
    CLA_TRY(cla_step_self(tape, &u, in->store, u, in->place, &scores, in->count));
    CLA_TRY(cla_linear(tape, x, u, a->out, a->out_bias, CLA_NONE, *x));
    return leave(l, tape, x, &l->self_norm);
}

static cla_status attend_memory(coder_layer *l, cla_tape *tape, cla_tensor **x,
                                const coder_step_input *in)
{
    attn_layer *a = &l->cross;
    cla_tensor *u = NULL;
    CLA_TRY(enter(l, tape, &u, *x, &l->cross_norm));
    CLA_TRY(cla_linear(tape, &u, u, a->in, a->in_bias, CLA_NONE, NULL));
    const step_scores scores = { a->config.heads, a->config.unscaled, NULL };
    CLA_TRY(cla_step_memory(tape, &u, u, in->kv, in->range, &scores));
    CLA_TRY(cla_linear(tape, x, u, a->out, a->out_bias, CLA_NONE, *x));
    return leave(l, tape, x, &l->cross_norm);
}

cla_status cla_coder_step(coder_layer *l, cla_tape *tape, cla_tensor **y, cla_tensor *x,
                          const coder_step_input *in)
{
    cla_tensor *u = NULL;
    CLA_TRY(attend_self(l, tape, &x, in));
    CLA_TRY(attend_memory(l, tape, &x, in));
    CLA_TRY(enter(l, tape, &u, x, &l->feed_norm));
    CLA_TRY(cla_coder_feed(l, tape, y, u, x));
    return leave(l, tape, y, &l->feed_norm);
}
