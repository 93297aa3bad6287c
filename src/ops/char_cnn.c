/* char_cnn.c - a convolution, ReLU, and the maximum along each word.
 *
 * Of all responses of a filter to a word only the largest has a gradient, so backward
 * handles one row where the convolution handles all. It does not use conv1d.c. */
#include "cl/char_cnn_args.h"
#include "ops/conv1d.h"
#include "ops/spread.h"
#include "tensor/signature.h"

typedef struct saved {
    cla_tensor *y, *x, *w, *b;
    const cla_ragged *rows;
    cla_memory at; // [words,out] i32: row of the largest response, -1 for none
} saved;

static char_shape shape_of(const saved *s)
{
    const int32_t taps = (int32_t)s->w->shape[0];
    return (char_shape){ (int32_t)cla_ragged_sequences(s->rows),
                         (int32_t)s->w->shape[1], (int32_t)s->w->shape[2], taps,
                         (taps - 1) / 2 };
}

/* Queues a kernel, which has the same name in the files of both schedules. */
static cla_status launch_for(cla_runtime *rt, cla_launch *launch)
{
    const bool tile = cla_tiled(rt);
    launch->file = tile ? "char_cnn_tile" : "char_cnn";
    launch->define[0] = tile ? (cla_define){ "VEC", cla_vector_width(rt) }
                             : (cla_define){ "WG", CLA_WG };
    launch->local[0] = tile ? 1 : CLA_WG;
    return cla_enqueue(rt, launch);
}

static cla_status turn_weights(cla_tape *tape, const saved *s, cla_memory *turned)
{
    const char_shape shape = shape_of(s);
    CLA_TRY(cla_tape_scratch(tape, turned, (size_t)cla_size(s->w) * sizeof(float)));
    const cla_launch launch = {
        .file = "char_cnn",
        .kernel = "char_cnn_turn",
        .define = { { "WG", CLA_WG } },
        .groups = { (size_t)((cla_size(s->w) + CLA_WG - 1) / CLA_WG) },
        .local = { CLA_WG },
        .args = { cla_mem(turned), cla_buf(s->w), cla_bytes(&shape, sizeof shape) },
    };
    return cla_enqueue(cla_tape_runtime(tape), &launch);
}

static cla_status backward_x(cla_tape *tape, const saved *s, const cla_tensor *dy)
{
    cla_tensor *dx = NULL;
    cla_memory turned;
    int add = 0;
    CLA_TRY(cla_grad_out(tape, s->x, &dx, &add));
    if (!dx) {
        return CLA_OK;
    }
    CLA_TRY(turn_weights(tape, s, &turned));
    const char_shape shape = shape_of(s);
    cla_launch launch = {
        .kernel = "char_cnn_rows",
        .groups = { (size_t)shape.words },
        .args = { cla_buf(dx), cla_buf(dy), cla_mem(&s->at), cla_mem(&turned),
                  cla_mem(&s->rows->device_offsets), cla_bytes(&shape, sizeof shape),
                  cla_i32(add) },
        .flops = 2.0 * (double)cla_size(s->y) * shape.taps * shape.in,
    };
    return launch_for(cla_tape_runtime(tape), &launch);
}

static cla_status backward_w(cla_tape *tape, const saved *s, const cla_tensor *dy)
{
    cla_runtime *rt = cla_tape_runtime(tape);
    cla_tensor *dw = NULL, *db = NULL;
    int add_w = 0, add_b = 0;
    CLA_TRY(cla_grad_out(tape, s->w, &dw, &add_w));
    CLA_TRY(cla_grad_out(tape, s->b, &db, &add_b));
    if (!dw && !db) {
        return CLA_OK;
    }
    const char_shape shape = shape_of(s);
    const int64_t each = (int64_t)shape.taps * shape.in;
    cla_memory sums = { 0 }; // tile schedule only: work-groups keep sums in registers
    if (cla_tiled(rt)) {
        CLA_TRY(cla_tape_scratch(tape, &sums, (size_t)cla_size(s->w) * sizeof(float)));
    }
    cla_launch launch = {
        .kernel = "char_cnn_weights",
        .groups = { (size_t)shape.out,
                    cla_tiled(rt) ? 1 : (size_t)((each + CLA_WG - 1) / CLA_WG) },
        .args = { cla_buf(dw), cla_buf(db), cla_mem(&sums), cla_buf(s->x), cla_buf(dy),
                  cla_mem(&s->at), cla_mem(&s->rows->device_offsets),
                  cla_bytes(&shape, sizeof shape), cla_i32(add_w), cla_i32(add_b) },
        .flops = 2.0 * (double)cla_size(s->y) * (double)each,
    };
    return launch_for(rt, &launch);
}

static cla_status backward(cla_tape *tape, void *bytes)
{
    const saved *s = bytes;
    const cla_tensor *dy = cla_grad_in(s->y);
    CLA_TRY(backward_x(tape, s, dy));
    return backward_w(tape, s, dy);
}

static cla_status forward(cla_tape *tape, saved *s, const cla_tensor *len)
{
    const char_shape shape = shape_of(s);
    const size_t responses = (size_t)s->x->shape[0] * (size_t)shape.out;
    cla_memory z;
    CLA_TRY(cla_tape_scratch(tape, &s->at, (size_t)cla_size(s->y) * sizeof(int32_t)));
    CLA_TRY(cla_tape_scratch(tape, &z, responses * sizeof(float)));
    CLA_TRY(cla_conv1d_forward(tape, &z, s->x, s->w, s->b, s->rows, CLA_NONE));
    cla_launch launch = {
        .kernel = "char_cnn_max",
        .groups = { shape.out ? (size_t)shape.words : 0 },
        .args = { cla_buf(s->y), cla_mem(&s->at), cla_mem(&z),
                  cla_mem(&s->rows->device_offsets), cla_buf(len),
                  cla_bytes(&shape, sizeof shape) },
    };
    return launch_for(cla_tape_runtime(tape), &launch);
}

const cla_signature cla_char_cnn_signature = {
    "char_cnn", "x:N,in w:K,in,out b?:out rows(N,B) len?:B:i32 -> y:B,out"
};

cla_status cla_char_cnn(cla_tape *tape, cla_tensor **y, cla_tensor *x, cla_tensor *w,
                        cla_tensor *b, const cla_ragged *rows, const cla_tensor *len)
{
    CLA_OP(tape, y, x, w, rows);
    CLA_MAY(tape, b, len);
    saved s = { .x = x, .w = w, .b = b, .rows = rows };
    CLA_TRY(cla_conv1d_check(
        &cla_char_cnn_signature,
        (cla_given[]){ { x }, { w }, { b }, { .rows = rows }, { len } }));
    const int64_t shape[2] = { cla_ragged_sequences(rows), w->shape[2] };
    CLA_TRY(cla_tape_tensor(tape, &s.y, CLA_F32, 2, shape));
    CLA_TRY(forward(tape, &s, len));
    const cla_note end = { backward, &s, sizeof s, { x, w, b } };
    return cla_tape_give(tape, y, s.y, &end);
}
