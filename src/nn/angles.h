/* angles.h - the table of angles of rotary positions, which grows with the positions.
 *
 *   angle[p,k] = p / base^(k/r), k = 0 .. r-1
 *
 * Su et al. 2021, section 3.2.2. */
#pragma once

#include "nn/attn.h"

enum { CODER_ANGLES = 24 };

typedef struct coder_angles {
    double base;
    int width;                       // 2r; 0: no rotary positions
    cla_tensor *table[CODER_ANGLES]; // each twice as long as the one before; a step may
                                     // use several, so all stay
    int count;
} coder_angles;

/* Makes the turn of a batch of count tokens at these positions, from 0, whose ids are
 * `positions` [count]; without rotary positions its table is NULL. The table lives as
 * long as angles. Errors: CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_angles_turn(coder_angles *angles, cla_tape *tape, attn_turn *turn,
                           const int32_t *position, int64_t count,
                           cla_tensor *positions);
void cla_angles_free(coder_angles *angles);
