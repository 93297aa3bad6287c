/* rotary.c - rotary positions: pairs of numbers turned by an angle of the position. */
#include "cl/rotary_args.h"
#include "clattn/feed.h"
#include "ops/spread.h"
#include "tensor/signature.h"

const cla_signature cla_rotary_signature = {
    "rotary", "x:N,H,d table:P,R positions:N:i32 -> y:N,H,d"
};

enum { RUN = 8 }; // tokens of a work-item on CPU devices

typedef struct saved {
    cla_tensor *y, *x;
    const cla_tensor *table, *positions;
    int turned;
} saved;

/* Queues to (+)= from, turned by the angles or, with back, by the opposite ones. */
static cla_status turn(cla_runtime *rt, const saved *s, const cla_tensor *to,
                       const cla_tensor *from, bool back, int add)
{
    const rotary_shape shape = {
        .heads = (int32_t)s->x->shape[1],
        .width = (int32_t)s->x->shape[2],
        .turned = s->turned,
        .pairs = (int32_t)(s->table->shape[1] / 2),
        .places = (int32_t)s->table->shape[0],
        .back = back,
    };
    const bool tile = cla_tiled(rt);
    const int64_t items = tile ? s->x->shape[0] : cla_size(s->x);
    cla_launch launch = {
        .file = tile ? "rotary_tile" : "rotary",
        .kernel = "rotary",
        .args = { cla_buf(to), cla_buf(from), cla_buf(s->table), cla_buf(s->positions),
                  cla_i32(items), cla_bytes(&shape, sizeof shape), cla_i32(add) },
        .flops = 3.0 * (double)cla_size(s->x),
    };
    if (tile) {
        cla_spread_rows(rt, &launch, items, RUN);
        launch.define[0] = (cla_define){ "VEC", cla_vector_width(rt) };
        launch.define[1] = (cla_define){ "RUN", RUN };
    } else {
        cla_spread_elements(rt, &launch, items);
    }
    return cla_enqueue(rt, &launch);
}

static cla_status backward(cla_tape *tape, void *bytes)
{
    const saved *s = bytes;
    const cla_tensor *dy = cla_grad_in(s->y);
    cla_tensor *dx = NULL;
    int add = 0;
    CLA_TRY(cla_grad_out(tape, s->x, &dx, &add));
    return dx ? turn(cla_tape_runtime(tape), s, dx, dy, true, add) : CLA_OK;
}

static cla_status check(const saved *s)
{
    const int64_t heads = s->x->shape[1], width = s->x->shape[2];
    const int64_t angles = s->table->shape[1];
    if (angles % 2 || angles > width) {
        return cla_fail(CLA_E_SHAPE,
                        "rotary: table has %lld columns, must be even and at most the "
                        "%lld of a head",
                        (long long)angles, (long long)width);
    }
    return s->turned >= 0 && s->turned <= heads
               ? CLA_OK
               : cla_fail(CLA_E_USAGE, "rotary: turned is %d, must be 0 to %lld",
                          s->turned, (long long)heads);
}

cla_status cla_rotary(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                      const cla_tensor *table, const cla_tensor *positions, int turned)
{
    CLA_OP(tape, y, x, table, positions);
    saved s = { .x = x, .table = table, .positions = positions, .turned = turned };
    CLA_TRY(cla_signature_check(&cla_rotary_signature,
                                (cla_given[]){ { x }, { table }, { positions } },
                                &(cla_sizes){ 0 }));
    CLA_TRY(check(&s));
    CLA_TRY(cla_tape_tensor(tape, &s.y, CLA_F32, 3, x->shape));
    CLA_TRY(turn(cla_tape_runtime(tape), &s, s.y, x, false, 0));
    return cla_tape_give(tape, y, s.y, &(cla_note){ backward, &s, sizeof s, { x } });
}
