/* no_binaries.h - programs without binaries, for tests of CLBlast. */
#pragma once

/* From here on clGetProgramInfo gives one byte for each program's binary. CLBlast asks
 * for the binary of each program that it builds, for other contexts of the process; a
 * test has none. PoCL answers only after it has compiled all kernels of the program, a
 * minute of work. Our own cache is off, as it would save those bytes. Call it before a
 * runtime is opened. */
void test_no_binaries(void);
