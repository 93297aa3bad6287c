/* safetensors_io.c - paths that no file of tensors can have. */
#include <criterion/criterion.h>

#include "base/safetensors.h"

Test(safetensors, io)
{
    cla_st_file f;
    cr_expect_eq(cla_st_open(&f, "/tmp"), CLA_E_IO);
    cr_expect_eq(cla_st_open(&f, "/nowhere/a.safetensors"), CLA_E_IO);
    cr_expect_eq(cla_st_save("/nowhere/a.safetensors", NULL, 0, NULL), CLA_E_IO);
}
