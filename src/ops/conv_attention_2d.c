/* conv_attention_2d.c - self-attention whose map is convolved after the softmax. */
#include "ops/conv_attention_2d.h"

#include <stdlib.h>

#include "base/base.h"
#include "ops/activation.h"
#include "tensor/signature.h"

static const char OP[] = "conv_attention_2d";
/* Filters of at least this side are convolved by FFT unless the tuning says
 * otherwise. */
enum { CPU_FFT_SIDE = 33, GPU_FFT_SIDE = 17 };

static const char WORK_KEY; // its address is the key

/* ---- scratch ------------------------------------------------------------------- */

static void free_works(cla_runtime *rt, void *state)
{
    cla_memory *works = state;
    for (int i = 0; i < CLA_WORKS; i++) {
        cla_memory_free(&works[i], rt);
    }
    free(works);
}

cla_status cla_conv_work(cla_runtime *rt, int piece, cla_memory *out, int64_t floats)
{
    cla_memory *work = NULL;
    CLA_TRY(
        cla_runtime_state(rt, &WORK_KEY, CLA_WORKS * sizeof *work, free_works, &work));
    work += piece;
    const size_t bytes = (size_t)floats * sizeof(float);
    if (work->bytes < bytes) {
        cla_memory fresh;
        cla_memory_free(work, rt);
        CLA_TRY(cla_memory_new(&fresh, rt, bytes)); // else the piece stays empty
        *work = fresh;
    }
    *out = *work;
    return CLA_OK;
}

void cla_conv_drop(cla_runtime *rt, int piece)
{
    cla_extension *extension = NULL;
    if (!cla_runtime_extension(rt, &WORK_KEY, &extension) && extension->state) {
        cla_memory_free((cla_memory *)extension->state + piece, rt);
    }
}

static bool is_gpu(const cla_device *device)
{
    return device->kind == CLA_DEVICE_GPU || device->kind == CLA_DEVICE_INTEGRATED;
}

int64_t cla_conv_fitting(cla_runtime *rt, int64_t floats)
{
    const cla_device *device = cla_runtime_device(rt);
    const uint64_t spare = device->memory_bytes / 16,
                   most =
                       is_gpu(device) ? device->max_buffer_bytes : (uint64_t)256 << 20,
                   budget = spare < most ? spare : most;
    return (int64_t)(budget / ((uint64_t)floats * sizeof(float)));
}

int64_t cla_conv_share(cla_runtime *rt, int64_t floats, int64_t wanted)
{
    const int64_t fitting = cla_conv_fitting(rt, floats);
    return fitting < 1 ? 1 : fitting < wanted ? fitting : wanted;
}

double cla_conv_products(const conv_call *call)
{
    double squares = 0;
    for (int64_t b = 0; b < call->base.sequences; b++) {
        const int32_t *offset = call->base.q_rows->offsets + b;
        squares += (double)(offset[1] - offset[0]) * (offset[1] - offset[0]);
    }
    return squares * call->base.heads * call->base.width;
}

int32_t cla_conv_power(int32_t n)
{
    int32_t power = 1;
    while (power < n) {
        power *= 2;
    }
    return power;
}

/* ---- backward ------------------------------------------------------------------ */

bool cla_conv_overlap(const cla_tensor *a, const cla_tensor *b)
{
    return a && b && a->memory.mem == b->memory.mem &&
           llabs((long long)(a->offset - b->offset)) < a->shape[1] * a->shape[2];
}

static cla_status grad_of(cla_tape *tape, cla_tensor *x, cla_tensor **grad, int *mode)
{
    int add = 0;
    CLA_TRY(cla_grad_out(tape, x, grad, &add));
    *mode = !*grad ? GRAD_SKIP : add ? GRAD_ADD : GRAD_WRITE;
    return CLA_OK;
}

/* Queues dW and db, the sums of the pairs' partial sums. */
static cla_status sum_filters(const conv_call *call, const conv_grads *grads)
{
    enum { GROUP_SIZE = 64 };
    cla_tensor *dw = NULL, *db = NULL;
    int w_mode = 0, b_mode = 0;
    CLA_TRY(grad_of(grads->tape, call->w, &dw, &w_mode));
    CLA_TRY(grad_of(grads->tape, call->b, &db, &b_mode));
    if (!dw && !db) {
        return CLA_OK;
    }
    const int taps = call->kh * call->kw + 1, heads = call->base.heads;
    const int each = grads->many ? 1 : GROUP_SIZE; // results of a group
    const cla_launch launch = {
        .file = "conv_attention_2d_sums",
        .kernel = grads->many ? "conv_sum_many" : "conv_sum_filters",
        .define = { { "WG", GROUP_SIZE } },
        .groups = { (size_t)((heads * taps + each - 1) / each) },
        .local = { GROUP_SIZE },
        .args = { cla_buf(dw), cla_buf(db), cla_mem(&grads->sums),
                  cla_i32(grads->sequences), cla_i32(heads), cla_i32(grads->parts),
                  cla_i32(taps), cla_i32(w_mode), cla_i32(b_mode) },
    };
    return cla_enqueue(cla_tape_runtime(grads->tape), &launch);
}

/* A tensor may be q, k and v at once. Its gradient, of three parts in any order, begins
 * with zeros. */
static cla_status share_grads(conv_grads *g)
{
    cla_tensor *const x[] = { g->q, g->k, g->v };
    int *const mode[] = { &g->q_mode, &g->k_mode, &g->v_mode };
    for (int i = 0; i < 3; i++) {
        const cla_tensor *other = x[(i + 1) % 3], *third = x[(i + 2) % 3];
        if (*mode[i] == GRAD_WRITE &&
            (cla_conv_overlap(x[i], other) || cla_conv_overlap(x[i], third))) {
            CLA_TRY(cla_tensor_fill(x[i], 0));
            *mode[i] = GRAD_ADD;
        }
    }
    return CLA_OK;
}

static cla_status backward(cla_tape *tape, void *bytes)
{
    const conv_call *call = bytes;
    cla_runtime *rt = cla_tape_runtime(tape);
    cla_tensor *to[3];
    int mode[3];
    conv_grads grads = { .o = cla_grad_in(call->base.o),
                         .tape = tape,
                         .sequences = call->base.sequences,
                         .parts = 1 };
    CLA_TRY(cla_attention_grads_of(tape, &call->base, to, mode));
    grads.q = to[0];
    grads.k = to[1];
    grads.v = to[2];
    grads.q_mode = mode[0];
    grads.k_mode = mode[1];
    grads.v_mode = mode[2];
    CLA_TRY(share_grads(&grads));
    if (!call->pairs || !call->base.longest_q) {
        grads.parts = 0; // nothing to add up
    } else if (call->fft) {
        CLA_TRY(cla_conv_fft_backward(rt, call, &grads));
    } else if (cla_runtime_schedule(rt) == CLA_SCHEDULE_TILE) {
        CLA_TRY(cla_conv_tile_backward(rt, call, &grads));
    } else {
        CLA_TRY(cla_conv_band_backward(rt, call, &grads));
    }
    return sum_filters(call, &grads);
}

/* ---- forward ------------------------------------------------------------------- */

const cla_signature cla_conv_attention_2d_signature = {
    "conv_attention_2d", "q~:N,H,d k~:N,H,d v~:N,H,d w:H,kh,kw b:H "
                         "rows(N,B,T) -> o:N,H,d map?:B,H,T,T"
};

static cla_status check_filter(conv_call *call, const cla_given *given)
{
    cla_sizes z = { 0 };
    CLA_TRY(cla_signature_check(&cla_conv_attention_2d_signature, given, &z));
    call->kh = (int32_t)call->w->shape[1];
    call->kw = (int32_t)call->w->shape[2];
    if (call->kh % 2 == 0 || call->kw % 2 == 0 || call->kh > CLA_CONV_SIDE ||
        call->kw > CLA_CONV_SIDE) {
        return cla_fail(CLA_E_SHAPE, "%s: w is %s; its sides must be odd, at most %d",
                        OP, cla_shape_text(call->w), CLA_CONV_SIDE);
    }
    return CLA_OK;
}

static cla_status check_options(const cla_attention_options *options)
{
    if (options && options->causal) {
        return cla_fail(CLA_E_USAGE,
                        "%s: causal makes no sense, the filter looks ahead", OP);
    }
    if (options && options->dropout != 0) {
        return cla_fail(CLA_E_USAGE, "%s: dropout is %g, there is none here", OP,
                        (double)options->dropout);
    }
    return CLA_OK;
}

/* Sets call->fft by the method. AUTO uses FFT for filters of FFT_SIDE^2 or more taps.
 * On CPU devices direct sums were faster at every side that is allowed. */
static cla_status choose(conv_call *call, cla_runtime *rt, cla_conv_method method)
{
    const bool gpu = is_gpu(cla_runtime_device(rt));
    const int64_t side =
        cla_tuned(rt, OP, "FFT_SIDE", gpu ? GPU_FFT_SIDE : CPU_FFT_SIDE);
    if (method == CLA_CONV_FFT) {
        return cla_conv_fft_check(&call->fft, rt, call);
    }
    const bool large = (int64_t)call->kh * call->kw >= side * side;
    if (method == CLA_CONV_AUTO && large && cla_conv_fft_side(call)) {
        return cla_conv_fft_check(&call->fft, rt, call);
    }
    return CLA_OK;
}

static cla_status forward(cla_tape *tape, const conv_call *call)
{
    cla_runtime *rt = cla_tape_runtime(tape);
    if (!call->pairs || !call->base.longest_q) {
        return CLA_OK;
    }
    if (call->fft) {
        return cla_conv_fft_forward(rt, call);
    }
    return cla_runtime_schedule(rt) == CLA_SCHEDULE_TILE
               ? cla_conv_tile_forward(rt, call)
               : cla_conv_band_forward(rt, call);
}

cla_status cla_conv_attention_2d(cla_tape *tape, cla_tensor **o, cla_tensor *q,
                                 cla_tensor *k, cla_tensor *v, cla_tensor *w,
                                 cla_tensor *b, const cla_ragged *rows,
                                 cla_activation activation, cla_conv_method method,
                                 const cla_attention_options *options)
{
    CLA_OP(tape, o, q, k, v, w, b, rows);
    CLA_TRY(cla_activation_check(__func__, activation, true));
    CLA_KNOWN("method", method, CLA_CONV_FFT);
    conv_call call = { .w = w, .b = b, .activation = (int)activation };
    const cla_given given[] = { { q }, { k }, { v }, { w }, { b }, { .rows = rows } };
    CLA_TRY(check_options(options));
    CLA_TRY(cla_attention_check(OP, q, k, v, rows, rows, options));
    CLA_TRY(check_filter(&call, given));
    CLA_TRY(cla_attention_begin(&call.base, tape, q, k, v, rows, rows, options));
    call.pairs = call.base.sequences * call.base.heads;
    CLA_TRY(choose(&call, cla_tape_runtime(tape), method));
    CLA_TRY(cla_attention_needs(&call.base, tape, 2, (cla_tensor *[]){ w, b }));
    CLA_TRY(forward(tape, &call));
    if (options && options->map) {
        const cla_attention_reach all = { .area = 1 };
        CLA_TRY(cla_attention_map(tape, options->map, &call.base, &all));
    }
    const cla_note end = { backward, &call, sizeof call, { q, k, v, w, b } };
    return cla_tape_give(tape, o, call.base.o, &end);
}
