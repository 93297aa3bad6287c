/* pairmap.h - pairs of whole numbers to one: merges of pieces, n-grams. */
#pragma once

#include "base/base.h"

/* Zero-initialised it is empty. */
typedef struct cla_pairmap {
    struct cla_pairmap_slot *slots; // open addressing
    size_t slot_count, count;
} cla_pairmap;

void cla_pairmap_free(cla_pairmap *map);

/* Empties it and keeps the memory. */
void cla_pairmap_clear(cla_pairmap *map);

/* The value of (a, b), or -1. */
int32_t cla_pairmap_find(const cla_pairmap *map, int32_t a, int32_t b);

/* Puts value (>= 0) at (a, b) unless there is one; *kept is what then stands there.
 * Errors: CLA_E_NOMEM. */
cla_status cla_pairmap_put(cla_pairmap *map, int32_t a, int32_t b, int32_t value,
                           int32_t *kept);
