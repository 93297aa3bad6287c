/* matmul_check.c - checks that CLBlast multiplies correctly on this device.
 *
 * Releases before 1.6.3 give wrong results with status 0 on some devices; on others
 * their work-groups exceed the device's limit. The matrices hold small integers, so
 * that every correct sum is exact in any order, and Freivalds' check y v = a (b v)
 * costs three products with a vector. */
#include <stdio.h>

#include "ops/matmul.h"

/* Sizes below and above the one from which CLBlast repacks its operands: 512 to 1,152
 * on the devices that it knows. A batch takes another routine. */
static const struct {
    int n, batch;
} SQUARES[] = { { 64, 1 }, { 896, 1 }, { 1160, 1 }, { 96, 2 } };

typedef struct square {
    int n, batch;
    float *a, *b, *y;
    double *bv;
    cla_memory memory[3];
} square;

/* Returns an integer from -2 to 2. */
static float number_at(size_t i, uint32_t salt)
{
    return (float)((((uint32_t)i * 2654435761U + salt) >> 16) % 5) - 2.0F;
}

static double sign_at(int j)
{
    return j * 7 % 3 ? 1 : -1;
}

static cla_status fill(square *s, cla_runtime *rt)
{
    const size_t size = (size_t)s->batch * (size_t)s->n * (size_t)s->n;
    CLA_TRY(cla_alloc(&s->a, size, sizeof *s->a));
    CLA_TRY(cla_alloc(&s->b, size, sizeof *s->b));
    CLA_TRY(cla_alloc(&s->y, size, sizeof *s->y));
    CLA_TRY(cla_alloc(&s->bv, (size_t)s->n, sizeof *s->bv));
    for (size_t i = 0; i < size; i++) {
        s->a[i] = number_at(i, 1);
        s->b[i] = number_at(i, 77777);
    }
    for (int i = 0; i < 3; i++) {
        CLA_TRY(cla_memory_new(&s->memory[i], rt, size * 4));
    }
    CLA_TRY(cla_memory_write(rt, &s->memory[0], 0, s->a, size * 4));
    return cla_memory_write(rt, &s->memory[1], 0, s->b, size * 4);
}

static bool is_right(square *s, int member)
{
    const int n = s->n;
    const int64_t start = (int64_t)member * n * n;
    const float *a = s->a + start, *b = s->b + start, *y = s->y + start;
    for (int64_t k = 0; k < n; k++) {
        s->bv[k] = 0;
        for (int j = 0; j < n; j++) {
            s->bv[k] += (double)b[k * n + j] * sign_at(j);
        }
    }
    for (int64_t i = 0; i < n; i++) {
        double want = 0, got = 0;
        for (int k = 0; k < n; k++) {
            want += (double)a[i * n + k] * s->bv[k];
            got += (double)y[i * n + k] * sign_at(k);
        }
        if (!(want == got)) { // NaN is wrong too
            return false;
        }
    }
    return true;
}

static cla_status run(square *s, cla_runtime *rt, char *fault, size_t size)
{
    const int64_t n = s->n;
    CLA_TRY(fill(s, rt));
    const cla_product p = {
        .M = n,
        .N = n,
        .K = n,
        .batch = s->batch,
        .a = { .memory = &s->memory[0], .ld = n, .stride = n * n },
        .b = { .memory = &s->memory[1], .ld = n, .stride = n * n },
        .y = { .memory = &s->memory[2], .ld = n, .stride = n * n },
    };
    const cla_status status = cla_clblast_run(rt, &p);
    if (status == CLA_E_DEVICE) {
        snprintf(fault, size, "%s", cla_error());
        return CLA_OK;
    }
    CLA_TRY(status);
    CLA_TRY(cla_memory_read(rt, &s->memory[2], 0, s->y, s->memory[2].bytes));
    for (int member = 0; member < s->batch && !*fault; member++) {
        if (!is_right(s, member)) {
            snprintf(fault, size, "matmul: CLBlast computes wrongly on '%s'",
                     cla_runtime_device(rt)->name);
        }
    }
    return CLA_OK;
}

cla_status cla_clblast_check(cla_runtime *rt, char *fault, size_t size)
{
    *fault = '\0';
    for (size_t i = 0; i < sizeof SQUARES / sizeof *SQUARES && !*fault; i++) {
        square s = { .n = SQUARES[i].n, .batch = SQUARES[i].batch };
        const cla_status status = run(&s, rt, fault, size);
        for (int m = 0; m < 3; m++) {
            cla_memory_free(&s.memory[m], rt);
        }
        free(s.a);
        free(s.b);
        free(s.y);
        free(s.bv);
        CLA_TRY(status);
    }
    return CLA_OK;
}
