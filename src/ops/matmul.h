/* matmul.h - products for the ops: any part of a buffer, batches, a fused tail. */
#pragma once

#include "cl/matmul_args.h"
#include "clattn/ops.h"
#include "tensor/tensor.h"

/* A row-major matrix inside a buffer, one for each member of a batch. */
typedef struct cla_matrix {
    const cla_memory *memory;
    int64_t offset; // floats in front of the first element
    int64_t ld;     // floats from row to row; 0 means packed rows
    int64_t
        stride; // floats from matrix to matrix; 0: the same one for all of the batch
} cla_matrix;

/* y = act(op(a) op(b) + bias) + residual, op = transpose where asked; with add, y grows
 * by that. a is [M,K], b [K,N] (stored [K,M], [N,K] where transposed), y and residual
 * [M,N]. */
typedef struct cla_product {
    int64_t M, N, K;
    int64_t batch; // 0 means 1
    bool transpose_a, transpose_b;
    cla_matrix a, b, y;
    cla_matrix residual;    // memory NULL: none
    const cla_memory *bias; // [N], shared by the batch; NULL: none
    cla_activation activation;
    bool add;            // not together with an activation
    cla_tensor *weights; // the rank-2 tensor that b is, so that its packed form can be
                         // kept until it changes; NULL: b is packed for each product
} cla_product;

/* What b holds, as the define WEIGHTS of kernels (cl/weights.clh): floats, unless it is
 * the memory of weights that are stored in fewer bits; and its scales, of each column
 * of op(b), or NULL. */
static inline int cla_product_stored(const cla_product *p)
{
    return p->weights && p->b.memory == &p->weights->memory ? cla_stored(p->weights)
                                                            : 0;
}
static inline const cla_memory *cla_product_scale(const cla_product *p)
{
    return cla_product_stored(p) && p->weights->scale.mem ? &p->weights->scale : NULL;
}

/* The matrices as kernel arguments, of which the batch's numbers count as moved. */
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

/* Queues a product. Errors: CLA_E_SHAPE (an operand reaches 2^31 elements), CLA_E_USAGE
 * (CLATTN_GEMM), CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_product_run(cla_runtime *rt, const cla_product *p);

/* ---- providers --------------------------------------------------------------- */

/* Who computes: our own kernels (of the schedule in force), or CLBlast. AUTO asks
 * CLATTN_GEMM, and without it takes CLBlast for large products on GPUs. */
typedef enum cla_provider {
    CLA_PROVIDER_AUTO,
    CLA_PROVIDER_OWN,
    CLA_PROVIDER_CLBLAST,
} cla_provider;

/* Errors: CLA_E_USAGE (CLBlast is not part of this build). */
cla_status cla_product_set_provider(cla_runtime *rt, cla_provider provider);

/* What AUTO means on a device, for people: "tile", "clblast from 256^3, else group". */
const char *cla_product_provider(const cla_device *device);

/* matmul_clblast.c: false and an error where the build has no CLBlast. */
bool cla_clblast_built(void);
cla_status cla_clblast_run(cla_runtime *rt, const cla_product *p);

/* matmul_check.c: whether CLBlast gives known answers on this device. fault is empty if
 * so, else the reason: CLBlast's own error, or wrong results. */
cla_status cla_clblast_check(cla_runtime *rt, char *fault, size_t size);

/* Bias, activation and residual over a product that stands in y. */
cla_status cla_product_finish(cla_runtime *rt, const cla_product *p);

/* matmul_group.c: the kernel for GPUs. */
cla_status cla_product_group(cla_runtime *rt, const cla_product *p);

/* matmul_tile.c: the kernel for CPU devices. */
cla_status cla_product_tile(cla_runtime *rt, const cla_product *p);

/* ---- packed matrices, for kernels that include cl/matmul_panel.clh --------------- */

/* Rows of a register tile of a, columns of a panel of b; and what such kernels are
 * compiled with. */
typedef struct cla_panels {
    int64_t rows, columns;
    cla_define define[3];
} cla_panels;

cla_panels cla_panels_of(cla_runtime *rt);

/* Rows that up to so many of a take once packed; bytes of b of K x N. */
int64_t cla_panels_rows(const cla_panels *panels, int64_t rows);
size_t cla_panels_bytes(const cla_panels *panels, int64_t K, int64_t N);

/* Packs op(b) of a product, of which only N, K, b (with its ld) and transpose_b are
 * read. Errors: CLA_E_DEVICE. */
cla_status cla_panels_pack(cla_runtime *rt, const cla_product *p,
                           const cla_memory *packed);

/* ---- what kernels are told --------------------------------------------------- */

matmul_shape cla_product_shape_of(const cla_product *p);
