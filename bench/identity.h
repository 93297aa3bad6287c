/* identity.h - tells the devices of result files apart, and finds those that two files
 * share.
 *
 * A device has an index, a name, a driver and, where the driver tells one, a uuid.
 * Files of older versions and of other programs have the name alone: what a row lacks
 * contradicts nothing. */
#pragma once

#include "bench/results.h"

/* A device of a file. */
typedef struct bench_identity {
    const bench_result *row; // its first row
    bool host;               // no device: a library on the host of a GPU
    int peer;                // the same device in the other file; -1: none
} bench_identity;

typedef struct bench_devices {
    bench_identity *device; // in the order of their first rows
    int count, own;         // own: without the host
    size_t cap;
} bench_devices;

/* Returns whether two rows of a file are of the same device. */
bool bench_same_device(const bench_result *a, const bench_result *b);

/* Lists the devices of a file. *out must be empty. Errors: CLA_E_NOMEM. */
cla_status bench_devices_of(bench_devices *out, const bench_results *t);
void bench_devices_fini(bench_devices *d);

/* Pairs the devices of two files, the most alike first: those with the same uuid, then
 * those with the same name, index and driver. Different uuids never pair. Returns the
 * number of pairs without the host. */
int bench_devices_match(bench_devices *a, bench_devices *b);

/* Appends a device's name, with its index where it has one: "name (device 0)". Errors:
 * CLA_E_NOMEM. */
cla_status bench_device_label(const bench_result *row, cla_text *out);
/* Appends the labels of all devices of a file. Errors: CLA_E_NOMEM. */
cla_status bench_devices_label(const bench_results *t, cla_text *out);

/* Counts the rows that repeat the case, device and provider of an earlier row of the
 * file; *first is the first of them, or NULL. */
int bench_repeated(const bench_results *t, const bench_result **first);
/* Appends "A.json: 2 rows repeat ...", or nothing when no row does. Errors:
 * CLA_E_NOMEM. */
cla_status bench_repeated_text(const bench_results *t, cla_text *out);
