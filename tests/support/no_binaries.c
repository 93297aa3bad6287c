/* no_binaries.c - OpenCL programs without binaries, for tests of CLBlast. */
#include "support/no_binaries.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

static bool none;

void test_no_binaries(void)
{
    none = true;
    setenv("CLATTN_CACHE_DIR", "off", 1);
}

/* Replaces OpenCL's function, and calls it for all other queries. */
cl_int clGetProgramInfo(cl_program program, cl_program_info what, size_t size,
                        void *value, size_t *written)
{
    if (none && what == CL_PROGRAM_BINARY_SIZES && value) {
        *(size_t *)value = 1;
        return CL_SUCCESS;
    }
    if (none && what == CL_PROGRAM_BINARIES && value) {
        **(unsigned char **)value = 0;
        return CL_SUCCESS;
    }
    cl_int (*real)(cl_program, cl_program_info, size_t, void *, size_t *) = NULL;
    *(void **)&real = dlsym(RTLD_NEXT, "clGetProgramInfo");
    return real(program, what, size, value, written);
}
