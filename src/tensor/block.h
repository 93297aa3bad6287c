/* block.h - blocks of a tape, whose results are held in 16 bits between the passes. */
#pragma once

#include "tensor/tensor.h"

/* Copies n floats to numbers of 16 bits, or back. */
typedef cla_status (*cla_pack)(cla_runtime *rt, const cla_memory *to,
                               const cla_memory *from, int64_t n, bool back);

/* Begins a block. Until its end, results lie in memory that the next block uses, too.
 * Blocks are not nested. Errors: CLA_E_NOMEM. */
cla_status cla_tape_begin_block(cla_tape *tape);

/* Ends the block. Of its results y alone may be read afterwards: it gets memory of its
 * own. The others are packed into 16 bits and unpacked before the block's backward
 * steps; results without a gradient (statistics of rows) are kept as floats. Gradients
 * of the block's results, and scratch memory of its backward steps, last until the
 * backward steps of the next block. Errors: CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_tape_end_block(cla_tape *tape, cla_tensor *y, cla_pack pack);
