/* block.h - blocks of operators whose results are held in 16 bits for the backward
 * pass. */
#pragma once

#include "tensor/tensor.h"

/* Begins and ends a block of operators, as cla_tape_begin_block does, on tapes of
 * training under CLA_PRECISION_MEDIUM: its products round what they read to bf16
 * anyway. Elsewhere nothing happens. Errors: CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_block_begin(cla_tape *tape);
cla_status cla_block_end(cla_tape *tape, cla_tensor *y);
