/* no_binaries.h - OpenCL programs without binaries, for tests of CLBlast. */
#pragma once

/* Makes clGetProgramInfo return one byte as the binary of every program from now on.
 * CLBlast requests the binary of each program that it builds, for other contexts of the
 * process, which a test does not have; PoCL compiles all kernels of the program for it,
 * which takes a minute. Also turns off clattn's own cache, which would store that byte.
 * Call it before opening a runtime. */
void test_no_binaries(void);
