/* custom_attention.c - times scores of expressions beside operators written for the
 * same scores, masks with fewer and fewer visible blocks, and the score of --custom. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "bench/bench.h"
#include "bench/internal.h"
#include "ops/custom_code.h"
#include "oracle/oracle.h"

enum { HEADS = 8, WIDTH = 64 };

/* A modifier, and the operator to compare with. */
typedef struct rival {
    const char *name;
    const char *score, *mask;
    oracle_modifier is;
    int window;
    int B, T;
    bool slopes; // an input slope [H]
    bool tables; // and an input table [H,2T]
    bool asked;  // the score of --custom: no oracle can verify it
} rival;

typedef struct layer {
    const rival *r;
    bool own; // time the operator, not the expression
    cla_ragged *rows;
    int32_t *offsets;
} layer;

static double alibi(const oracle_pair *p, double *const *x)
{
    return p->s - x[3][p->h] * abs(p->j - p->i);
}

static double soft_cap(const oracle_pair *p, double *const *x)
{
    (void)x;
    return 30 * tanh(p->s / 30);
}

static bool halves(const oracle_pair *p, double *const *x)
{
    (void)x;
    return p->i / 1024 == p->j / 1024;
}

static bool eighths(const oracle_pair *p, double *const *x)
{
    (void)x;
    return p->i / 256 == p->j / 256;
}

static const rival RIVALS[] = {
    { .name = "plain", .B = 4, .T = 512 },
    { .name = "alibi",
      .score = "s - slope[h] * abs(j - i)",
      .slopes = true,
      .B = 4,
      .T = 512,
      .is = { .score = alibi } },
    { .name = "soft cap",
      .score = "30 * tanh(s / 30)",
      .B = 4,
      .T = 512,
      .is = { .score = soft_cap } },
    { .name = "window", .window = 11, .B = 1, .T = 4096 },
    { .name = "documents 1/1", .mask = "i >= 0", .B = 1, .T = 2048 },
    { .name = "documents 1/2",
      .mask = "int(i / 1024) == int(j / 1024)",
      .B = 1,
      .T = 2048,
      .is = { .mask = halves } },
    { .name = "documents 1/8",
      .mask = "int(i / 256) == int(j / 256)",
      .B = 1,
      .T = 2048,
      .is = { .mask = eighths } },
};

static cla_status forward(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const layer *c = context;
    const rival *r = c->r;
    cla_attention_mod mod = { .score = r->score, .mask = r->mask, .window = r->window };
    int n = 0;
    if (r->slopes) {
        mod.inputs[n++] = (cla_custom_input){ "slope", x[3] };
    }
    if (r->tables) {
        mod.inputs[n] = (cla_custom_input){ "table", x[3 + n] };
    }
    if (c->own && r->window) {
        return cla_band_attention(tape, y, x[0], x[1], x[2], c->rows, r->window, NULL);
    }
    if (c->own) {
        return cla_attention(tape, y, x[0], x[1], x[2], c->rows, c->rows, NULL);
    }
    return cla_custom_attention(tape, y, x[0], x[1], x[2], c->rows, c->rows, &mod,
                                NULL);
}

static void oracle(double *y, double *const *x, void *context)
{
    const layer *c = context;
    const oracle_attention_shape s = {
        .B = c->r->B,
        .H = HEADS,
        .d = WIDTH,
        .q_offsets = c->offsets,
        .k_offsets = c->offsets,
        .window = c->r->window,
        .Smax = c->r->T,
    };
    oracle_custom_attention(y, NULL, x, &c->r->is, &s);
}

static cla_status run_shape(bench *b, layer *c, bool backward)
{
    const rival *r = c->r;
    const int64_t N = cla_ragged_tokens(c->rows);
    const bench_input tokens = { 3, { N, HEADS, WIDTH }, .scale = 1 };
    const double keys = r->window ? r->window : r->T;
    bench_op op = {
        .suite = "attention",
        .in = { tokens, tokens, tokens },
        .inputs = 3,
        .backward = backward,
        .flops = (double)N * keys * HEADS * WIDTH * 2.0 * (backward ? 7 : 2),
        .bytes = (backward ? 12.0 : 4.0) * 4 * (double)N * HEADS * WIDTH,
        .forward = forward,
        .oracle = r->asked && !c->own ? NULL : oracle,
        .context = c,
    };
    if (r->slopes && !c->own) {
        // a slope's gradient sums a million terms, 1e3 to 1e5 times as large as the sum
        op.in[op.inputs++] =
            (bench_input){ 1, { HEADS }, .scale = 0.1f, .cancels = 30 };
    }
    if (r->tables && !c->own) {
        op.in[op.inputs++] =
            (bench_input){ 2, { HEADS, (int64_t)2 * r->T }, .scale = 0.1f };
    }
    const char *direction = backward ? "fwd+bwd" : "fwd";
    if (r->asked && c->own) {
        snprintf(op.name, sizeof op.name, "attention %s B%d H%d T%d d%d", direction,
                 r->B, HEADS, r->T, WIDTH);
    } else {
        snprintf(op.name, sizeof op.name, "custom_attention %s %.60s%s B%d H%d T%d d%d",
                 direction, r->name, c->own ? " own kernel" : "", r->B, HEADS, r->T,
                 WIDTH);
    }
    return bench_op_run(b, &op);
}

/* Times forward and backward by the expression, and by an operator of its own where
 * there is one. */
static cla_status run_rival(bench *b, layer *c)
{
    const bool owned = c->r->asked || (!c->r->score && !c->r->mask);
    for (int backward = 0; backward < 2; backward++) {
        c->own = false;
        CLA_TRY(run_shape(b, c, backward));
        c->own = true;
        CLA_TRY(owned ? run_shape(b, c, backward) : CLA_OK);
    }
    return CLA_OK;
}

static cla_status prepare(bench *b, layer *c)
{
    const rival *r = c->r;
    CLA_TRY(cla_alloc(&c->offsets, (size_t)r->B + 1, sizeof *c->offsets));
    for (int i = 0; i < r->B; i++) {
        c->offsets[i + 1] = c->offsets[i] + r->T;
    }
    return cla_ragged_new(&c->rows, bench_runtime(b), r->B, c->offsets);
}

static cla_status run_prepared(bench *b, const rival *r)
{
    layer c = { .r = r };
    cla_status status = prepare(b, &c);
    status = status ? status : run_rival(b, &c);
    cla_ragged_free(&c.rows);
    free(c.offsets);
    return status;
}

cla_status bench_custom_attention(bench *b)
{
    const size_t count = sizeof RIVALS / sizeof *RIVALS;
    cla_status status = CLA_OK;
    for (size_t n = 0; n < (bench_quick(b) ? 2 : count) && !status; n++) {
        status = run_prepared(b, &RIVALS[n]);
    }
    return status;
}

/* ---- --custom ------------------------------------------------------------------- */

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Returns whether a text contains a word. */
static bool has_word(const char *text, const char *word)
{
    const size_t size = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += size) {
        if (!in_word(at[size]) && (at == text || !in_word(at[-1]))) {
            return true;
        }
    }
    return false;
}

static rival asked(const char *score)
{
    return (rival){ .name = score,
                    .score = score,
                    .slopes = has_word(score, "slope"),
                    .tables = has_word(score, "table"),
                    .B = 4,
                    .T = 512,
                    .asked = true };
}

cla_status bench_custom_check(const char *score)
{
    if (!score) {
        return CLA_OK;
    }
    const rival r = asked(score);
    cla_tensor *tensors = NULL; // only types and ranks are set
    CLA_TRY(cla_alloc(&tensors, 2, sizeof *tensors));
    cla_attention_mod mod = { .score = score };
    bool wanted[CLA_CUSTOM_INPUTS] = { false };
    int n = 0;
    if (r.slopes) {
        tensors[n].rank = 1;
        mod.inputs[n] = (cla_custom_input){ "slope", &tensors[n] };
        wanted[n++] = true;
    }
    if (r.tables) {
        tensors[n].rank = 2;
        mod.inputs[n] = (cla_custom_input){ "table", &tensors[n] };
        wanted[n] = true;
    }
    tensors[0].dtype = tensors[1].dtype = CLA_F32;
    const cla_status status = cla_custom_check(&mod, wanted);
    free(tensors);
    return status ? cla_fail_within(status, "bench --custom") : CLA_OK;
}

cla_status bench_custom_score(bench *b, const char *score)
{
    const rival r = asked(score);
    return run_prepared(b, &r);
}
