/* embedding.c - gathers rows of a table by id. */
#include "cl/embedding_args.h"
#include "clattn/ops.h"
#include "ops/matmul.h"
#include "ops/spread.h"
#include "tensor/signature.h"

enum { RUN = 8, ENTRY_GROUPS = 64 }; // rows of a work-group; most groups of a table

typedef struct saved {
    cla_tensor *y, *table;
    const cla_tensor *ids;
    float scale;
} saved;

static embedding_shape shape_of(const saved *s)
{
    return (embedding_shape){ (int32_t)s->ids->shape[0], (int32_t)s->table->shape[1],
                              (int32_t)s->table->shape[0], RUN, s->scale };
}

/* Sorts the rows by table entry, then sums the gradient of each entry. */
static cla_status backward_sorted(cla_tape *tape, const saved *s,
                                  const cla_tensor *dtable, const cla_tensor *dy)
{
    cla_runtime *rt = cla_tape_runtime(tape);
    embedding_shape shape = shape_of(s);
    shape.run = (shape.entries + ENTRY_GROUPS - 1) / ENTRY_GROUPS;
    cla_memory order, start;
    CLA_TRY(cla_tape_scratch(tape, &order, (size_t)shape.rows * sizeof(int32_t)));
    CLA_TRY(cla_tape_scratch(tape, &start, ((size_t)shape.entries + 2) * 4));
    const cla_launch sort = {
        .file = "embedding_tile",
        .kernel = "embedding_order",
        .groups = { 1 },
        .args = { cla_mem(&order), cla_mem(&start), cla_buf(s->ids),
                  cla_bytes(&shape, sizeof shape) },
    };
    CLA_TRY(cla_enqueue(rt, &sort));
    const cla_launch sum = {
        .file = "embedding_tile",
        .kernel = "embedding_backward",
        .groups = { (size_t)((shape.entries + shape.run - 1) / shape.run) },
        .args = { cla_buf(dtable), cla_buf(dy), cla_mem(&order), cla_mem(&start),
                  cla_bytes(&shape, sizeof shape) },
        .flops = 2.0 * (double)cla_size(dy),
    };
    return cla_enqueue(rt, &sum);
}

/* Queues order = the rows by table entry, runs = place and length of each one's run. */
static cla_status order_rows(cla_tape *tape, const saved *s, const cla_memory *order,
                             const cla_memory *runs)
{
    cla_runtime *rt = cla_tape_runtime(tape);
    const embedding_shape shape = shape_of(s);
    const size_t tiles = ((size_t)shape.rows + EMBEDDING_TILE - 1) / EMBEDDING_TILE;
    cla_memory sorted;
    CLA_TRY(cla_tape_scratch(tape, &sorted, tiles * EMBEDDING_TILE * 8));
    const cla_launch sort = {
        .file = "embedding",
        .kernel = "embedding_sort",
        .groups = { tiles },
        .local = { EMBEDDING_TILE },
        .args = { cla_mem(&sorted), cla_buf(s->ids), cla_bytes(&shape, sizeof shape) },
    };
    CLA_TRY(cla_enqueue(rt, &sort));
    const cla_launch merge = {
        .file = "embedding",
        .kernel = "embedding_merge",
        .groups = { tiles * EMBEDDING_TILE / EMBEDDING_MERGED },
        .local = { (size_t)EMBEDDING_MERGED * EMBEDDING_PARTS },
        .args = { cla_mem(order), cla_mem(runs), cla_mem(&sorted),
                  cla_bytes(&shape, sizeof shape) },
        .flops = 20.0 * (double)tiles * shape.rows,
    };
    return cla_enqueue(rt, &merge);
}

/* The same for devices with many cores. */
static cla_status backward_runs(cla_tape *tape, const saved *s,
                                const cla_tensor *dtable, const cla_tensor *dy)
{
    const embedding_shape shape = shape_of(s);
    cla_memory order, runs;
    CLA_TRY(cla_tape_scratch(tape, &order, (size_t)shape.rows * 4));
    CLA_TRY(cla_tape_scratch(tape, &runs, (size_t)shape.rows * 8));
    CLA_TRY(order_rows(tape, s, &order, &runs));
    const cla_launch sum = {
        .file = "embedding",
        .kernel = "embedding_backward",
        .groups = { (size_t)shape.rows },
        .local = { EMBEDDING_WG },
        .args = { cla_buf(dtable), cla_buf(dy), cla_buf(s->ids), cla_mem(&order),
                  cla_mem(&runs), cla_bytes(&shape, sizeof shape) },
        .flops = 2.0 * (double)cla_size(dy),
    };
    return cla_enqueue(cla_tape_runtime(tape), &sum);
}

static cla_status backward(cla_tape *tape, void *bytes)
{
    const saved *s = bytes;
    const cla_tensor *dy = cla_grad_in(s->y);
    cla_tensor *dtable = NULL;
    int add = 0;
    CLA_TRY(cla_grad_out(tape, s->table, &dtable, &add));
    const cla_status cleared = add ? CLA_OK : cla_tensor_fill(dtable, 0);
    CLA_TRY(cleared);
    if (!cla_size(dy) || !cla_size(dtable)) {
        return CLA_OK;
    }
    return cla_tiled(cla_tape_runtime(tape)) ? backward_sorted(tape, s, dtable, dy)
                                             : backward_runs(tape, s, dtable, dy);
}

const cla_signature cla_embedding_signature = { "embedding",
                                                "table^:V,D ids:N:i32 -> y:N,D" };

/* Queues y = scale table[ids]. A table that tied layers have turned into panels is read
 * there. */
static cla_status look_up(cla_runtime *rt, const saved *s)
{
    const embedding_shape shape = shape_of(s);
    const cla_memory *turned = cla_turned_panels(s->table, true, shape.columns);
    cla_launch launch = {
        .file = "embedding",
        .kernel = "embedding_forward",
        .args = { cla_buf(s->y), turned ? cla_mem(turned) : cla_buf(s->table),
                  cla_buf(s->ids), cla_mem(&s->table->scale),
                  cla_bytes(&shape, sizeof shape) },
    };
    cla_spread_rows(rt, &launch, shape.columns ? shape.rows : 0, RUN);
    if (turned) {
        launch.define[1] =
            s->table->bytes ? (cla_define){ "BYTES", 1 }
                            : (cla_define){ "PANEL", (int)cla_panels_of(rt).columns };
    }
    launch.define[1 + !!turned] = cla_weights_define(cla_stored(s->table));
    return cla_enqueue(rt, &launch);
}

cla_status cla_embedding(cla_tape *tape, cla_tensor **y, cla_tensor *table,
                         const cla_tensor *ids, float scale)
{
    CLA_OP(tape, y, table, ids);
    cla_tensor *out = NULL;
    CLA_TRY(cla_signature_check(&cla_embedding_signature,
                                (cla_given[]){ { table }, { ids } },
                                &(cla_sizes){ 0 }));
    const int64_t shape[2] = { ids->shape[0], table->shape[1] };
    CLA_TRY(cla_tape_tensor(tape, &out, CLA_F32, 2, shape));
    const saved s = { out, table, ids, scale };
    CLA_TRY(look_up(cla_tape_runtime(tape), &s));
    const cla_note end = { backward, &s, sizeof s, { table } };
    return cla_tape_give(tape, y, out, &end);
}
