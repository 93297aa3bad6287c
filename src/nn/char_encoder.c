/* char_encoder.c - encodes words from their letters. */
#include "nn/char_encoder.h"

cla_status cla_char_encoder_init(char_encoder *e, cla_params *params,
                                 const char *prefix)
{
    const int64_t dim = e->dim;
    const cla_init uniform = { CLA_INIT_UNIFORM, 0.05, 0, 0 };
    const cla_init glorot = { CLA_INIT_GLOROT_UNIFORM, 0, CHAR_TAPS * dim,
                              CHAR_TAPS * dim };
    CLA_TRY(cla_param_add(params, &e->table, uniform, 2, (int64_t[]){ e->chars, dim },
                          "%s.table", prefix));
    for (int i = 0; i < e->layers; i++) {
        CLA_TRY(cla_param_add(params, &e->filter[i], glorot, 3,
                              (int64_t[]){ CHAR_TAPS, dim, dim }, "%s.%d.filter",
                              prefix, i));
        CLA_TRY(cla_param_zeros(params, &e->bias[i], dim, "%s.%d.bias", prefix, i));
    }
    return CLA_OK;
}

/* Makes rows of `words` sequences, each of e->letters letters. */
static cla_status word_rows(const char_encoder *e, cla_tape *tape, int64_t words,
                            cla_ragged **rows)
{
    int32_t *offsets = NULL;
    CLA_TRY(cla_alloc(&offsets, (size_t)words + 1, sizeof *offsets));
    for (int64_t i = 0; i <= words; i++) {
        offsets[i] = (int32_t)(i * e->letters);
    }
    const cla_status status =
        cla_ragged_new(rows, cla_tape_runtime(tape), words, offsets);
    free(offsets);
    CLA_TRY(status);
    cla_tape_keep(tape, *rows);
    return CLA_OK;
}

cla_status cla_char_encoder_forward(char_encoder *e, cla_tape *tape, cla_tensor **y,
                                    const cla_tensor *ids)
{
    cla_tensor *x = NULL;
    cla_ragged *rows = NULL;
    const int last = e->layers - 1;
    CLA_TRY(word_rows(e, tape, cla_tensor_size(ids) / e->letters, &rows));
    CLA_TRY(cla_embedding(tape, &x, e->table, ids, 1));
    for (int i = 0; i < last; i++) {
        CLA_TRY(cla_conv1d(tape, &x, x, e->filter[i], e->bias[i], rows, CLA_RELU));
    }
    return cla_char_cnn(tape, y, x, e->filter[last], e->bias[last], rows, NULL);
}
