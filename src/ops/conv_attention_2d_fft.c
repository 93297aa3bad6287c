/* conv_attention_2d_fft.c - convolves whole padded maps by FFT, a batch at a time.
 *
 * With P the map, w the filter with its middle tap at (0,0) and ^ the transform:
 * Y^ = P^ conj(w^), dP^ = dY^ w^, dW^ = sum over the maps of a head of P^ conj(dY^). */
#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "ops/conv_band.h"
#include "ops/conv_fft.h"

enum { LARGEST_BATCH = 64, GROUP_SIZE = 64 };

/* One forward or backward pass: plans, and memory for a batch of pairs. */
typedef struct pass {
    conv_walk w;
    cla_fft *fft;
    cla_memory map, strip, slopes; // real
    cla_memory spectra[2];         // of maps, of slopes
    cla_memory filters[2];         // spectra of filters, of their gradients
    cla_memory bias, scratch;
} pass;

/* ---- launches ------------------------------------------------------------------ */

/* Queues a kernel with a work-item for each of `numbers` numbers of `count` maps. */
static cla_status run(const pass *p, cla_launch *launch, const char *kernel,
                      int64_t numbers, int64_t count)
{
    launch->file = "conv_fft";
    launch->kernel = kernel;
    launch->define[0] = (cla_define){ "WG", GROUP_SIZE };
    launch->local[0] = GROUP_SIZE;
    launch->groups[0] = cla_conv_blocks(numbers, GROUP_SIZE);
    launch->groups[1] = 1;
    launch->groups[2] = (size_t)count;
    return cla_enqueue(p->w.rt, launch);
}

static cla_status transform(const pass *p, const cla_memory *to, const cla_memory *from)
{
    return cla_fft_run(p->w.rt, p->fft, false, to, from, &p->scratch);
}

static cla_status inverse(const pass *p, const cla_memory *to, const cla_memory *from)
{
    return cla_fft_run(p->w.rt, p->fft, true, to, from, &p->scratch);
}

/* Queues to = from times the filters' spectra or, with sign -1, their complex
 * conjugates. */
static cla_status multiply(const pass *p, const cla_memory *to, const cla_memory *from,
                           float sign)
{
    const conv_band *m = &p->w.m;
    cla_launch launch = { .args = { cla_mem(to), cla_mem(from), cla_mem(&p->filters[0]),
                                    cla_bytes(m, sizeof *m), cla_i32(p->fft->cells),
                                    cla_f32(sign) } };
    return run(p, &launch, "conv_multiply", p->fft->cells, p->w.pairs);
}

static size_t cells_bytes(const pass *p, int64_t maps)
{
    return (size_t)maps * (size_t)p->fft->cells * 2 * sizeof(float);
}

/* Queues the spectra of all heads' filters, a batch at a time; the maps' memory serves
 * as scratch. */
static cla_status transform_filters(const pass *p, const cla_tensor *w)
{
    const int32_t heads = p->w.m.heads, batch = p->fft->batch;
    for (int32_t first = 0; first < heads; first += batch) {
        const int32_t count = heads - first < batch ? heads - first : batch;
        cla_launch launch = { .args = { cla_mem(&p->map), cla_buf(w),
                                        cla_bytes(&p->w.m, sizeof p->w.m),
                                        cla_i32(first), cla_i32(p->fft->side) } };
        CLA_TRY(run(p, &launch, "conv_place", p->w.m.size, batch));
        CLA_TRY(transform(p, &p->spectra[0], &p->map));
        CLA_TRY(cla_memory_copy(p->w.rt, &p->filters[0], cells_bytes(p, first),
                                &p->spectra[0], 0, cells_bytes(p, count)));
    }
    return CLA_OK;
}

/* Queues sums = gradients of filters, from their spectra, and of biases. */
static cla_status gather_filters(const pass *p, const cla_memory *sums)
{
    const int32_t heads = p->w.m.heads, batch = p->fft->batch;
    for (int32_t first = 0; first < heads; first += batch) {
        const int32_t count = heads - first < batch ? heads - first : batch;
        CLA_TRY(cla_memory_copy(p->w.rt, &p->spectra[0], 0, &p->filters[1],
                                cells_bytes(p, first), cells_bytes(p, count)));
        CLA_TRY(inverse(p, &p->map, &p->spectra[0]));
        cla_launch launch = { .args = { cla_mem(sums), cla_mem(&p->map),
                                        cla_mem(&p->bias),
                                        cla_bytes(&p->w.m, sizeof p->w.m),
                                        cla_i32(first), cla_i32(p->fft->side) } };
        CLA_TRY(
            run(p, &launch, "conv_gather", (int64_t)p->w.m.kh * p->w.m.kw + 1, count));
    }
    return CLA_OK;
}

/* ---- a pass -------------------------------------------------------------------- */

static int32_t longest_side(const conv_call *call)
{
    return call->kh > call->kw ? call->kh : call->kw;
}

int32_t cla_conv_fft_side(const conv_call *call)
{
    return cla_fft_side((int64_t)call->base.longest_q + longest_side(call) / 2);
}

/* Returns the pairs of a batch: a power of two, so that plans serve many calls. */
static int32_t batch_of(cla_runtime *rt, const conv_call *call, int32_t side)
{
    const int64_t floats = 5 * (int64_t)(side + 32) * side; // three maps, two spectra
    const int64_t fitting = cla_conv_share(rt, floats, LARGEST_BATCH);
    int32_t batch =
        cla_conv_power(call->pairs < LARGEST_BATCH ? call->pairs : LARGEST_BATCH);
    while (batch > fitting) {
        batch /= 2;
    }
    return batch;
}

/* Allocates the memory of a pass. count: maps, 1 for forward, 3 for backward. */
static cla_status pass_begin(pass *p, cla_runtime *rt, const conv_call *call,
                             cla_fft *fft, int count)
{
    const int64_t cells = 2 * (int64_t)fft->cells, heads = call->base.heads;
    cla_memory band[3];
    p->fft = fft;
    p->w = cla_conv_walk_begin(rt, call, cla_runtime_schedule(rt) == CLA_SCHEDULE_TILE);
    p->w.m.mask = -1;
    p->w.m.line = fft->line;
    p->w.m.size = fft->line * fft->side;
    CLA_TRY(cla_conv_bands(&p->w, band, count, fft->batch));
    p->map = band[0];
    p->strip = count > 1 ? band[1] : band[0];
    p->slopes = count > 1 ? band[2] : band[0];
    for (int i = 0; i < (count > 1 ? 2 : 1); i++) {
        CLA_TRY(cla_conv_work(rt, CLA_WORK_SPECTRA + i, &p->spectra[i],
                              fft->batch * cells));
        CLA_TRY(cla_conv_work(rt, CLA_WORK_FILTERS + i, &p->filters[i], heads * cells));
    }
    CLA_TRY(cla_conv_work(rt, CLA_WORK_BIAS, &p->bias, heads));
    return cla_conv_work(rt, CLA_WORK_FFT, &p->scratch,
                         (int64_t)(fft->scratch_bytes / sizeof(float)) + 1);
}

static bool next_pairs(pass *p)
{
    p->w.m.pair += p->w.pairs;
    const int64_t rest = p->w.call->pairs - p->w.m.pair;
    p->w.pairs = rest < p->fft->batch ? rest : p->fft->batch;
    return p->w.pairs > 0;
}

/* Return the rows with tokens, and all rows that a transform reads. */
static conv_band own_rows(const pass *p)
{
    conv_band m = p->w.m;
    m.last = p->w.call->base.longest_q;
    return m;
}

static conv_band all_rows(const pass *p)
{
    conv_band m = p->w.m;
    m.last = p->fft->side;
    return m;
}

static cla_status forward_pairs(const pass *p)
{
    const cla_attention_call *c = &p->w.call->base;
    const conv_band own = own_rows(p);
    CLA_TRY(cla_conv_score(&p->w, &p->map, own, c->q, c->k, c->args.scale));
    CLA_TRY(cla_conv_softmax(&p->w, &p->map, all_rows(p), false));
    CLA_TRY(transform(p, &p->spectra[0], &p->map));
    CLA_TRY(multiply(p, &p->spectra[0], &p->spectra[0], -1));
    CLA_TRY(inverse(p, &p->strip, &p->spectra[0]));
    CLA_TRY(cla_conv_activate(&p->w, &p->strip, own));
    return cla_conv_mix(&p->w, c->o, &p->strip, own, c->v, 1, GRAD_WRITE);
}

static cla_status get_fft(cla_fft **fft, cla_runtime *rt, const conv_call *call)
{
    const int32_t side = cla_conv_fft_side(call);
    return cla_fft_get(fft, rt, side, batch_of(rt, call, side));
}

cla_status cla_conv_fft_forward(cla_runtime *rt, const conv_call *call)
{
    cla_fft *fft = NULL;
    pass p = { 0 };
    CLA_TRY(get_fft(&fft, rt, call));
    CLA_TRY(pass_begin(&p, rt, call, fft, 1));
    CLA_TRY(transform_filters(&p, call->w));
    while (next_pairs(&p)) {
        CLA_TRY(forward_pairs(&p));
    }
    return CLA_OK;
}

/* Queues the pairs' part of the spectra of the filters' gradients, and of db. */
static cla_status correlate(const pass *p)
{
    const conv_band *m = &p->w.m;
    cla_launch launch = { .args = { cla_mem(&p->filters[1]), cla_mem(&p->bias),
                                    cla_mem(&p->spectra[0]), cla_mem(&p->spectra[1]),
                                    cla_bytes(m, sizeof *m), cla_i32(p->w.pairs),
                                    cla_i32(p->fft->cells), cla_i32(m->pair > 0) } };
    return run(p, &launch, "conv_correlate", p->fft->cells, m->heads);
}

static cla_status backward_pairs(const pass *p, const conv_grads *g)
{
    const cla_attention_call *c = &p->w.call->base;
    const conv_walk *w = &p->w;
    const conv_band own = own_rows(p), all = all_rows(p);
    CLA_TRY(cla_conv_score(w, &p->map, own, c->q, c->k, c->args.scale));
    CLA_TRY(cla_conv_softmax(w, &p->map, all, true));
    CLA_TRY(transform(p, &p->spectra[0], &p->map));
    CLA_TRY(multiply(p, &p->spectra[1], &p->spectra[0], -1));
    CLA_TRY(inverse(p, &p->strip, &p->spectra[1]));
    CLA_TRY(cla_conv_activate(w, &p->strip, own));
    CLA_TRY(cla_conv_score(w, &p->slopes, own, g->o, c->v, 1));
    CLA_TRY(cla_conv_slope(w, &p->slopes, &p->strip, all));
    CLA_TRY(cla_conv_spread(w, g->v, &p->strip, own, g->o, 1, g->v_mode));
    CLA_TRY(transform(p, &p->spectra[1], &p->slopes));
    CLA_TRY(correlate(p));
    CLA_TRY(multiply(p, &p->spectra[1], &p->spectra[1], 1));
    CLA_TRY(inverse(p, &p->slopes, &p->spectra[1]));
    CLA_TRY(cla_conv_softmax_back(w, &p->slopes, &p->map, own));
    CLA_TRY(cla_conv_mix(w, g->q, &p->slopes, own, c->k, c->args.scale, g->q_mode));
    return cla_conv_spread(w, g->k, &p->slopes, own, c->q, c->args.scale, g->k_mode);
}

cla_status cla_conv_fft_backward(cla_runtime *rt, const conv_call *call,
                                 conv_grads *grads)
{
    const size_t taps = (size_t)call->kh * (size_t)call->kw + 1;
    cla_fft *fft = NULL;
    pass p = { 0 };
    CLA_TRY(get_fft(&fft, rt, call));
    CLA_TRY(pass_begin(&p, rt, call, fft, 3));
    grads->sequences = 1;
    CLA_TRY(cla_tape_scratch(grads->tape, &grads->sums,
                             (size_t)call->base.heads * taps * sizeof(float)));
    CLA_TRY(transform_filters(&p, call->w));
    while (next_pairs(&p)) {
        CLA_TRY(backward_pairs(&p, grads));
    }
    return gather_filters(&p, &grads->sums);
}

/* ---- first use ----------------------------------------------------------------- */

/* A random map of the largest size for these plans, and a random 3x3 filter. */
typedef struct trial {
    int32_t side, line, length;
    float *map, *got, w[9];
} trial;

static double direct(const trial *t, int32_t i, int32_t j)
{
    double sum = 0;
    for (int32_t n = 0; n < 9; n++) {
        const int32_t r = i + n / 3 - 1, c = j + n % 3 - 1;
        if (r >= 0 && r < t->length && c >= 0 && c < t->length) {
            sum += (double)t->w[n] * (double)t->map[r * t->line + c];
        }
    }
    return sum;
}

/* Returns whether the results are right; NaN is wrong. */
static bool agrees(const trial *t)
{
    for (int32_t i = 0; i < t->length; i++) {
        for (int32_t j = 0; j < t->length; j++) {
            const double error =
                fabs(direct(t, i, j) - (double)t->got[i * t->line + j]);
            if (!(error < 1e-4)) {
                return false;
            }
        }
    }
    return true;
}

static cla_status run_trial(trial *t, cla_runtime *rt, const conv_call *call,
                            cla_fft *fft)
{
    conv_call one = *call; // one head, 3x3, in the last place of the batch
    cla_tensor *w = NULL;
    pass p = { 0 };
    one.kh = one.kw = 3;
    one.base.heads = 1;
    CLA_TRY(pass_begin(&p, rt, &one, fft, 1));
    p.w.pairs = fft->batch;
    CLA_TRY(cla_tensor_new(&w, rt, CLA_F32, 1, (int64_t[]){ 9 }));
    const size_t bytes = (size_t)p.w.m.size * sizeof(float);
    const size_t at = (size_t)(fft->batch - 1) * bytes;
    cla_status status = cla_tensor_upload(w, t->w);
    status = status ? status : transform_filters(&p, w);
    status = status ? status : cla_memory_write(rt, &p.map, at, t->map, bytes);
    status = status ? status : transform(&p, &p.spectra[0], &p.map);
    status = status ? status : multiply(&p, &p.spectra[0], &p.spectra[0], -1);
    status = status ? status : inverse(&p, &p.map, &p.spectra[0]);
    status = status ? status : cla_memory_read(rt, &p.map, at, t->got, bytes);
    cla_tensor_free(&w);
    return status;
}

/* Compares results of the plans with direct sums, and sets fft->state. */
static cla_status try_out(cla_fft *fft, cla_runtime *rt, const conv_call *call)
{
    trial t = { .side = fft->side, .line = fft->line, .length = fft->side - 1 };
    const size_t size = (size_t)t.side * (size_t)t.line;
    cla_status status = cla_alloc(&t.map, size, sizeof *t.map);
    status = status ? status : cla_alloc(&t.got, size, sizeof *t.got);
    if (!status) {
        cla_random_normal(t.w, 9, 1, 42, 0);
        cla_random_normal(t.map, (int64_t)size, 1, 42, 1);
        for (int32_t i = 0; i < t.side; i++) {
            for (int32_t j = 0; j < t.line; j++) {
                const bool inside = i < t.length && j < t.length;
                t.map[i * t.line + j] *= inside ? 1.0F : 0.0F;
            }
        }
        status = run_trial(&t, rt, call, fft);
    }
    if (!status && !agrees(&t)) {
        status = cla_fail(CLA_E_DEVICE, "clFFT: wrong results for maps of %dx%d",
                          t.side, t.side);
    }
    fft->state = status ? CLA_FFT_BROKEN : CLA_FFT_WORKS;
    free(t.map);
    free(t.got);
    return status;
}

cla_status cla_conv_fft_check(bool *works, cla_runtime *rt, const conv_call *call)
{
    *works = false;
    if (!cla_fft_built()) {
        return cla_fail(CLA_E_USAGE, "conv_attention_2d: this build has no clFFT");
    }
    if (!call->pairs || !call->base.longest_q) {
        return CLA_OK;
    }
    if (!cla_conv_fft_side(call)) {
        return cla_fail(
            CLA_E_SHAPE,
            "conv_attention_2d: a sequence of %d tokens is too long for FFT",
            call->base.longest_q);
    }
    cla_fft *fft = NULL;
    cla_status status = get_fft(&fft, rt, call);
    if (!status && fft->state == CLA_FFT_NEW) {
        status = try_out(fft, rt, call);
    }
    if (status == CLA_E_DEVICE) {
        cla_log(CLA_LOG_WARN, "%s; its maps are convolved directly on '%s'",
                cla_error(), cla_runtime_device(rt)->name);
        return CLA_OK;
    }
    CLA_TRY(status);
    *works = fft->state == CLA_FFT_WORKS;
    return CLA_OK;
}
