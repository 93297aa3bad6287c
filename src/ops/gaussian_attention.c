/* gaussian_attention.c - attention with a Gaussian around a centre in its scores: an
 * expression of custom attention. */
#include <math.h>
#include <stdio.h>

#include "base/text.h"
#include "clattn/gaussian.h"
#include "ops/custom_call.h"
#include "tensor/signature.h"

const cla_signature cla_gaussian_attention_signature = {
    "gaussian_attention", "q~:N,H,d k~:N,H,d v~:N,H,d center?:N,H sigma:N,H "
                          "rows(N,B,T) -> o:N,H,d map?:B,H,T,T"
};
const cla_signature cla_gaussian_by_head_signature = {
    "gaussian_attention", "q~:N,H,d k~:N,H,d v~:N,H,d center?:N,H sigma:H "
                          "rows(N,B,T) -> o:N,H,d map?:B,H,T,T"
};

static cla_status check(const cla_given *given, const cla_gaussian *shape,
                        const cla_attention_options *options)
{
    static const char op[] = "gaussian_attention";
    const cla_ragged *rows = given[5].rows;
    const bool by_head = given[4].tensor && given[4].tensor->rank == 1;
    CLA_TRY(cla_attention_check(op, given[0].tensor, given[1].tensor, given[2].tensor,
                                rows, rows, options));
    CLA_TRY(cla_signature_check(by_head ? &cla_gaussian_by_head_signature
                                        : &cla_gaussian_attention_signature,
                                given, &(cla_sizes){ 0 }));
    return shape->reach >= 0
               ? CLA_OK
               : cla_fail(CLA_E_USAGE, "%s: reach is %g, must be 0 or more", op,
                          (double)shape->reach);
}

cla_status cla_gaussian_attention(cla_tape *tape, cla_tensor **o, cla_tensor *q,
                                  cla_tensor *k, cla_tensor *v,
                                  const cla_gaussian *shape, const cla_ragged *rows,
                                  const cla_attention_options *options)
{
    CLA_OP(tape, o, q, k, v, shape, rows);
    CLA_MAY(tape, shape->center, shape->sigma);
    const cla_given given[] = {
        { q }, { k }, { v }, { shape->center }, { shape->sigma }, { .rows = rows }
    };
    CLA_TRY(check(given, shape, options));
    char u[64], score[160]; // u: the distance from the centre, in widths
    cla_text mask = { 0 };
    snprintf(u, sizeof u, "((j - %s) * (1.0 / %s))",
             shape->center ? "center[ni][h]" : "i",
             shape->sigma->rank > 1 ? "sigma[ni][h]" : "sigma[h]");
    snprintf(score, sizeof score, "s - 0.5 * (%s * %s)", u, u);
    if (isfinite(shape->reach)) {
        CLA_TRY(cla_text_add(&mask, "!(abs(%s) > %.9g)", u, (double)shape->reach));
    }
    cla_attention_mod mod = { .score = score,
                              .mask = mask.data,
                              .inputs = { { "sigma", shape->sigma } } };
    if (shape->center) {
        mod.inputs[1] = (cla_custom_input){ "center", shape->center };
    }
    custom_call call = { .exact = true };
    const cla_status status =
        cla_custom_run(&call, tape, o, (cla_tensor *[]){ q, k, v },
                       (const cla_ragged *[]){ rows, rows }, &mod, options);
    cla_text_free(&mask);
    return status;
}
