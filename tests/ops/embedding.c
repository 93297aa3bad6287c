/* embedding.c - device against oracle: values, gradients, refusals. */
#include "base/rng.h"
#include "support/check_kind.h"

static const char *const rows[] = {
    "N=7 D=5 V=3 scale=2",
    "N=1 D=1 V=1 scale=1",
    "N=63 D=64 V=11 scale=8",
    "N=64 D=65 V=101 scale=1",
    "large N=3 D=128 V=4099 scale=1",
    "medium N=515 D=24 V=37 scale=1",
    "medium N=300 D=130 V=7 scale=1",
    "large N=2600 D=19 V=450 scale=0.5",
    "large N=256 D=257 V=300 scale=1",
    "N=0 D=4 V=3 scale=1",
    "N=4 D=3 V=0 scale=1",
    NULL,
};

/* Fills in ids from -1 to V, of which the first and the last are no rows of the table.
 * For V = 101 only four ids are drawn, for N = 515 only one. */
static void fill(int32_t *ids, int64_t n, const op_call *c, int operand)
{
    (void)operand;
    const int V = kind_size(c, "V"), kinds = V > 100 && V < 500 ? 4 : n > 500 ? 1 : 0;
    for (int64_t i = 0; i < n; i++) {
        const uint32_t counter[4] = { (uint32_t)i }, key[2] = { test_seed() };
        const uint32_t r = cla_philox4x32(counter, key).v[0];
        const int range = kinds ? kinds : V + 2;
        ids[i] = (int32_t)(r % (uint32_t)range) - (kinds ? 0 : 1);
    }
}

/* One rounding forward; a gradient is a sum of up to 515 rows, about eps sqrt(n). */
static const kind_table table = { .lines = { "embedding", NULL, fill },
                                  .rows = rows,
                                  .bar = 2e-7 };

Test(embedding, matches_oracle_and_gradient)
{
    check_kind_cases(&table);
}

Test(embedding, refuses)
{
    check_kind_refuses(&table);
}
