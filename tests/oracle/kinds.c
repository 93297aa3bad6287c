/* kinds.c - operators by name. */
#include <string.h>

#include "oracle/kind.h"

static const op_kind *const kinds[] = {
    &cross_entropy_kind, &embedding_kind,      &layer_norm_kind,
    &linear_kind,        &masked_softmax_kind,
};

const op_kind *op_kind_find(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i]->signature->op, name) == 0) {
            return kinds[i];
        }
    }
    return NULL;
}
