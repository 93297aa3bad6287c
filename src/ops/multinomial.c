/* multinomial.c - draws a class for each row by its probability. */
#include "clattn/hard.h"
#include "ops/spread.h"

enum { MOST = (1 << 24) - 1 }; // classes; the group kernel counts them in floats

cla_status cla_multinomial(cla_tape *tape, cla_tensor **id, const cla_tensor *logits)
{
    CLA_OP(tape, id, logits);
    static const char op[] = "multinomial";
    cla_runtime *rt = cla_tape_runtime(tape);
    const bool tile = cla_tiled(rt);
    cla_tensor *classes = NULL;
    CLA_TRY(cla_check_shape(op, "logits", logits, CLA_F32, 2, (int64_t[]){ -1, -1 }));
    const int64_t rows = logits->shape[0], columns = logits->shape[1];
    if (columns < 1 || columns > MOST) {
        return cla_fail(CLA_E_SHAPE, "%s: logits is %s, must have 1 to %d classes", op,
                        cla_shape_text(logits), MOST);
    }
    CLA_TRY(cla_tape_tensor(tape, &classes, CLA_I32, 1, &rows));
    const cla_stream key = cla_tape_stream(tape);
    cla_launch launch = {
        .file = tile ? "multinomial_tile" : op,
        .kernel = op,
        .args = { cla_buf(classes), cla_buf(logits), cla_i32(columns),
                  cla_u32(key.seed), cla_u32(key.step), cla_u32(key.stream),
                  cla_u32(key.first_row) },
        .flops = 8.0 * (double)cla_size(logits),
    };
    cla_spread_rows(rt, &launch, rows, 1);
    if (tile) {
        launch.define[0] = (cla_define){ "VEC", cla_vector_width(rt) };
    }
    CLA_TRY(rows ? cla_enqueue(rt, &launch) : CLA_OK);
    *id = classes;
    return CLA_OK;
}
