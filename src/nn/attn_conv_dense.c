/* attn_conv_dense.c - attention with scores convolved before the softmax, and, where
 * later keys are hidden, with either convolved.
 *
 * Maps are dense: rows of [N,H,d] are gathered into [B,H,T,d] and padded with zeros.
 * With S neighbouring rows of a map side by side, the convolution is a matrix product
 * with the filter [S T,T] of each head. */
#include <math.h>

#include "clattn/feed.h"
#include "nn/attn_conv.h"
#include "tensor/tensor.h"

/* A batch as dense maps. */
typedef struct dense {
    cla_tape *tape;
    const cla_ragged *rows;
    int64_t B, H, T, d, side; // side: S
    bool causal;
    int32_t *ids; // room for the largest gather
} dense;

static int64_t length(const dense *m, int64_t b)
{
    return m->rows->offsets[b + 1] - m->rows->offsets[b];
}

/* Gathers n rows of the table x [rows,width] by m->ids; -1 gives a row of zeros. */
static cla_status gather(const dense *m, cla_tensor **y, cla_tensor *x, int64_t rows,
                         int64_t width, int64_t n)
{
    cla_tensor *table = NULL, *ids = NULL;
    CLA_TRY(cla_tensor_reshape(m->tape, &table, x, 2, (int64_t[]){ rows, width }));
    CLA_TRY(cla_tape_ids(m->tape, &ids, n, m->ids));
    return cla_embedding(m->tape, y, table, ids, 1);
}

/* Unpacks x [N,H,d] to y [B*H,T,d], multiplied by factor and padded with zeros. */
static cla_status spread_out(const dense *m, cla_tensor **y, cla_tensor *x,
                             float factor)
{
    cla_tensor *gamma = NULL, *whole = NULL;
    CLA_TRY(cla_tape_tensor(m->tape, &gamma, CLA_F32, 1, &m->H));
    CLA_TRY(cla_tensor_fill(gamma, factor));
    CLA_TRY(cla_scale_heads(m->tape, &whole, x, gamma));
    int32_t *id = m->ids;
    for (int64_t b = 0; b < m->B; b++) {
        for (int64_t h = 0; h < m->H; h++) {
            for (int64_t i = 0; i < m->T; i++) {
                const int64_t row = (m->rows->offsets[b] + i) * m->H + h;
                *id++ = (int32_t)(i < length(m, b) ? row : -1);
            }
        }
    }
    CLA_TRY(gather(m, y, whole, m->rows->tokens * m->H, m->d, id - m->ids));
    return cla_tensor_reshape(m->tape, y, *y, 3,
                              (int64_t[]){ m->B * m->H, m->T, m->d });
}

/* Packs x [B*H,T,d] to y [N*H,d]. */
static cla_status pack(const dense *m, cla_tensor **y, cla_tensor *x)
{
    int32_t *id = m->ids;
    for (int64_t b = 0; b < m->B; b++) {
        for (int64_t i = 0; i < length(m, b); i++) {
            for (int64_t h = 0; h < m->H; h++) {
                *id++ = (int32_t)((b * m->H + h) * m->T + i);
            }
        }
    }
    return gather(m, y, x, m->B * m->H * m->T, m->d, id - m->ids);
}

/* Makes y [H,B*T,S T]: S rows of each map a [B*H,T,T] side by side, the first of them
 * that many before row i. */
static cla_status neighbours(const dense *m, cla_tensor **y, cla_tensor *a)
{
    const int64_t back = cla_conv_back(m->side, m->causal);
    int32_t *id = m->ids;
    for (int64_t h = 0; h < m->H; h++) {
        for (int64_t row = 0; row < m->B * m->T; row++) {
            const int64_t b = row / m->T, i = row % m->T;
            for (int64_t at = i - back; at < i - back + m->side; at++) {
                const bool inside = at >= 0 && at < m->T;
                *id++ = (int32_t)(inside ? (b * m->H + h) * m->T + at : -1);
            }
        }
    }
    CLA_TRY(gather(m, y, a, m->B * m->H * m->T, m->T, id - m->ids));
    return cla_tensor_reshape(m->tape, y, *y, 3,
                              (int64_t[]){ m->H, m->B * m->T, m->side * m->T });
}

/* Reorders x [H,B*T,T] to y [B*H*T,T]. With `row`, x is [H,T], and its row h becomes
 * all rows of head h. */
static cla_status by_sentence(const dense *m, cla_tensor **y, cla_tensor *x, bool row)
{
    int32_t *id = m->ids;
    for (int64_t b = 0; b < m->B; b++) {
        for (int64_t h = 0; h < m->H; h++) {
            for (int64_t i = 0; i < m->T; i++) {
                *id++ = (int32_t)(row ? h : (h * m->B + b) * m->T + i);
            }
        }
    }
    return gather(m, y, x, row ? m->H : m->H * m->B * m->T, m->T, id - m->ids);
}

/* Makes f [H,S T,T] with f[h,u,c,o] = w[h,u,c-o+S/2], 0 elsewhere, as the product of
 * w [S H,S] with S shifted identity matrices. */
static cla_status band(const dense *m, cla_tensor **f, cla_tensor *w)
{
    const int64_t T = m->T, side = m->side;
    float *shift = NULL;
    cla_tensor *shifts = NULL, *flat = NULL;
    CLA_TRY(cla_alloc(&shift, (size_t)(side * T * T) + 1, sizeof *shift));
    for (int64_t at = 0; at < side * T * T; at++) {
        const int64_t v = at / (T * T), c = at / T % T, o = at % T;
        shift[at] = c - o + side / 2 == v;
    }
    cla_status status =
        cla_tape_tensor(m->tape, &shifts, CLA_F32, 2, (int64_t[]){ side, T * T });
    status = status ? status : cla_tensor_upload(shifts, shift);
    free(shift);
    CLA_TRY(status);
    CLA_TRY(cla_tensor_reshape(m->tape, &flat, w, 2, (int64_t[]){ m->H * side, side }));
    CLA_TRY(cla_matmul(m->tape, f, flat, shifts, false, false));
    return cla_tensor_reshape(m->tape, f, *f, 3, (int64_t[]){ m->H, side * T, T });
}

/* Makes a constant [T,T] whose number is 1 for keys up to the query, or on the
 * diagonal alone. */
static cla_status make_square(const dense *m, cla_tensor **y, bool diagonal)
{
    const int64_t T = m->T;
    float *host = NULL;
    CLA_TRY(cla_tape_tensor(m->tape, y, CLA_F32, 2, (int64_t[]){ T, T }));
    CLA_TRY(cla_alloc(&host, (size_t)(T * T) + 1, sizeof *host));
    for (int64_t at = 0; at < T * T; at++) {
        host[at] = diagonal ? at / T == at % T : at % T <= at / T;
    }
    const cla_status status = cla_tensor_upload(*y, host);
    free(host);
    return status;
}

/* Sets the numbers of later keys in maps x to zero. */
static cla_status hide_later(const dense *m, cla_tensor **y, cla_tensor *x)
{
    const int64_t rows = m->B * m->H * m->T, flat[] = { rows, m->T };
    cla_tensor *mask = NULL;
    for (int64_t i = 0; i < rows; i++) {
        m->ids[i] = (int32_t)(i % m->T);
    }
    CLA_TRY(make_square(m, &mask, false));
    CLA_TRY(gather(m, &mask, mask, m->T, m->T, rows));
    CLA_TRY(cla_tensor_reshape(m->tape, y, x, 2, flat));
    return cla_multiply(m->tape, y, *y, mask);
}

/* Makes the bias [H,T] of the keys: that of conv2d is one number a head. */
static cla_status spread_bias(const dense *m, cla_tensor **y, cla_tensor *bias)
{
    cla_tensor *ones = NULL;
    *y = bias;
    if (bias->rank == 2) {
        return CLA_OK;
    }
    CLA_TRY(cla_tape_tensor(m->tape, &ones, CLA_F32, 2, (int64_t[]){ 1, m->T }));
    CLA_TRY(cla_tensor_fill(ones, 1));
    CLA_TRY(cla_tensor_reshape(m->tape, y, bias, 2, (int64_t[]){ m->H, 1 }));
    return cla_matmul(m->tape, y, *y, ones, false, false);
}

/* Convolves maps [B*H,T,T] to y [B*H*T,T]. */
static cla_status convolve(const dense *m, cla_tensor **y, cla_tensor *maps,
                           const conv *c)
{
    cla_tensor *wide = NULL, *filter = NULL, *bias = NULL;
    CLA_TRY(neighbours(m, &wide, maps));
    if (c->filter->rank == 4) {
        CLA_TRY(cla_tensor_reshape(m->tape, &filter, c->filter, 3,
                                   (int64_t[]){ m->H, m->side * m->T, m->T }));
    } else {
        CLA_TRY(band(m, &filter, c->filter));
    }
    CLA_TRY(cla_matmul(m->tape, y, wide, filter, false, false));
    CLA_TRY(by_sentence(m, y, *y, false));
    if (!c->bias) {
        return CLA_OK;
    }
    CLA_TRY(spread_bias(m, &bias, c->bias));
    CLA_TRY(by_sentence(m, &bias, bias, true));
    return cla_add(m->tape, y, *y, bias);
}

/* Computes attention weights p [B,H,T,T]. */
static cla_status weigh(const dense *m, cla_tensor **p, cla_tensor *scores)
{
    const int64_t shape[] = { m->B, m->H, m->T, m->T };
    cla_tensor *lengths = NULL;
    for (int64_t b = 0; b < m->B; b++) {
        m->ids[b] = (int32_t)length(m, b);
    }
    CLA_TRY(cla_tape_ids(m->tape, &lengths, m->B, m->ids));
    CLA_TRY(cla_tensor_reshape(m->tape, &scores, scores, 4, shape));
    return cla_masked_softmax(m->tape, p, scores, lengths, lengths, m->causal);
}

/* Makes of weights p the map y that weights the values: act(b + their convolution). An
 * activation belongs to a product; here the other factor is the unit matrix. */
static cla_status convolve_weights(const dense *m, cla_tensor **y, cla_tensor *p,
                                   const conv *c)
{
    cla_tensor *unit = NULL;
    const cla_activation kind = (cla_activation)c->activation;
    CLA_TRY(convolve(m, y, p, c));
    if (kind != CLA_NONE) {
        CLA_TRY(make_square(m, &unit, true));
        CLA_TRY(cla_linear(m->tape, y, *y, unit, NULL, kind, NULL));
    }
    return hide_later(m, y, *y);
}

static cla_status attend(const dense *m, cla_tensor **o, const attn_input *in,
                         const conv *c)
{
    const int64_t maps[] = { m->B * m->H, m->T, m->T };
    cla_tensor *q = NULL, *k = NULL, *v = NULL, *scores = NULL, *p = NULL;
    CLA_TRY(spread_out(m, &q, in->q, 1 / sqrtf((float)m->d)));
    CLA_TRY(spread_out(m, &k, in->k, 1));
    CLA_TRY(spread_out(m, &v, in->v, 1));
    CLA_TRY(cla_matmul(m->tape, &scores, q, k, false, true));
    CLA_TRY(c->before && m->causal ? hide_later(m, &scores, scores) : CLA_OK);
    CLA_TRY(c->before ? convolve(m, &scores, scores, c) : CLA_OK);
    CLA_TRY(weigh(m, &p, scores));
    if (in->options.map) {
        *in->options.map = p;
    }
    CLA_TRY(c->before ? CLA_OK : convolve_weights(m, &p, p, c));
    CLA_TRY(cla_tensor_reshape(m->tape, &p, p, 3, maps));
    CLA_TRY(cla_matmul(m->tape, o, p, v, false, false));
    return pack(m, o, *o);
}

cla_status cla_conv_dense(attn_layer *layer, cla_tape *tape, cla_tensor **o,
                          const attn_input *in)
{
    const conv *c = cla_attn_state(&layer->config);
    const int64_t longest = in->q_rows->longest;
    const bool tied = c->filter->rank == 4;
    dense m = { .tape = tape,
                .rows = in->q_rows,
                .B = in->q_rows->sequences,
                .H = in->q->shape[1],
                .T = tied ? c->filter->shape[3] : longest,
                .d = in->q->shape[2],
                .side = c->side,
                .causal = in->options.causal };
    if (longest > m.T) {
        return cla_fail(CLA_E_SHAPE,
                        "conv: a sequence of %lld tokens, the filter has %lld",
                        (long long)longest, (long long)m.T);
    }
    CLA_TRY(cla_alloc(&m.ids, (size_t)(m.side * m.B * m.H * m.T) + 1, sizeof *m.ids));
    const cla_status status = attend(&m, o, in, c);
    free(m.ids);
    return status;
}
