/* matmul_product.c - checks products and chooses the kernel or library for each. */
#include "base/platform.h"
#include "base/text.h"
#include "ops/matmul.h"
#include "ops/spread.h"

/* From this many multiplications on, CLBlast is worth its call on a GPU. */
static const double CLBLAST_FROM = 256.0 * 256.0 * 256.0;

static const char EXTENSION_KEY;

/* Returns the last element that a matrix of a batch reaches, plus one. */
static int64_t reach(const cla_matrix *m, int64_t rows, int64_t cols, int64_t batch)
{
    return m->offset + (batch - 1) * m->stride + (rows - 1) * m->ld + cols;
}

static cla_status check_reach(const char *name, const cla_matrix *m, int64_t rows,
                              int64_t cols, int64_t batch, size_t width)
{
    const int64_t end = rows && cols ? reach(m, rows, cols, batch) : 0;
    if (end > INT32_MAX) {
        return cla_fail(CLA_E_SHAPE,
                        "matmul: %s reaches element %lld, must stay below 2^31", name,
                        (long long)end);
    }
    assert((size_t)end * width <= m->memory->bytes);
    return CLA_OK;
}

static cla_status check(const cla_product *p)
{
    assert(!p->add || p->activation == CLA_NONE);
    assert(!cla_product_stored(p) || (!p->add && p->batch == 1));
    const bool ta = p->transpose_a, tb = p->transpose_b;
    const size_t b_width = cla_product_stored(p) ? cla_width(p->weights->dtype) : 4;
    CLA_TRY(check_reach("a", &p->a, ta ? p->K : p->M, ta ? p->M : p->K, p->batch, 4));
    CLA_TRY(
        check_reach("b", &p->b, tb ? p->N : p->K, tb ? p->K : p->N, p->batch, b_width));
    CLA_TRY(check_reach("y", &p->y, p->M, p->N, p->batch, 4));
    return p->residual.memory
               ? check_reach("residual", &p->residual, p->M, p->N, p->batch, 4)
               : CLA_OK;
}

static void fill_in(cla_product *p)
{
    p->batch = p->batch ? p->batch : 1;
    p->a.ld = p->a.ld ? p->a.ld : p->transpose_a ? p->M : p->K;
    p->b.ld = p->b.ld ? p->b.ld : p->transpose_b ? p->K : p->N;
    p->y.ld = p->y.ld ? p->y.ld : p->N;
    p->residual.ld = p->residual.ld ? p->residual.ld : p->N;
}

/* Returns whether the batch's matrices follow each other like the rows of one. */
static bool follows(const cla_matrix *m, int64_t rows)
{
    return !m->memory || m->stride == rows * m->ld;
}

/* Turns a batch that shares b into one tall product. */
static void fold_batch(cla_product *p)
{
    if (p->batch > 1 && !p->b.stride && !p->transpose_a && follows(&p->a, p->M) &&
        follows(&p->y, p->M) && follows(&p->residual, p->M)) {
        p->M *= p->batch;
        p->batch = 1;
    }
}

/* ---- providers --------------------------------------------------------------- */

static cla_status read_environment(cla_provider *out)
{
    const char *text = cla_os_getenv("CLATTN_GEMM");
    *out = CLA_PROVIDER_AUTO;
    if (!text || !*text || cla_equals_nocase(text, "auto")) {
        return CLA_OK;
    }
    if (cla_equals_nocase(text, "tile")) {
        *out = CLA_PROVIDER_OWN;
        return CLA_OK;
    }
    if (!cla_equals_nocase(text, "clblast")) {
        return cla_fail(CLA_E_USAGE,
                        "CLATTN_GEMM is '%s', must be tile, clblast or auto", text);
    }
    *out = CLA_PROVIDER_CLBLAST;
    return cla_clblast_built()
               ? CLA_OK
               : cla_fail(CLA_E_USAGE,
                          "CLATTN_GEMM is clblast, but this build has no CLBlast");
}

/* The state of a runtime. */
typedef struct product_state {
    cla_provider provider;
    bool checked;    // CLBlast was compared with known results
    char fault[400]; // why CLBlast is not used; empty if it passed
} product_state;

static void free_state(cla_runtime *rt, void *state)
{
    (void)rt;
    free(state);
}

/* Gives the state. The first call sets the provider from CLATTN_GEMM. */
static cla_status state_of(cla_runtime *rt, product_state **out)
{
    cla_extension *extension = NULL;
    CLA_TRY(cla_runtime_extension(rt, &EXTENSION_KEY, &extension));
    if (!extension->state) {
        cla_provider first;
        CLA_TRY(read_environment(&first));
        CLA_TRY(cla_alloc(&extension->state, 1, sizeof **out));
        extension->fini = free_state;
        ((product_state *)extension->state)->provider = first;
    }
    *out = extension->state;
    return CLA_OK;
}

cla_status cla_product_set_provider(cla_runtime *rt, cla_provider provider)
{
    if (provider == CLA_PROVIDER_CLBLAST && !cla_clblast_built()) {
        return cla_fail(CLA_E_USAGE, "matmul: this build has no CLBlast");
    }
    product_state *state = NULL;
    CLA_TRY(state_of(rt, &state));
    state->provider = provider;
    return provider == CLA_PROVIDER_AUTO ? read_environment(&state->provider) : CLA_OK;
}

static bool is_gpu(const cla_device *device)
{
    return device->kind == CLA_DEVICE_GPU || device->kind == CLA_DEVICE_INTEGRATED;
}

const char *cla_product_provider(const cla_device *device)
{
    if (!is_gpu(device)) {
        return "tile";
    }
    return cla_clblast_built() ? "clblast from 256^3, else group" : "group";
}

/* Returns whether the own kernels cut the inner index. CLBlast does not, and would
 * leave most of a GPU idle. */
static bool own_cuts(cla_runtime *rt, const cla_product *p)
{
    return cla_runtime_schedule(rt) == CLA_SCHEDULE_GROUP &&
           cla_product_plan(rt, p, false).parts > 1;
}

/* Returns whether CLBlast computes a product. With AUTO this depends on device, shape
 * and tuning only, never on measured times. */
static bool wants_clblast(cla_runtime *rt, const cla_product *p, cla_provider provider)
{
    if (provider != CLA_PROVIDER_AUTO) {
        return provider == CLA_PROVIDER_CLBLAST;
    }
    const int side = cla_tuned(rt, "matmul", "CLBLAST_FROM", 0);
    const double from = side ? (double)side * side * side : CLBLAST_FROM;
    return cla_clblast_built() && is_gpu(cla_runtime_device(rt)) &&
           (double)p->M * (double)p->N * (double)p->K >= from && !own_cuts(rt, p);
}

/* Compares CLBlast with known results before its first product. If it fails, the own
 * kernels replace it; this is an error if CLBlast was requested by name. */
static cla_status check_clblast(cla_runtime *rt, product_state *state)
{
    if (!state->checked) {
        CLA_TRY(cla_clblast_check(rt, state->fault, sizeof state->fault));
        state->checked = true;
        if (*state->fault && state->provider == CLA_PROVIDER_AUTO) {
            cla_log(CLA_LOG_WARN, "%s; using own kernels", state->fault);
        }
    }
    return *state->fault && state->provider == CLA_PROVIDER_CLBLAST
               ? cla_fail(CLA_E_DEVICE, "%s", state->fault)
               : CLA_OK;
}

/* ---- own kernels ------------------------------------------------------------- */

matmul_shape cla_product_shape_of(const cla_product *p)
{
    return (matmul_shape){
        .M = (int32_t)p->M,
        .N = (int32_t)p->N,
        .K = (int32_t)p->K,
        .a_offset = (int32_t)p->a.offset,
        .b_offset = (int32_t)p->b.offset,
        .y_offset = (int32_t)p->y.offset,
        .residual_offset = (int32_t)p->residual.offset,
        .a_ld = (int32_t)p->a.ld,
        .b_ld = (int32_t)p->b.ld,
        .y_ld = (int32_t)p->y.ld,
        .residual_ld = (int32_t)p->residual.ld,
        .a_stride = (int32_t)p->a.stride,
        .b_stride = (int32_t)p->b.stride,
        .y_stride = (int32_t)p->y.stride,
        .residual_stride = (int32_t)p->residual.stride,
        .transpose_a = p->transpose_a,
        .transpose_b = p->transpose_b,
        .add = p->add,
        .activation = (int32_t)p->activation,
    };
}

static void free_scratch(cla_runtime *rt, void *state)
{
    cla_memory_free(state, rt);
    free(state);
}

cla_status cla_product_scratch(cla_runtime *rt, size_t bytes, cla_memory **out)
{
    static const char key;
    cla_memory *scratch = NULL;
    *out = NULL;
    CLA_TRY(cla_runtime_state(rt, &key, sizeof *scratch, free_scratch, &scratch));
    if (scratch->bytes < bytes) {
        cla_memory_free(scratch, rt);
        CLA_TRY(cla_memory_new(scratch, rt, bytes));
    }
    *out = scratch;
    return CLA_OK;
}

cla_status cla_product_finish(cla_runtime *rt, const cla_product *p)
{
    enum { WG = 64 };
    if (!p->bias && !p->residual.memory && p->activation == CLA_NONE) {
        return CLA_OK;
    }
    const matmul_shape shape = cla_product_shape_of(p);
    const cla_launch launch = {
        .file = "matmul",
        .kernel = "matmul_finish",
        .groups = { (size_t)(cla_pieces(p->N, WG) * p->M * p->batch) },
        .local = { WG },
        .args = { cla_mem(p->y.memory), cla_mem(p->bias), cla_mem(p->residual.memory),
                  cla_bytes(&shape, sizeof shape) },
        .flops = 4.0 * (double)p->M * (double)p->N * (double)p->batch,
    };
    return cla_enqueue(rt, &launch);
}

cla_status cla_product_run(cla_runtime *rt, const cla_product *product)
{
    cla_product p = *product;
    product_state *state = NULL;
    fill_in(&p);
    CLA_TRY(check(&p));
    CLA_TRY(state_of(rt, &state));
    if (!p.M || !p.N) {
        return CLA_OK;
    }
    fold_batch(&p);
    if (cla_product_rounds(&p)) {
        return cla_product_bytes(rt, &p);
    }
    bool done = false;
    CLA_TRY(cla_product_unit(rt, &p, &done));
    if (done) {
        return CLA_OK;
    }
    // CLBlast refuses empty sums, takes floats only, and does not round them
    if (p.K && !cla_product_stored(&p) &&
        cla_runtime_precision(rt) != CLA_PRECISION_MEDIUM &&
        wants_clblast(rt, &p, state->provider)) {
        CLA_TRY(check_clblast(rt, state));
        if (!*state->fault) {
            return cla_clblast_run(rt, &p);
        }
    }
    return cla_runtime_schedule(rt) == CLA_SCHEDULE_TILE
               ? cla_product_tile(rt, &p)
               : cla_product_group(rt, &p, NULL);
}
