/* matmul.c - times products: our kernels beside CLBlast and OpenBLAS.
 *
 * b is packed in each run, as a library that gets two matrices has to; layers keep
 * their weights packed (the `linear' cases of bench/cases.c). */
#include "ops/matmul.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "bench/peer_openblas.h"
#include "bench/stats.h"

typedef struct product_shape {
    int B, M, N, K;
    bool ta, tb;
} product_shape;

typedef struct state {
    product_shape shape;
    cla_runtime *rt;
    cla_tensor *a, *b, *y;
    float *host[3]; // [A], [B]: the device's numbers; [Y]: OpenBLAS's result
    cla_provider provider;
    bool on_host;
} state;

enum { A, B, Y };

static cla_status run_device(void *bytes)
{
    const state *s = bytes;
    const product_shape *n = &s->shape;
    const cla_product p = {
        .M = n->M,
        .N = n->N,
        .K = n->K,
        .batch = n->B,
        .transpose_a = n->ta,
        .transpose_b = n->tb,
        .a = { .memory = &s->a->memory, .stride = (int64_t)n->M * n->K },
        .b = { .memory = &s->b->memory, .stride = (int64_t)n->K * n->N },
        .y = { .memory = &s->y->memory, .stride = (int64_t)n->M * n->N },
    };
    CLA_TRY(cla_product_set_provider(s->rt, s->provider));
    return cla_product_run(s->rt, &p);
}

static cla_status run_openblas(void *bytes)
{
    const state *s = bytes;
    const product_shape *n = &s->shape;
    for (int64_t i = 0; i < n->B; i++) {
        const peer_product p = { .M = n->M,
                                 .N = n->N,
                                 .K = n->K,
                                 .transpose_a = n->ta,
                                 .transpose_b = n->tb,
                                 .a = s->host[A] + i * n->M * n->K,
                                 .b = s->host[B] + i * n->K * n->N,
                                 .y = s->host[Y] + i * n->M * n->N };
        peer_openblas_run(&p);
    }
    return CLA_OK;
}

/* Compares y v with a (b v) for one matrix and a vector v of signs (Freivalds' check):
 * every element of y counts, at the cost of three products with a vector. */
static double check_member(const state *s, int64_t member, const float *y, double *bv)
{
    const product_shape *n = &s->shape;
    const float *a = s->host[A] + member * n->M * n->K;
    const float *b = s->host[B] + member * n->K * n->N;
    double error = 0, power = 0;
    for (int64_t k = 0; k < n->K; k++) {
        bv[k] = 0;
        for (int64_t j = 0; j < n->N; j++) {
            const double x = (double)(n->tb ? b[j * n->K + k] : b[k * n->N + j]);
            bv[k] += j * 7 % 3 ? x : -x;
        }
    }
    for (int64_t i = 0; i < n->M; i++) {
        double want = 0, got = 0;
        for (int64_t k = 0; k < n->K; k++) {
            want += (double)(n->ta ? a[k * n->M + i] : a[i * n->K + k]) * bv[k];
        }
        for (int64_t j = 0; j < n->N; j++) {
            const double x = (double)y[i * n->N + j];
            got += j * 7 % 3 ? x : -x;
        }
        error += (got - want) * (got - want);
        power += want * want;
    }
    return error / power;
}

static cla_status check(void *bytes, double *nmse)
{
    state *s = bytes;
    const product_shape *n = &s->shape;
    const int64_t one = (int64_t)n->M * n->N;
    float *y = NULL;
    double *bv = NULL;
    CLA_TRY(s->on_host ? run_openblas(s) : run_device(s));
    CLA_TRY(cla_alloc(&bv, (size_t)n->K, sizeof *bv));
    cla_status status = cla_alloc(&y, (size_t)(n->B * one), sizeof *y);
    status = status || s->on_host ? status : cla_tensor_download(s->y, y);
    *nmse = 0;
    for (int64_t i = 0; i < n->B && !status; i++) {
        const float *result = s->on_host ? s->host[Y] : y;
        *nmse = bench_worse(*nmse, check_member(s, i, result + i * one, bv));
    }
    free(y);
    free(bv);
    return status;
}

/* ---- cases ----------------------------------------------------------------------- */

static cla_status fetch(const cla_tensor *t, float **host)
{
    CLA_TRY(cla_alloc(host, (size_t)cla_tensor_size(t), sizeof **host));
    return cla_tensor_download(t, *host);
}

static cla_status prepare(bench *b, state *s)
{
    const product_shape *n = &s->shape;
    CLA_TRY(bench_tensor(b, &s->a, 3, (int64_t[]){ n->B, n->M, n->K }, false));
    CLA_TRY(bench_tensor(b, &s->b, 3, (int64_t[]){ n->B, n->K, n->N }, false));
    CLA_TRY(bench_tensor(b, &s->y, 3, (int64_t[]){ n->B, n->M, n->N }, false));
    CLA_TRY(fetch(s->a, &s->host[A]));
    CLA_TRY(fetch(s->b, &s->host[B]));
    return fetch(s->y, &s->host[Y]);
}

static cla_status run_providers(state *s, bench *b, bench_case *c)
{
    c->run = run_device;
    s->provider = CLA_PROVIDER_OWN;
    CLA_TRY(bench_run(b, c));
    if (!bench_peers(b)) {
        return CLA_OK;
    }
    if (cla_clblast_built()) {
        c->provider = "clblast";
        s->provider = CLA_PROVIDER_CLBLAST;
        CLA_TRY(bench_run(b, c));
    }
    if (peer_openblas_found()) {
        c->provider = "openblas";
        c->run = run_openblas;
        c->on_host = true;
        s->on_host = true;
        CLA_TRY(bench_run(b, c));
    }
    return CLA_OK;
}

static void name_case(char *name, size_t size, const product_shape *n)
{
    char batch[16] = "";
    if (n->B > 1) {
        snprintf(batch, sizeof batch, " B%d", n->B);
    }
    snprintf(name, size, "matmul fwd%s M%d N%d K%d%s%s", batch, n->M, n->N, n->K,
             n->ta ? " ta" : "", n->tb ? " tb" : "");
}

static cla_status run_shape(bench *b, const product_shape *shape)
{
    const double sizes[] = { shape->B, shape->M, shape->N, shape->K };
    state s = { .shape = *shape, .rt = bench_runtime(b) };
    bench_case c = {
        .suite = "gemm",
        .flops = 2 * sizes[0] * sizes[1] * sizes[2] * sizes[3],
        .bytes = 4 * sizes[0] *
                 (sizes[1] * sizes[3] + sizes[3] * sizes[2] + sizes[1] * sizes[2]),
        .check = check,
        .state = &s,
    };
    name_case(c.name, sizeof c.name, shape);
    if (!bench_wants(b, c.suite, c.name)) {
        return CLA_OK;
    }
    cla_status status = prepare(b, &s);
    status = status ? status : run_providers(&s, b, &c);
    cla_product_set_provider(s.rt, CLA_PROVIDER_AUTO);
    cla_tensor_free(&s.a);
    cla_tensor_free(&s.b);
    cla_tensor_free(&s.y);
    for (int i = 0; i < 3; i++) {
        free(s.host[i]);
    }
    return status;
}

cla_status bench_matmul(bench *b)
{
    static const product_shape shapes[] = {
        { 1, 512, 512, 512, false, false },
        { 1, 1024, 1024, 1024, false, false },
        { 1, 1, 512, 512, false, false },
        { 64, 64, 64, 64, false, false }, // these four are the quick ones
        { 1, 768, 768, 768, false, false },
        { 1, 1536, 1536, 1536, false, false },
        { 1, 2048, 2048, 2048, false, false },
        { 1, 2048, 512, 512, false, false },
        { 1, 2048, 2048, 512, false, false },
        { 1, 64, 8000, 256, false, false },
        { 1, 16, 512, 512, false, false },
        { 1, 2048, 64, 512, false, false },
        { 1, 2048, 512, 2048, false, true },
        { 1, 512, 2048, 2048, true, false },
        { 64, 64, 64, 64, false, true },
    };
    const int count = bench_quick(b) ? 4 : (int)(sizeof shapes / sizeof *shapes);
    for (int i = 0; i < count; i++) {
        CLA_TRY(run_shape(b, &shapes[i]));
    }
    return CLA_OK;
}
