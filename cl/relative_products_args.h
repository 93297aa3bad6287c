/* relative_products_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef RELATIVE_PRODUCTS_ARGS_H
#define RELATIVE_PRODUCTS_ARGS_H

/* Flags behind a copy of rel in the group schedule, no fewer than a group has items. */
enum { RELATIVE_FLAGS = 256 };

typedef struct product_shape {
    int heads, queries, numbers, width; // H, Nq, 2R+1, d
    int at, stride;                     // of rows of x or y
    int groups;                         // of the launch
    int flags;                          // behind a copy of rel, see copy_finite
    int size, apart;                    // floats of rel; from head to head, 0: shared
} product_shape;

/* R, and the floats of rel in all. */
typedef struct near_shape {
    int clip, size;
} near_shape;

#endif
