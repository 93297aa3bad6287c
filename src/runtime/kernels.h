/* kernels.h - the table of kernel files, which tools/embed.c writes from cl/. */
#pragma once

typedef struct cla_kernel_file {
    const char *name;          // "masked_softmax.cl"; NULL ends the table
    const unsigned char *text; // NUL-terminated
} cla_kernel_file;

extern const cla_kernel_file cla_kernel_files[];
