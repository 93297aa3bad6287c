/* slopes.h - checks the gradients of a whole network, a parameter tensor at a time,
 * against central differences of its loss. */
#pragma once

#include "nn/param.h"

typedef struct slopes_case {
    cla_params *params;
    /* Returns the loss at the current parameters; with backward, also computes its
     * gradients. */
    double (*loss)(void *model, bool backward);
    void *model;
    float stir;         // standard deviation of the noise on parameters; 0: 0.5
    const char *still;  // a parameter that the loss does not depend on; or NULL
    const char *spoilt; // one whose gradient loses its first half; or NULL
} slopes_case;

/* Adds noise to all parameters, then compares each gradient with central differences of
 * the loss along a random direction that leans to it. Returns the first parameter where
 * they disagree, or NULL. Fails the test where an error of an eighth would go
 * unnoticed. */
const char *wrong_slope(const slopes_case *c);

/* Fails the test when wrong_slope finds a parameter. */
void check_slopes(const slopes_case *c);
