/* ragged_cross_entropy.c - the definition of the loss of a pointer. */
#include <math.h>

#include "clattn/ham.h"
#include "oracle/kind.h"

extern const cla_signature cla_ragged_cross_entropy_signature; // of the launcher

static cla_status device(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    const cla_pointer_options options = { .probabilities = c->attribute[0] != 0,
                                          .least = (float)c->attribute[1],
                                          .logp = c->wanted[4] ? &y[1] : NULL };
    return cla_ragged_cross_entropy(tape, y, c->in[0], c->in[1], c->rows[2], &options);
}

/* Computes the mean loss of the sequences whose target is one of their rows; 0 without
 * any. */
static void oracle(double *const *y, const op_call *c)
{
    const double least = (double)(float)c->attribute[1];
    const int32_t *targets = c->ids[1], *offsets = c->ids[2];
    double total = 0;
    int counted = 0;
    for (int b = 0; b < kind_size(c, "B"); b++) {
        const double *x = c->x[0] + offsets[b];
        const int length = offsets[b + 1] - offsets[b];
        double top = -INFINITY, sum = 0;
        for (int n = 0; n < length; n++) {
            top = fmax(top, x[n]);
        }
        for (int n = 0; n < length; n++) {
            sum += exp(x[n] - top);
        }
        for (int n = 0; n < length && y[1]; n++) {
            y[1][offsets[b] + n] =
                c->attribute[0] != 0 ? log(x[n] + least) : x[n] - top - log(sum);
        }
        if (targets[b] >= 0 && targets[b] < length) {
            const double gold = x[targets[b]];
            total += c->attribute[0] != 0 ? -log(gold + least) : top + log(sum) - gold;
            counted++;
        }
    }
    y[0][0] = counted ? total / counted : 0;
}

static kind_cost cost(const op_call *c, bool backward)
{
    const double N = kind_size(c, "N");
    return (kind_cost){ (backward ? 10 : 4) * N, (backward ? 16 : 4) * N };
}

static const op_kind ragged_cross_entropy_kind = {
    .signature = &cla_ragged_cross_entropy_signature,
    .attribute = { "probabilities=0|1", "least" },
    .device = device,
    .oracle = oracle,
    .cost = cost,
};

const op_kind *const ragged_cross_entropy_kinds[] = { &ragged_cross_entropy_kind,
                                                      NULL };
