/* embedding.c - the definition of a look-up. */
#include "clattn/ops.h"
#include "oracle/kind.h"
#include "oracle/oracle.h"

extern const cla_signature cla_embedding_signature; // of the launcher

void oracle_embedding(double *y, const double *table, const int32_t *ids, int N, int D,
                      int V, double scale)
{
    for (int n = 0; n < N; n++) {
        const bool known = ids[n] >= 0 && ids[n] < V;
        for (int c = 0; c < D; c++) {
            y[(int64_t)n * D + c] = known ? scale * table[(int64_t)ids[n] * D + c] : 0;
        }
    }
}

static cla_status device(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    return cla_embedding(tape, y, c->in[0], c->in[1], (float)c->attribute[0]);
}

static void oracle(double *const *y, const op_call *c)
{
    oracle_embedding(y[0], c->x[0], c->ids[1], kind_size(c, "N"), kind_size(c, "D"),
                     kind_size(c, "V"), (double)(float)c->attribute[0]);
}

/* Backward, the gradient of the table is cleared first. */
static kind_cost cost(const op_call *c, bool backward)
{
    const double N = kind_size(c, "N"), V = kind_size(c, "V");
    return (kind_cost){ .bytes =
                            4.0 * kind_size(c, "D") * (backward ? 4 * N + V : 2 * N) };
}

static const op_kind embedding_kind = {
    .signature = &cla_embedding_signature,
    .attribute = { "scale" },
    .device = device,
    .oracle = oracle,
    .cost = cost,
};

const op_kind *const embedding_kinds[] = { &embedding_kind, NULL };
