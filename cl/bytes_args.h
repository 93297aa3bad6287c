/* bytes_args.h - the panels of weights of 8 bits, in C and in OpenCL C. */
#ifndef BYTES_ARGS_H
#define BYTES_ARGS_H

#define BYTES_STEP     64   // inner indices
#define BYTES_BLOCK    16   // rows of left numbers, columns of a fragment
#define BYTES_PANEL    32   // columns
#define BYTES_FRAGMENT 1024 // numbers of 16 rows or columns and 64 inner indices
#define BYTES_ROWS     128  // of an item

/* A row whose numbers are all smaller counts as zeros: 127 / LEAST_ROW is finite. */
#define LEAST_ROW 1e-30f

/* The place of the panel of column j of a matrix with K inner indices. */
#define PANEL_OF_BYTES(j, K)                                                   \
    ((size_t)((j) / BYTES_PANEL) * (((K) + BYTES_STEP - 1) / BYTES_STEP) * 2 * \
     BYTES_FRAGMENT)

/* The place of inner index k of column j in a panel. */
#define BYTE_OF_PANEL(j, k)                                                \
    ((size_t)((k) / BYTES_STEP * 2 + (j) / BYTES_BLOCK) * BYTES_FRAGMENT + \
     (k) % BYTES_STEP / 4 * 64 + (j) % BYTES_BLOCK * 4 + (k) % 4)

#endif
