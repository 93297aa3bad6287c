/* pairmap.c - a hash map from pairs of integers to integers. */
#include "base/pairmap.h"

#include <string.h>
#include <xxhash.h>

struct cla_pairmap_slot {
    int32_t pair[2];
    int32_t value; // value + 1; 0: the slot is free
};

void cla_pairmap_free(cla_pairmap *map)
{
    free(map->slots);
    *map = (cla_pairmap){ 0 };
}

void cla_pairmap_clear(cla_pairmap *map)
{
    if (map->count) {
        memset(map->slots, 0, map->slot_count * sizeof *map->slots);
    }
    map->count = 0;
}

/* Returns the slot of the pair, or the free slot where it belongs. */
static struct cla_pairmap_slot *find_slot(const cla_pairmap *map, int32_t a, int32_t b)
{
    const int32_t pair[2] = { a, b };
    size_t at = XXH3_64bits(pair, sizeof pair) & (map->slot_count - 1);
    for (;; at = (at + 1) & (map->slot_count - 1)) {
        struct cla_pairmap_slot *slot = &map->slots[at];
        if (!slot->value || (slot->pair[0] == a && slot->pair[1] == b)) {
            return slot;
        }
    }
}

static cla_status grow(cla_pairmap *map)
{
    cla_pairmap larger = { .slot_count = map->slot_count ? 2 * map->slot_count : 64,
                           .count = map->count };
    CLA_TRY(cla_alloc(&larger.slots, larger.slot_count, sizeof *larger.slots));
    for (size_t i = 0; i < map->slot_count; i++) {
        const struct cla_pairmap_slot *old = &map->slots[i];
        if (old->value) {
            *find_slot(&larger, old->pair[0], old->pair[1]) = *old;
        }
    }
    free(map->slots);
    *map = larger;
    return CLA_OK;
}

int32_t cla_pairmap_find(const cla_pairmap *map, int32_t a, int32_t b)
{
    return map->slot_count ? find_slot(map, a, b)->value - 1 : -1;
}

cla_status cla_pairmap_put(cla_pairmap *map, int32_t a, int32_t b, int32_t value,
                           int32_t *kept)
{
    if (2 * (map->count + 1) > map->slot_count) {
        CLA_TRY(grow(map));
    }
    struct cla_pairmap_slot *slot = find_slot(map, a, b);
    if (!slot->value) {
        *slot = (struct cla_pairmap_slot){ { a, b }, value + 1 };
        map->count++;
    }
    *kept = slot->value - 1;
    return CLA_OK;
}
