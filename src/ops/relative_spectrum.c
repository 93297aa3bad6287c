/* relative_spectrum.c - a table of relative positions from its real spectrum. */
#include "clattn/ops.h"
#include "ops/spread.h"
#include "tensor/signature.h"

typedef struct saved {
    cla_tensor *table, *spectrum;
    cla_memory waves; // [2t], one period of the cosine
} saved;

static cla_status launch_numbers(cla_runtime *rt, int64_t count, cla_launch *launch)
{
    launch->file = "relative_spectrum";
    launch->define[0] = (cla_define){ "WG", CLA_WG };
    launch->groups[0] = (size_t)((count + CLA_WG - 1) / CLA_WG);
    launch->local[0] = CLA_WG;
    return cla_enqueue(rt, launch);
}

static cla_status backward(cla_tape *tape, void *bytes)
{
    const saved *s = bytes;
    const cla_tensor *dtable = cla_grad_in(s->table);
    cla_tensor *dspectrum = NULL;
    int add = 0;
    CLA_TRY(cla_grad_out(tape, s->spectrum, &dspectrum, &add));
    cla_launch launch = {
        .kernel = "relative_spectrum_backward",
        .args = { cla_buf(dspectrum), cla_buf(dtable), cla_mem(&s->waves),
                  cla_i32(s->table->shape[0]), cla_i32(s->table->shape[1] / 2),
                  cla_i32(add) },
    };
    return launch_numbers(cla_tape_runtime(tape), cla_size(s->table), &launch);
}

static cla_status forward(cla_tape *tape, saved *s)
{
    cla_runtime *rt = cla_tape_runtime(tape);
    const int64_t length = s->spectrum->shape[1];
    CLA_TRY(cla_tape_scratch(tape, &s->waves, (size_t)length * sizeof(float)));
    cla_launch waves = {
        .kernel = "relative_spectrum_waves",
        .args = { cla_mem(&s->waves), cla_i32(length / 2) },
    };
    CLA_TRY(launch_numbers(rt, length, &waves));
    cla_launch launch = {
        .kernel = "relative_spectrum_forward",
        .args = { cla_buf(s->table), cla_buf(s->spectrum), cla_mem(&s->waves),
                  cla_i32(s->spectrum->shape[0]), cla_i32(length / 2) },
    };
    return launch_numbers(rt, cla_size(s->table), &launch);
}

const cla_signature cla_relative_spectrum_signature = { "relative_spectrum",
                                                        "spectrum:H,2t -> table:H,2t" };

cla_status cla_relative_spectrum(cla_tape *tape, cla_tensor **table,
                                 cla_tensor *spectrum)
{
    CLA_OP(tape, table, spectrum);
    saved s = { .spectrum = spectrum };
    CLA_TRY(cla_signature_check(&cla_relative_spectrum_signature,
                                (cla_given[]){ { spectrum } }, &(cla_sizes){ 0 }));
    if (!spectrum->shape[1]) {
        return cla_fail(CLA_E_SHAPE,
                        "relative_spectrum: spectrum is %s, t must be 1 or "
                        "more",
                        cla_shape_text(spectrum));
    }
    CLA_TRY(cla_tape_tensor(tape, &s.table, CLA_F32, 2, spectrum->shape));
    CLA_TRY(forward(tape, &s));
    const cla_note end = { backward, &s, sizeof s, { spectrum } };
    return cla_tape_give(tape, table, s.table, &end);
}
