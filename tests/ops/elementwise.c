/* elementwise.c - concatenated columns and scaled heads against their oracles. */
#include "support/check_kind.h"

/* One operation an element: a rounding. */
static const double BAR = 2e-7;

static const kind_table joining = {
    .lines = { .op = "concat" },
    .rows = (const char *const[]){ "N=1 Ca=1 Cb=1", "N=5 Ca=3 Cb=8", "N=8 Ca=128 Cb=64",
                                   "N=9 Ca=65 Cb=63", "N=0 Ca=3 Cb=4", "N=3 Ca=0 Cb=4",
                                   "N=33 Ca=129 Cb=1", NULL },
    .bar = 0, // copies
};

Test(elementwise, concat)
{
    check_kind_cases(&joining);
}

static const kind_table scaling = {
    .lines = { .op = "scale_heads" },
    .rows = (const char *const[]){ "N=1 H=1 d=1", "N=7 H=3 d=24 columns",
                                   "N=9 H=4 d=48", "N=16 H=2 d=91 columns",
                                   "N=61 H=1 d=130", "N=0 H=2 d=8", NULL },
    .bar = BAR,
};

Test(elementwise, scale_heads)
{
    check_kind_cases(&scaling);
}

Test(elementwise, refuses)
{
    check_kind_refuses(&joining);
    check_kind_refuses(&scaling);
}
