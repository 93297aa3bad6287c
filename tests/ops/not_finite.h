/* not_finite.h - small calls of each kind of operator, for the test of the rule for
 * numbers that are not finite. */
#pragma once

#include "oracle/kind_case.h"

/* A call. A maximum hands its gradient to the number that it took; which one takes it
 * among several that a NaN has reached is not said, so of a `pool` only some gradient
 * must be NaN. `positive` is an input whose numbers are at least 0.5. */
typedef struct small_call {
    kind_lines lines;
    const char *text;
    bool pool;
    const char *positive;
} small_call;

/* Ends with one without op. */
extern const small_call small_calls[];
