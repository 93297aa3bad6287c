/* pairmap.h - a map from pairs of integers to integers, for BPE merges and n-grams. */
#pragma once

#include "base/base.h"

/* The map. {0} is empty. */
typedef struct cla_pairmap {
    struct cla_pairmap_slot *slots; // open addressing
    size_t slot_count, count;
} cla_pairmap;

void cla_pairmap_free(cla_pairmap *map);

/* Removes all entries but keeps the memory. */
void cla_pairmap_clear(cla_pairmap *map);

/* Returns the value of (a, b), or -1. */
int32_t cla_pairmap_find(const cla_pairmap *map, int32_t a, int32_t b);

/* Sets the value (>= 0) of (a, b) unless it has one. *kept is its value afterwards.
 * Errors: CLA_E_NOMEM. */
cla_status cla_pairmap_put(cla_pairmap *map, int32_t a, int32_t b, int32_t value,
                           int32_t *kept);
