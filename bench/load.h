/* load.h - tells whether other work disturbs a measurement. */
#pragma once

#include "clattn/runtime.h"

/* The load average of the last minute, and what it may be. */
typedef struct bench_load {
    double load;     // below 0: unknown
    long processors; // of the host
    double most;     // without other work
} bench_load;

/* Measures the load. measuring: the benchmark itself runs on device, which adds a load
 * of its own: all processors for a CPU device, one for others. */
bench_load bench_load_now(const cla_device *device, bool measuring);

/* Returns whether other work runs. */
bool bench_load_is_high(const bench_load *load);

/* Writes "load 18.0 on 2 processors: other work is running" to text [size]. */
void bench_load_text(const bench_load *load, char *text, size_t size);
