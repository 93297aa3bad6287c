/* matmul.h - matrix products for operators: parts of buffers, batches, fused bias,
 * activation and residual. */
#pragma once

#include "cl/matmul_args.h"
#include "clattn/ops.h"
#include "tensor/tensor.h"

/* A row-major matrix inside a buffer, one for each member of a batch. */
typedef struct cla_matrix {
    const cla_memory *memory;
    int64_t offset; // floats before the first element
    int64_t ld;     // floats from row to row; 0: packed rows
    int64_t stride; // floats from matrix to matrix; 0: shared by the batch
} cla_matrix;

/* A matrix product
 *   y = act(op(a) op(b) + bias) + residual
 * where op transposes a if transpose_a is set, and b likewise. With add, the result is
 * added to y. a is [M,K], b [K,N] (stored as [K,M], [N,K] when transposed), y and
 * residual [M,N]. */
typedef struct cla_product {
    int64_t M, N, K;
    int64_t batch; // 0 means 1
    bool transpose_a, transpose_b;
    cla_matrix a, b, y;
    cla_matrix residual;    // memory NULL: none
    const cla_memory *bias; // [N], shared by the batch; NULL: none
    cla_activation activation;
    bool add;            // not together with an activation
    cla_tensor *weights; // the rank-2 tensor of b, whose packed form is then kept until
                         // it changes; NULL: b is packed for each product
    bool infers;         // no backward pass follows: weights may be turned into panels
} cla_product;

/* Return how b is stored, as the define WEIGHTS of kernels (cl/weights.clh), and its
 * scales, one for each column of op(b), or NULL. b holds floats unless it is the memory
 * of weights that are stored in fewer bits. */
static inline int cla_product_stored(const cla_product *p)
{
    return p->weights && p->b.memory == &p->weights->memory ? cla_stored(p->weights)
                                                            : 0;
}
static inline const cla_memory *cla_product_scale(const cla_product *p)
{
    return cla_product_stored(p) && p->weights->scale.mem ? &p->weights->scale : NULL;
}

/* Return the matrices as kernel arguments. The elements of the batch count as moved. */
static inline cla_arg cla_matrix_arg(const cla_matrix *m, int64_t batch, int64_t size)
{
    const int64_t members = m->stride && batch > 1 ? batch : 1;
    return cla_mem_some(m->memory, (size_t)(members * size) * 4);
}
static inline cla_arg cla_product_a(const cla_product *p)
{
    return cla_matrix_arg(&p->a, p->batch, p->M * p->K);
}
static inline cla_arg cla_product_b(const cla_product *p)
{
    return cla_matrix_arg(&p->b, p->batch, p->K * p->N);
}
static inline cla_arg cla_product_y(const cla_product *p)
{
    return cla_matrix_arg(&p->y, p->batch, p->M * p->N);
}
static inline cla_arg cla_product_residual(const cla_product *p)
{
    return cla_matrix_arg(&p->residual, p->batch, p->M * p->N);
}

/* Returns whether b is a tensor of weights with all its columns, whose packed form may
 * be kept. */
static inline bool cla_product_keeps(const cla_product *p)
{
    const cla_tensor *w = p->weights;
    return w && w->version && w->rank == 2 && p->b.memory == &w->memory &&
           !p->b.offset && p->b.ld == w->shape[1];
}

/* Queues a product. Errors: CLA_E_SHAPE (an operand reaches 2^31 elements), CLA_E_USAGE
 * (an invalid CLATTN_GEMM), CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_product_run(cla_runtime *rt, const cla_product *p);

/* ---- providers --------------------------------------------------------------- */

/* Who computes products: own kernels (of the current schedule) or CLBlast. AUTO follows
 * CLATTN_GEMM; without it, CLBlast computes large products on GPUs. */
typedef enum cla_provider {
    CLA_PROVIDER_AUTO,
    CLA_PROVIDER_OWN,
    CLA_PROVIDER_CLBLAST,
} cla_provider;

/* Sets the provider. Errors: CLA_E_USAGE (no CLBlast in this build, an invalid
 * CLATTN_GEMM), CLA_E_NOMEM. */
cla_status cla_product_set_provider(cla_runtime *rt, cla_provider provider);

/* Returns a description of AUTO on a device: "tile", "clblast from 256^3, else
 * group". */
const char *cla_product_provider(const cla_device *device);

/* matmul_clblast.c. In a build without CLBlast: false, and CLA_E_USAGE. */
bool cla_clblast_built(void);
cla_status cla_clblast_run(cla_runtime *rt, const cla_product *p);

/* matmul_check.c: compares CLBlast with known results on this device. fault is empty if
 * they agree, else the reason: CLBlast's own error, or wrong results. */
cla_status cla_clblast_check(cla_runtime *rt, char *fault, size_t size);

/* Applies bias, activation and residual to the product in y. */
cla_status cla_product_finish(cla_runtime *rt, const cla_product *p);

/* matmul_group.c: queues the kernel for GPUs, that of a matrix unit if there is one;
 * unit may be NULL. */
typedef struct cla_unit_state cla_unit_state;
cla_status cla_product_group(cla_runtime *rt, const cla_product *p,
                             const cla_unit_state *unit);

/* Work-items of a group and 4 x 4 blocks of an item, as the defines of cl/matmul.cl,
 * and the share of a full core's peak that its loop can reach. */
typedef struct cla_group_tile {
    int down, across, blocks_down, blocks_across;
    double share;
} cla_group_tile;

int cla_group_tile_rows(const cla_group_tile *t);
int cla_group_tile_columns(const cla_group_tile *t);

/* How a product is cut: tiles; and parts of the inner index, of depth each, which are
 * summed in order. */
typedef struct cla_group_plan {
    cla_group_tile tile;
    int64_t groups; // of each part
    int64_t parts, depth;
} cla_group_plan;

/* matmul_plan.c: return the plan for a device, and for one of this many cores (NVIDIA's
 * multiprocessors, AMD's compute units, Intel's Xe cores) and tiles of at most this
 * side. unit: the tiles are those of cl/matmul_unit_group.cl. M, N and batch are at
 * least 1. */
cla_group_plan cla_product_plan(cla_runtime *rt, const cla_product *p, bool unit);
cla_group_plan cla_group_plan_of(double cores, int side, const cla_product *p,
                                 bool unit);

/* Gives memory for the length of one product. The queue is in order, so the next one
 * may reuse it. Errors: CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_product_scratch(cla_runtime *rt, size_t bytes, cla_memory **out);

/* matmul_unit.c: queues the kernel for numbers of bf16, if the precision in force asks
 * for it: *done. Tests the device's matrix unit before its first use. Errors:
 * CLA_E_DEVICE (CLATTN_UNIT names a unit that computes wrongly), CLA_E_NOMEM. */
cla_status cla_product_unit(cla_runtime *rt, const cla_product *p, bool *done);

/* Returns whether the product rounds the rows of a to 8 bits, as its weights are. */
static inline bool cla_product_rounds(const cla_product *p)
{
    return cla_product_stored(p) == 2 && p->weights->bytes && p->K;
}

/* matmul_bytes.c: queues such a product. Tests what multiplies before its first use.
 * Errors: CLA_E_SHAPE (rows that local memory does not hold), CLA_E_DEVICE (CLATTN_UNIT
 * names a unit that computes wrongly), CLA_E_NOMEM. */
cla_status cla_product_bytes(cla_runtime *rt, const cla_product *p);

/* matmul_bytes.c: returns the bytes of op(b) [K,N] in panels; and packs op(b) of a
 * shape that has only N, K, b, transpose_b and, of the panels, y_offset set, or
 * back. */
size_t cla_bytes_panels_size(int64_t K, int64_t N);
cla_status cla_bytes_pack(cla_runtime *rt, const matmul_shape *shape, bool back,
                          const cla_memory *to, const cla_memory *from);

/* matmul_unit.c: queues that kernel of the tile schedule. */
cla_status cla_product_fragments(cla_runtime *rt, const cla_product *p,
                                 const cla_unit_state *state);

/* unit.c: what multiplies numbers of bf16 under the schedule in force. */
struct cla_unit_state {
    bool tested;
    cla_unit unit;
    bool emulated; // by other instructions
    bool converts; // the conversion to bf16 is an instruction
};

/* Gives it, and tests the unit at the first call: one that gives wrong products, or
 * whose kernel does not build, is not used. Errors: as cla_product_unit. */
cla_status cla_unit_tested(cla_runtime *rt, const cla_unit_state **out);

/* unit.c: judges the test of a unit by known products: its status, and whether they
 * were right. A driver may refuse instructions, or build them to nothing and say so in
 * a log only. Fails if CLATTN_UNIT names the unit, else logs that it is not used. who
 * begins the message. Errors: CLA_E_DEVICE, and those of the test but that. */
cla_status cla_unit_judge(cla_runtime *rt, const char *who, const char *unit,
                          cla_status status, bool right);

/* Gives it for operators that have kernels for such numbers, and tests a unit first;
 * NULL unless the precision in force is medium and the schedule tile. Errors: as
 * cla_product_unit. */
cla_status cla_unit_in_force(cla_runtime *rt, const cla_unit_state **out);

/* Adds the defines BF16, UNIT and CONVERTS to those of a launch; unit may be NULL. */
void cla_unit_define(cla_launch *launch, const cla_unit_state *unit);

/* Returns the build option that kernels of a card's unit need, or NULL: Intel's
 * compiler gives a thread all registers that it may have. */
const char *cla_unit_option(const cla_unit_state *unit);

/* How a result may be cut into items under the tile schedule, and how it is cut. */
typedef struct cla_item_rule {
    int64_t rows, panels; // the most of an item
    int64_t least;        // rows are halved while they are more
    int64_t worth;        // multiplications of an item that is not cut further
    int step, columns;    // rows are a multiple of step; columns of a panel
} cla_item_rule;
typedef struct cla_item_cut {
    int64_t rows, panels; // of an item
    int64_t down, across; // items
} cla_item_cut;

/* matmul_tile.c: cuts rows and columns until every core has several items, or an item
 * is not worth its start. */
cla_item_cut cla_product_cut(cla_runtime *rt, const cla_product *p,
                             const cla_item_rule *rule);

/* matmul_tile.c: queues the kernel for CPU devices. */
cla_status cla_product_tile(cla_runtime *rt, const cla_product *p);

/* ---- packed matrices, for kernels that include cl/matmul_panel.clh --------------- */

/* Rows of a register tile of a, columns of a panel of b, and the defines of such
 * kernels. */
typedef struct cla_panels {
    int64_t rows, columns;
    cla_define define[3];
} cla_panels;

cla_panels cla_panels_of(cla_runtime *rt);

/* Return packed sizes: the rows that up to `rows` rows of a take, and the bytes of a
 * K x N matrix b. */
int64_t cla_panels_rows(const cla_panels *panels, int64_t rows);
size_t cla_panels_bytes(const cla_panels *panels, int64_t K, int64_t N);

/* Packs op(b) of a product that has only N, K, b (with its ld) and transpose_b set.
 * Errors: CLA_E_DEVICE. */
cla_status cla_panels_pack(cla_runtime *rt, const cla_product *p,
                           const cla_memory *packed);

/* ---- weights turned into panels (matmul_turn.c) -------------------------------- */

/* Turn weights of rank 2 into panels in their own memory, for op(b) whose inner index
 * has `first` values: with transposed all of it, else the first rows; the rest is in
 * panels of its own. Nothing happens under the group schedule, or if there is no room,
 * w is being trained, or was turned back too often. Whoever needs the elements turns
 * them back through the order of their memory (runtime.h). Errors: CLA_E_DEVICE. */
cla_status cla_turn(cla_runtime *rt, cla_tensor *w, bool transposed, int64_t first);

/* Return the panels of weights that were turned so, and those of the rest; else NULL.
 * They hold until the next launch that uses memory of w otherwise. */
const cla_memory *cla_turned_panels(const cla_tensor *w, bool transposed,
                                    int64_t first);
const cla_memory *cla_turned_rest(const cla_tensor *w, int64_t first);

/* Returns the number of elements, with those that fill panels up, of weights of this
 * shape [2] that are turned so. bytes: the panels are those of products of 8 bits. */
int64_t cla_turned_size(cla_runtime *rt, const int64_t *shape, bool bytes,
                        bool transposed, int64_t first);

/* ---- kernel arguments -------------------------------------------------------- */

matmul_shape cla_product_shape_of(const cla_product *p);
