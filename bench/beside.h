/* beside.h - the devices of a run beside each other, in one table. */
#pragma once

#include <stddef.h>

#include "clattn/status.h"

typedef struct bench_device {
    int index;
    char name[128];
} bench_device;

/* The faster of tile and group of a case, for each device; 0: not measured. */
typedef struct bench_beside_row {
    char name[128];
    double *ms; // [devices]
} bench_beside_row;

typedef struct bench_beside {
    bench_device *device;
    bench_beside_row *row; // in the order of the first device
    size_t devices, device_cap, rows, row_cap;
} bench_beside;

struct bench;

/* Adds the rows of b's device. Errors: CLA_E_NOMEM. */
cla_status bench_beside_add(bench_beside *t, const struct bench *b);

/* Prints the cases that two devices have: the milliseconds on each device, and the
 * speed relative to the first. Prints nothing for less than two devices. */
void bench_beside_print(const bench_beside *t, int columns);
void bench_beside_fini(bench_beside *t);
