/* mha.c - multi-head attention with projections. */
#include "nn/mha.h"

#include <stdio.h>

/* parts matrices of [D,D] side by side, each with fans of its own, and their biases. */
static cla_status add_projection(cla_params *params, cla_tensor **w, cla_tensor **b,
                                 int64_t D, int64_t parts, const char *name)
{
    const cla_init glorot = { CLA_INIT_GLOROT_UNIFORM, 0, (double)D, (double)D };
    const int64_t shape[] = { D, parts * D };
    CLA_TRY(cla_param_add(params, w, glorot, 2, shape, "%s", name));
    return cla_param_zeros(params, b, shape[1], "%s_bias", name);
}

cla_status mha_init(mha *m, cla_params *params, const char *prefix, bool cross)
{
    char name[48];
    snprintf(name, sizeof name, "%s.in", prefix);
    CLA_TRY(add_projection(params, &m->in, &m->in_bias, m->model, cross ? 1 : 3, name));
    if (cross) {
        snprintf(name, sizeof name, "%s.memory", prefix);
        CLA_TRY(add_projection(params, &m->memory, &m->memory_bias, m->model, 2, name));
    }
    CLA_TRY(self_init(&m->self, params, prefix));
    snprintf(name, sizeof name, "%s.out", prefix);
    return cla_param_linear(params, &m->out, &m->out_bias,
                            self_parts(&m->self) * (int64_t)m->model, m->model, name);
}

cla_status mha_project(mha *m, cla_tape *tape, cla_tensor **qkv, cla_tensor *x)
{
    return cla_linear(tape, qkv, x, m->in, m->in_bias, CLA_NONE, NULL);
}

cla_status mha_remember(mha *m, cla_tape *tape, cla_tensor **kv, cla_tensor *memory)
{
    return cla_linear(tape, kv, memory, m->memory, m->memory_bias, CLA_NONE, NULL);
}

/* The part'th D columns of x as heads. */
static cla_status heads_of(const mha *m, cla_tape *tape, cla_tensor **heads,
                           cla_tensor *x, int part)
{
    return cla_tensor_columns(tape, heads, x, (int64_t)part * m->model, m->heads,
                              m->model / m->heads);
}

static cla_status attend(mha *m, cla_tape *tape, cla_tensor **y, self_input *in,
                         const mha_rows *rows)
{
    cla_tensor *o = NULL;
    in->q_rows = rows->query;
    in->k_rows = rows->key;
    in->options.causal = rows->causal;
    in->options.map = rows->map;
    in->options.dropout = cla_tape_training(tape) ? (float)m->dropout : 0;
    CLA_TRY(self_forward(&m->self, tape, &o, in));
    const int64_t width = self_parts(&m->self) * (int64_t)m->model;
    const int64_t shape[] = { cla_tensor_size(o) / width, width };
    CLA_TRY(cla_tensor_reshape(tape, &o, o, 2, shape));
    return cla_linear(tape, y, o, m->out, m->out_bias, CLA_NONE, NULL);
}

cla_status mha_self(mha *m, cla_tape *tape, cla_tensor **y, cla_tensor *query,
                    cla_tensor *key, const mha_rows *rows)
{
    self_input in = { .query = query };
    CLA_TRY(heads_of(m, tape, &in.q, query, 0));
    CLA_TRY(heads_of(m, tape, &in.k, key, 1));
    CLA_TRY(heads_of(m, tape, &in.v, key, 2));
    return attend(m, tape, y, &in, rows);
}

cla_status mha_cross(mha *m, cla_tape *tape, cla_tensor **y, cla_tensor *x,
                     cla_tensor *kv, const mha_rows *rows)
{
    cla_tensor *q = NULL;
    self_input in = { 0 };
    CLA_TRY(cla_linear(tape, &q, x, m->in, m->in_bias, CLA_NONE, NULL));
    CLA_TRY(heads_of(m, tape, &in.q, q, 0));
    CLA_TRY(heads_of(m, tape, &in.k, kv, 0));
    CLA_TRY(heads_of(m, tape, &in.v, kv, 1));
    return attend(m, tape, y, &in, rows);
}
