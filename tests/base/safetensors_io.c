/* safetensors_io.c - paths that no file of tensors can have, and memory that one gives
 * back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "base/safetensors.h"

Test(safetensors, io)
{
    cla_st_file f;
    cr_expect_eq(cla_st_open(&f, "/tmp"), CLA_E_IO);
    cr_expect_eq(cla_st_open(&f, "/nowhere/a.safetensors"), CLA_E_IO);
    cr_expect_eq(cla_st_save("/nowhere/a.safetensors", NULL, 0, NULL), CLA_E_IO);
}

/* Returns the KB of this process in memory; 0 where the system does not tell. */
static long resident(void)
{
    char row[128];
    long kb = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && !kb && fgets(row, sizeof row, f)) {
        kb = strncmp(row, "VmRSS:", 6) == 0 ? strtol(row + 6, NULL, 10) : 0;
    }
    if (f) fclose(f);
    return kb;
}

/* A tensor that is released gives its pages back, and no other number changes. */
Test(safetensors, releases_a_tensor)
{
    enum { MANY = 1 << 22, FEW = 1001 }; // 16 MB, and an odd number of floats
    float *x = malloc((MANY + 2 * FEW) * sizeof *x);
    for (int i = 0; i < MANY + 2 * FEW; i++) {
        x[i] = (float)(i % 1009);
    }
    const cla_st_tensor tensors[] = {
        { "before", CLA_ST_F32, 1, { FEW }, FEW, x },
        { "middle", CLA_ST_F32, 1, { MANY }, MANY, x + FEW },
        { "next", CLA_ST_F32, 1, { FEW }, FEW, x + FEW + MANY },
    };
    char path[] = "/tmp/clattn-st-XXXXXX";
    close(mkstemp(path));
    cr_assert_eq(cla_st_save(path, tensors, 3, NULL), CLA_OK, "%s", cla_error());
    cla_st_file f;
    cr_assert_eq(cla_st_open(&f, path), CLA_OK, "%s", cla_error());
    const long before = resident();
    cla_st_release(cla_st_find(&f, "before"));
    cla_st_release(cla_st_find(&f, "middle"));
    const long less = before - resident();
    cr_assert(!before || less > MANY / 256 / 10 * 9, "%ld KB less", less);
    cr_assert_arr_eq(cla_st_find(&f, "before")->data, x, FEW * sizeof *x);
    cr_assert_arr_eq(cla_st_find(&f, "next")->data, x + FEW + MANY, FEW * sizeof *x);
    cla_st_close(&f);
    unlink(path);
    free(x);
}
