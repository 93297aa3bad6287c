/* custom_inputs.c - the inputs of a modifier: checks, sizes, places of gradients. */
#include "ops/custom_call.h"
#include "ops/spread.h"

static const char OP[] = "custom_attention";

static cla_status check_input(const cla_custom_input *input)
{
    static const int64_t any[4] = { -1, -1, -1, -1 };
    const cla_tensor *t = input->tensor;
    if (!t) {
        return cla_fail(CLA_E_USAGE, "%s: input '%.40s' is NULL", OP, input->name);
    }
    CLA_TRY(cla_check_shape(OP, input->name, t, t->dtype, t->rank, any));
    if (cla_size(t) == 0) {
        return cla_fail(CLA_E_SHAPE, "%s: %.40s is %s, must hold numbers", OP,
                        input->name, cla_shape_text(t));
    }
    if (t->wants_grad && t->dtype != CLA_F32) {
        return cla_fail(CLA_E_USAGE, "%s: %.40s wants a gradient, but is i32", OP,
                        input->name);
    }
    return CLA_OK;
}

cla_status cla_custom_inputs_check(const cla_attention_mod *mod)
{
    if (mod->window < 0 || (mod->window && mod->window % 2 == 0)) {
        return cla_fail(CLA_E_USAGE, "%s: window is %d, must be odd, or 0 for none", OP,
                        mod->window);
    }
    for (int i = 0; i < CLA_CUSTOM_INPUTS && mod->inputs[i].name; i++) {
        CLA_TRY(check_input(&mod->inputs[i]));
    }
    return CLA_OK;
}

void cla_custom_inputs_take(custom_call *call, const cla_tape *tape,
                            const cla_attention_mod *mod)
{
    custom_args *s = &call->args;
    s->apart = mod->window ? mod->window / 2 : CUSTOM_FAR;
    s->run = 1;
    for (int i = 0; i < CLA_CUSTOM_INPUTS && mod->inputs[i].name; i++) {
        cla_tensor *t = mod->inputs[i].tensor;
        call->input[i] = t;
        call->wanted[i] = cla_tape_training(tape) && t->wants_grad;
        call->learns = call->learns || call->wanted[i];
        for (int n = 0; n < CUSTOM_RANK; n++) {
            s->dim[i * CUSTOM_RANK + n] = (int32_t)t->shape[n];
        }
    }
}

cla_status cla_custom_inputs_place(custom_call *call, cla_runtime *rt)
{
    const cla_tensor *q = call->attention.q;
    const bool sums = cla_tiled(rt) || call->code->adds; // over the keys of a query
    int64_t slice = 0;
    for (int i = 0; i < CLA_CUSTOM_INPUTS && call->input[i]; i++) {
        const int64_t *shape = call->input[i]->shape;
        const int row = call->code->own[i];
        call->direct[i] = sums && row >= 0 && shape[row] == q->shape[0] &&
                          shape[1 - row] == q->shape[1];
        if (call->wanted[i] && !call->direct[i]) {
            call->args.start[i] = (int32_t)slice;
            slice += cla_size(call->input[i]);
        }
        if (slice > INT32_MAX) {
            return cla_fail(CLA_E_SHAPE, "%s: inputs hold more than 2^31 numbers", OP);
        }
    }
    call->args.slice = (int32_t)slice;
    return CLA_OK;
}
