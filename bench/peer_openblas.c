/* peer_openblas.c - loads OpenBLAS when a case needs it.
 *
 * It is not linked: its threads would start in every command, and its choice of kernels
 * could not be corrected. Version 0.3.21 does not know newer processors and uses its
 * slowest kernels there; the comparison would be with a tenth of its speed. */
#include "bench/peer_openblas.h"

#include <stdlib.h>

#include "base/base.h"
#include "base/platform.h"

enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 }; // of cblas.h

typedef void (*sgemm_function)(int order, int transpose_a, int transpose_b, int M,
                               int N, int K, float alpha, const float *a, int lda,
                               const float *b, int ldb, float beta, float *y, int ldy);

/* Chooses the kernels of OpenBLAS, unless the user has chosen them. */
static void choose_kernels(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw")) {
        cla_os_setenv("OPENBLAS_CORETYPE", "SkylakeX");
    } else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        cla_os_setenv("OPENBLAS_CORETYPE", "Haswell");
    }
#endif
}

static sgemm_function load(void)
{
    choose_kernels();
    void *library = cla_os_library_named("openblas", 0);
    if (!library) {
        cla_log(CLA_LOG_INFO, "bench: no OpenBLAS: %s", cla_os_library_error());
        return NULL;
    }
    char *(*core)(void) = NULL;
    sgemm_function sgemm = NULL;
    *(void **)&core = cla_os_symbol(library, "openblas_get_corename");
    *(void **)&sgemm = cla_os_symbol(library, "cblas_sgemm");
    cla_log(CLA_LOG_INFO, "bench: OpenBLAS with kernels for %s", core ? core() : "?");
    return sgemm;
}

static sgemm_function sgemm_once(void)
{
    static sgemm_function sgemm;
    static bool tried;
    if (!tried) {
        sgemm = load();
        tried = true;
    }
    return sgemm;
}

bool peer_openblas_found(void)
{
    return sgemm_once() != NULL;
}

void peer_openblas_run(const peer_product *p)
{
    sgemm_once()(ROW_MAJOR, p->transpose_a ? TRANSPOSED : PLAIN,
                 p->transpose_b ? TRANSPOSED : PLAIN, p->M, p->N, p->K, 1.0F, p->a,
                 p->transpose_a ? p->M : p->K, p->b, p->transpose_b ? p->K : p->N, 0.0F,
                 p->y, p->N);
}
