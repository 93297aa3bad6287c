/* matmul_turn.c - turns weights into panels in their own memory, and back: inference
 * needs no other order, and keeps each weight once. */
#include "ops/matmul.h"
#include "ops/spread.h"

enum { DEPTH = 256 };   // inner indices that an item packs
enum { MOST_BACK = 2 }; // turns back, after which panels lie beside the weights
enum { STATE_FORM = 2 };
enum { SLICE = 1 << 19 }; // bytes of a copy that needs no program of its own (moves.c)

/* A matrix op(b) [K,N] in the weights, and the place of its panels. */
typedef struct part {
    int64_t K, N, from, to; // from, to: elements
} part;

static size_t width_of(const cla_tensor *w)
{
    return cla_width(w->dtype);
}

/* Returns the elements of a part in panels, with those that fill them up. */
static int64_t count_of(cla_runtime *rt, bool bytes, const part *p)
{
    if (bytes) {
        return (int64_t)cla_bytes_panels_size(p->K, p->N);
    }
    const cla_panels panels = cla_panels_of(rt);
    return (int64_t)(cla_panels_bytes(&panels, p->K, p->N) / sizeof(float));
}

/* Gives the parts of weights: all rows; or the first, and those behind them, whose
 * panels can be memory of their own. Returns their number. */
static int parts_of(cla_runtime *rt, const int64_t *shape, bool bytes, bool transposed,
                    int64_t first, part out[2])
{
    const int64_t rows = shape[0], columns = shape[1];
    if (transposed) {
        out[0] = (part){ columns, rows, 0, 0 };
        return 1;
    }
    const int64_t align = (int64_t)cla_memory_align(rt);
    out[0] = (part){ first, columns, 0, 0 };
    out[1] = (part){ rows - first, columns, first * columns,
                     cla_pieces(count_of(rt, bytes, &out[0]), align) * align };
    return first < rows ? 2 : 1;
}

int64_t cla_turned_size(cla_runtime *rt, const int64_t *shape, bool bytes,
                        bool transposed, int64_t first)
{
    part p[2];
    const part *last = &p[parts_of(rt, shape, bytes, transposed, first, p) - 1];
    return last->to + count_of(rt, bytes, last);
}

/* The same of a tensor. */
static int64_t size_of(const cla_tensor *w, bool transposed, int64_t first)
{
    return cla_turned_size(w->rt, w->shape, w->bytes, transposed, first);
}

/* Queues the kernel that packs one part, or the one that does the inverse. */
static cla_status move(cla_runtime *rt, const cla_tensor *w, bool transposed,
                       const part *p, bool back, const cla_memory *to)
{
    const cla_panels panels = cla_panels_of(rt);
    const matmul_shape shape = { .N = (int32_t)p->N,
                                 .K = (int32_t)p->K,
                                 .b_offset = (int32_t)p->from,
                                 .y_offset = (int32_t)p->to,
                                 .b_ld = (int32_t)w->shape[1],
                                 .transpose_b = transposed };
    if (w->bytes) {
        return cla_bytes_pack(rt, &shape, back, to, &w->turned.memory);
    }
    cla_launch launch = {
        .file = "matmul_tile",
        .kernel = back ? "matmul_unpack" : "matmul_pack",
        .define = { panels.define[0],
                    panels.define[1],
                    { "PACKED", 1 },
                    panels.define[2],
                    cla_weights_define(cla_stored(w)) },
        .groups = { (size_t)cla_pieces(p->K, DEPTH),
                    (size_t)cla_pieces(p->N, panels.columns) },
        .args = { cla_mem(to), cla_mem(&w->turned.memory),
                  cla_bytes(&shape, sizeof shape), cla_i32(DEPTH) },
        .flops = (double)p->K * (double)p->N,
    };
    return cla_enqueue(rt, &launch);
}

/* Moves all elements through memory that is freed afterwards. Without that memory
 * nothing changes. */
static cla_status move_all(cla_runtime *rt, const cla_tensor *w, bool transposed,
                           int64_t first, bool back)
{
    const size_t bytes = (size_t)size_of(w, transposed, first) * width_of(w);
    const size_t plain = (size_t)cla_size(w) * width_of(w);
    part p[2];
    cla_memory scratch = { 0 };
    CLA_TRY(cla_memory_new(&scratch, rt, bytes));
    // room behind the elements holds zeros
    cla_status status =
        back && plain < bytes ? cla_memory_fill(rt, &scratch, 0) : CLA_OK;
    for (int i = parts_of(rt, w->shape, w->bytes, transposed, first, p);
         i-- && !status;) {
        status = move(rt, w, transposed, &p[i], back, &scratch);
    }
    for (size_t at = 0; at < bytes && !status; at += SLICE) {
        const size_t size = bytes - at < SLICE ? bytes - at : SLICE;
        status = cla_memory_copy(rt, &w->turned.memory, at, &scratch, at, size);
    }
    cla_memory_free(&scratch, rt);
    return status;
}

static cla_status turn_back(void *owner)
{
    cla_tensor *w = owner;
    cla_turned *t = &w->turned;
    CLA_TRY(move_all(w->rt, w, t->transposed, t->first, true));
    cla_memory_free(&w->form[STATE_FORM].memory, w->rt);
    t->order.other = false;
    t->back++;
    return CLA_OK;
}

static bool may_turn(cla_runtime *rt, const cla_tensor *w, bool transposed,
                     int64_t first)
{
    const cla_turned *t = &w->turned;
    for (size_t i = 0; i < sizeof w->form / sizeof *w->form; i++) {
        if (w->form[i].memory.mem) {
            return false; // panels lie beside the weights
        }
    }
    return cla_tiled(rt) && w->version && w->rank == 2 && !w->grad && t->memory.mem &&
           !t->order.other && t->back < MOST_BACK && cla_size(w) && first > 0 &&
           (size_t)size_of(w, transposed, first) * width_of(w) <= t->memory.bytes;
}

/* Makes the memory of the panels of the rows behind the first: kernels read it from its
 * start. */
static cla_status make_rest(cla_runtime *rt, cla_tensor *w, int64_t first)
{
    part p[2];
    if (parts_of(rt, w->shape, w->bytes, false, first, p) < 2) {
        return CLA_OK;
    }
    const size_t at = (size_t)p[1].to * width_of(w);
    assert(at % cla_memory_align(rt) == 0);
    return cla_memory_part(&w->form[STATE_FORM].memory, rt, &w->turned.memory, at,
                           (size_t)count_of(rt, w->bytes, &p[1]) * width_of(w));
}

cla_status cla_turn(cla_runtime *rt, cla_tensor *w, bool transposed, int64_t first)
{
    cla_turned *t = &w->turned;
    if (!may_turn(rt, w, transposed, first)) {
        return CLA_OK;
    }
    cla_status status = transposed ? CLA_OK : make_rest(rt, w, first);
    status = status ? status : move_all(rt, w, transposed, first, false);
    if (status) {
        cla_memory_free(&w->form[STATE_FORM].memory, rt);
        return status == CLA_E_NOMEM ? CLA_OK
                                     : status; // no room: they stay as they are
    }
    t->transposed = transposed;
    t->first = first;
    t->order.restore = turn_back;
    t->order.other = true;
    if (t->whole) {
        t->whole->other = true;
    }
    return CLA_OK;
}

const cla_memory *cla_turned_panels(const cla_tensor *w, bool transposed, int64_t first)
{
    const cla_turned *t = &w->turned;
    return t->order.other && t->transposed == transposed && t->first == first
               ? &t->memory
               : NULL;
}

const cla_memory *cla_turned_rest(const cla_tensor *w, int64_t first)
{
    return cla_turned_panels(w, false, first) ? &w->form[STATE_FORM].memory : NULL;
}
