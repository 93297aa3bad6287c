/* softsign.c - device against oracle: values, gradients, refusals. */
#include "support/check_kind.h"

static const char *const rows[] = { "...=1",   "...=7,9", "...=64,1",  "...=65,63",
                                    "...=0,3", "...=1,2", "...=2,3,5", NULL };

Test(softsign, matches_oracle_and_gradient)
{
    const kind_table table = {
        .lines = { .op = "softsign" }, .rows = rows, .bar = 1e-6, .scale = { 5 }
    };
    check_kind_cases(&table);
    check_kind_refuses(&table);
}
