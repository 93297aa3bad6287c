/* angles.h - the table of angles of rotary positions, which grows with the positions.
 *
 *   angle[p,k] = p w(k), w(k) = base^(-k/r), k = 0 .. r-1
 *
 * With a scaling for longer texts than those of a training, pairs that turn seldom turn
 * `factor` times slower:
 *
 *   angle[p,k] = p w(k) (s(k) + (1 - s(k)) / factor)
 *   linear:  s = 0
 *   llama3:  s = (n - low) / (high - low) within 0 .. 1, n = T w(k) / 2 pi turns
 *   yarn:    s falls from 1 to 0 in even steps from the first pair with at most `high`
 *            turns to the last one with at least `low` of them, both rounded outwards
 *
 * The table has gain cos(angle) and gain sin(angle).
 *
 * Su et al. 2021, section 3.2.2; Chen et al. 2023, Position Interpolation; Peng et al.
 * 2023, YaRN, section 3; Dubey et al. 2024, The Llama 3 Herd of Models. */
#pragma once

#include "nn/attn.h"

enum { CODER_ANGLES = 24 };

typedef enum coder_scaling {
    CODER_UNSCALED,
    CODER_LINEAR,
    CODER_LLAMA3,
    CODER_YARN,
} coder_scaling;

/* Rotary positions. */
typedef struct coder_rope {
    double base;
    int width;        // 2r: numbers of a head that are turned; 0: there are none
    int scaling;      // coder_scaling
    double factor;    // at least 1
    int context;      // T: tokens that turns are counted over
    double low, high; // turns, low below high
    double gain;
} coder_rope;

typedef struct coder_angles {
    coder_rope rope;
    cla_tensor *table[CODER_ANGLES]; // each twice as long as the one before; a step may
                                     // use several, so all stay
    int count;
} coder_angles;

/* Returns the angle of pair k at position 1. */
double cla_angles_rate(const coder_rope *rope, int k);

/* Makes the turn of a batch of count tokens at these positions, from 0, whose ids are
 * `positions` [count]; without rotary positions its table is NULL. The table lives as
 * long as angles. Errors: CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_angles_turn(coder_angles *angles, cla_tape *tape, attn_turn *turn,
                           const int32_t *position, int64_t count,
                           cla_tensor *positions);
void cla_angles_free(coder_angles *angles);
