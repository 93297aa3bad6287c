/* npy.c - arrays in NumPy's format, valid and damaged. */
#include "base/npy.h"

#include <stdio.h>
#include <string.h>

#include "support/support.h"

/* Parses a file with that header and so many zero bytes of numbers. */
static cla_status parse(cla_npy *a, const char *header, size_t bytes)
{
    static char file[8192];
    const size_t n = strlen(header);
    memset(file, 0, sizeof file);
    memcpy(file, "\x93NUMPY\1", 8);
    file[8] = (char)(n & 0xff);
    file[9] = (char)(n >> 8);
    memcpy(file + 10, header, n);
    return cla_npy_parse(a, "w.npz", "x", file, 10 + n + bytes);
}

#define F4(shape) "{'descr': '<f4', 'fortran_order': False, 'shape': " shape ", }\n"

Test(npy, shapes_and_types)
{
    cla_npy a;
    TEST_OK(parse(&a, F4("(3, 4)"), 48));
    cr_assert(a.rank == 2 && a.shape[0] == 3 && a.shape[1] == 4 && a.size == 12);
    cr_assert_eq(a.type, CLA_NPY_F32);
    TEST_OK(parse(&a, F4("(3, 4, )"), 48)); // as cnpy writes it
    cr_assert_eq(a.rank, 2);
    TEST_OK(parse(&a, F4("(5,)"), 20));
    cr_assert(a.rank == 1 && a.size == 5);
    TEST_OK(parse(&a, F4("()"), 4));
    cr_assert(a.rank == 0 && a.size == 1);
    TEST_OK(parse(&a, F4("(0, 7)"), 0));
    cr_assert_eq(a.size, 0);
    TEST_OK(parse(&a, "{'descr': '|i1', 'fortran_order': False, 'shape': (7,), }", 7));
    cr_assert_eq(a.type, CLA_NPY_BYTES);
    TEST_OK(parse(&a, "{'descr': '<f2', 'fortran_order': False, 'shape': (7,), }", 14));
    cr_assert_eq(a.type, CLA_NPY_F16);
}

Test(npy, refuses_shapes_that_do_not_fit)
{
    static const char *const headers[] = {
        F4("(3, 5)"),
        F4("(3"),
        F4("3, 4"),
        F4("(-3, -4)"),
        F4("(3, x)"),
        F4("(1,1,1,3,4)"),
        F4("(2147483647, 2147483647, 2147483647)"),
        F4("(99999999999999999999,)"),
        F4("(4294967296, 4294967296, 12)"),
        F4("(3 4)"),
        F4(""),
        "{'descr': '<f4', 'fortran_order': False, }"
    };
    cla_npy a;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        TEST_FAILS(parse(&a, headers[i], 48), CLA_E_INPUT,
                   "array 'x' has a shape that is not that of its numbers");
    }
}

Test(npy, refuses_other_arrays)
{
    cla_npy a;
    char long_header[8] = "";
    TEST_FAILS(
        parse(&a, "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }", 8),
        CLA_E_INPUT, "another type");
    TEST_FAILS(
        parse(&a, "{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", 4),
        CLA_E_INPUT, "another type");
    TEST_FAILS(parse(&a, "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", 4),
               CLA_E_INPUT, "another type"); // a pickle
    TEST_FAILS(parse(&a, "{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }", 4),
               CLA_E_INPUT, "row-major");
    TEST_FAILS(cla_npy_parse(&a, "w.npz", "x", long_header, 4), CLA_E_INPUT,
               "is no NumPy array");
    TEST_FAILS(cla_npy_parse(&a, "w.npz", "x", "\x93NUMPY\1\0\xff\x0f{", 11),
               CLA_E_INPUT, "has a header beyond its end");
    TEST_FAILS(cla_npy_parse(&a, "w.npz", "x", "\x93NUMPY\2\0\xff\xff\xff\xff{", 13),
               CLA_E_INPUT, "has a header beyond its end");
    TEST_FAILS(cla_npy_parse(&a, "w.npz", "x", "\x93NUMPY\7\0\1\0{}", 12), CLA_E_INPUT,
               "is of an unknown version");
}
