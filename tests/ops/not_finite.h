/* not_finite.h - small calls of each kind of operator, for the test of the rule for
 * numbers that are not finite. */
#pragma once

#include "oracle/kind_case.h"

/* A call. `ends` is an input of weights that may reach results at the ends of a
 * sequence, where zeros take the place of rows outside. `no_lowest`: its numbers are
 * squared, or multiplied with what a gate leaves, 0 but for rounding, so that the
 * lowest float is no better than an infinity. A maximum hands its gradient to the
 * number that it took; which one takes it among several that a NaN has reached is not
 * said, so of a `pool` only some gradient must be NaN, and any that has a result in
 * common may; a NaN also opens a relu that was shut. A `softmax` gives 0 where all its
 * scores are -inf, and what is `layered` makes of that what it makes of 0. `positive`
 * is an input whose numbers are at least 0.5. */
typedef struct small_call {
    kind_lines lines;
    const char *text;
    bool pool, no_lowest, softmax, layered;
    const char *positive, *ends;
} small_call;

/* Ends with one without op. */
extern const small_call small_calls[];
