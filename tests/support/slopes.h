/* slopes.h - gradients of a whole network, each parameter tensor by itself, against
 * central differences of its loss. */
#pragma once

#include "nn/param.h"

typedef struct slopes_case {
    cla_params *params;
    /* The loss where the parameters now are; with backward, gradients of it, too. */
    double (*loss)(void *model, bool backward);
    void *model;
    float stir;         // deviation of what is added to parameters before; 0: 0.5
    const char *still;  // a parameter that the loss does not depend on; or NULL
    const char *spoilt; // one whose gradient counts as a tenth more; or NULL
} slopes_case;

/* The first parameter whose slope is not the difference of two losses along a way near
 * its own gradient, or NULL. All parameters get other values before. Fails where an
 * error of an eighth would go unseen. */
const char *wrong_slope(const slopes_case *c);

/* Fails where there is one. */
void check_slopes(const slopes_case *c);
