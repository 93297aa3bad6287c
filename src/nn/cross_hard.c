/* cross_hard.c - hard attention to the memory, through gates. */
#include "nn/cross_hard.h"

#include <math.h>
#include <stdio.h>

#include "clattn/ops.h"

/* ---- settings ---------------------------------------------------------------- */

/* In the order of cla_hard_gate. */
static const char *const gate_names[] = { "threshold", "sample", "expected", "topk",
                                          NULL };

static cla_status read_keys(cross_hard_config *c, cla_config *s)
{
    static const char *const norms[] = { "sum", "mean", NULL };
    static const char *const scales[] = { "one", "rsqrt", NULL };
    static const char *const baselines[] = { "none", "batch_mean", "learned", NULL };
    int mean = 0, scaled = 0, baseline = 0;
    CLA_TRY(cla_config_choice(s, "hard_infer", gate_names, &c->gate));
    CLA_TRY(cla_config_int(s, "hard_top", &c->top, 1, 1 << 16));
    CLA_TRY(cla_config_choice(s, "hard_norm", norms, &mean));
    CLA_TRY(cla_config_choice(s, "score_scale", scales, &scaled));
    CLA_TRY(cla_config_bool(s, "rl_stop_grad", &c->stop));
    CLA_TRY(cla_config_choice(s, "baseline", baselines, &baseline));
    c->mean = mean == 1;
    c->scaled = scaled == 1;
    c->baseline = baseline == CLA_BASELINE_LEARNED;
    return CLA_OK;
}

cla_status cla_cross_hard_configure(cross_hard_config *c, cla_config *s)
{
    static const char *const names[] = { "soft", "hard", NULL };
    static const char *const keys[] = { "hard_infer",  "hard_top",     "hard_norm",
                                        "score_scale", "rl_stop_grad", "baseline",
                                        NULL };
    int chosen = 0;
    *c = (cross_hard_config){ .top = 4, .stop = true };
    CLA_TRY(cla_config_choice(s, "cross", names, &chosen));
    c->on = chosen == 1;
    return c->on ? read_keys(c, s) : cla_config_know(s, keys);
}

/* ---- parameters -------------------------------------------------------------- */

static cla_status add_projector(const cross_hard *h, cla_hard_projector *p,
                                cla_params *params, const char *prefix,
                                const char *what)
{
    const int64_t D = h->model;
    char name[56];
    snprintf(name, sizeof name, "%s.%s.in", prefix, what);
    CLA_TRY(cla_param_matrix(params, &p->w1, D, D, "%s", name));
    CLA_TRY(cla_param_zeros(params, &p->b1, D, "%s_bias", name));
    snprintf(name, sizeof name, "%s.%s.out", prefix, what);
    CLA_TRY(cla_param_matrix(params, &p->w2, D, D, "%s", name));
    return cla_param_zeros(params, &p->b2, D, "%s_bias", name);
}

cla_status cla_cross_hard_init(cross_hard *h, cla_params *params, const char *prefix)
{
    char name[56];
    CLA_TRY(add_projector(h, &h->query, params, prefix, "query"));
    CLA_TRY(add_projector(h, &h->key, params, prefix, "key"));
    CLA_TRY(add_projector(h, &h->value, params, prefix, "value"));
    snprintf(name, sizeof name, "%s.baseline", prefix);
    return h->config.baseline ? cla_param_linear(params, &h->baseline,
                                                 &h->baseline_bias, h->model, 1, name)
                              : CLA_OK;
}

/* ---- forward ----------------------------------------------------------------- */

cla_status cla_cross_hard_remember(cross_hard *h, cla_tape *tape, cla_tensor **key,
                                   cla_tensor **value, cla_tensor *memory)
{
    CLA_TRY(cla_hard_project(tape, key, memory, &h->key, h->config.stop));
    return cla_hard_project(tape, value, memory, &h->value, false);
}

cla_status cla_cross_hard_forward(cross_hard *h, cla_tape *tape, cla_tensor **o,
                                  cla_tensor *x, cla_tensor *key, cla_tensor *value,
                                  const cla_ragged *rows[2], cross_hard_pass *pass)
{
    const bool training = cla_tape_training(tape);
    cross_hard_pass unused = { 0 };
    cla_tensor *q = NULL;
    pass = pass ? pass : &unused;
    CLA_TRY(cla_hard_project(tape, &q, x, &h->query, h->config.stop));
    const cla_hard_options options = {
        .gate = pass->given              ? CLA_GATE_GIVEN
                : training || pass->draw ? CLA_GATE_SAMPLE
                                         : (cla_hard_gate)h->config.gate,
        .top = h->config.top,
        .given = pass->given,
        .scale = h->config.scaled ? 1 / sqrtf((float)h->model) : 1,
        .mean = h->config.mean,
        .form = training ? CLA_HARD_DENSE : CLA_HARD_SPARSE,
        .scores = &pass->scores,
        .gates = &pass->gates,
    };
    CLA_TRY(cla_hard_attention(tape, o, q, key, value, rows[0], rows[1], &options));
    pass->state = x;
    pass->mark = cla_tape_mark(tape);
    return CLA_OK;
}

cla_status cla_cross_hard_expect(cross_hard *h, cla_tape *tape, cla_tensor **expected,
                                 const cross_hard_pass *pass)
{
    cla_tensor *state = NULL;
    *expected = NULL;
    if (!h->baseline) {
        return CLA_OK;
    }
    const int64_t rows = cla_tensor_dim(pass->state, 0);
    CLA_TRY(cla_tensor_reshape(tape, &state, pass->state, 2,
                               (int64_t[]){ rows, h->model }));
    cla_tensor_want_grad(state, false);
    CLA_TRY(cla_linear(tape, expected, state, h->baseline, h->baseline_bias, CLA_NONE,
                       NULL));
    return cla_tensor_reshape(tape, expected, *expected, 1, &rows);
}
