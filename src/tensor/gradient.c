/* gradient.c - where gradients of results and inputs lie, views among them. */
#include "tensor/tape.h"

cla_status cla_grad_make(const char *who, cla_tape *tape, cla_tensor *x)
{
    if (x->passed) {
        return cla_fail(CLA_E_USAGE,
                        "%s: the steps that made %s have run backward already: seed "
                        "all results first, or record the steps again",
                        who, cla_shape_text(x));
    }
    if (x->grad) {
        return CLA_OK;
    }
    if (x->tape) {
        return cla_tape_gradient(tape, x);
    }
    const cla_status status =
        cla_tensor_new(&x->grad, x->rt, CLA_F32, x->rank, x->shape);
    if (!status && x->grad) {
        x->grad->version = 0; // kernels write it
    }
    return status;
}

// NOLINTBEGIN(misc-no-recursion): as deep as views of views
/* Makes the gradient of a view, a view of the base's gradient. For columns a fresh one
 * is zeroed, since other columns may belong to no view. */
static cla_status view_grad(cla_tape *tape, cla_tensor *x, int *add)
{
    cla_tensor *whole = NULL;
    CLA_TRY(cla_grad_out(tape, x->base, &whole, add));
    if (!whole) {
        return cla_fail(CLA_E_USAGE, "backward: %s: its base wants no gradient",
                        cla_shape_text(x));
    }
    if (!cla_is_columns(x)) {
        return x->grad ? CLA_OK
                       : cla_tensor_reshape(tape, &x->grad, whole, x->rank, x->shape);
    }
    if (!*add) {
        CLA_TRY(cla_tensor_fill(whole, 0));
        *add = 1;
    }
    return x->grad ? CLA_OK
                   : cla_tensor_columns(tape, &x->grad, whole, x->offset, x->shape[1],
                                        x->shape[2]);
}

/* Returns whether x are column views of one tensor that hold each column once. */
static bool are_all_columns(cla_tensor *const *x, int n)
{
    int64_t width = 0;
    for (int i = 0; i < n; i++) {
        if (!x[i] || !x[i]->base || x[i]->base != x[0]->base || !cla_is_columns(x[i])) {
            return false;
        }
        const int64_t size = x[i]->shape[1] * x[i]->shape[2];
        for (int j = 0; j < i; j++) {
            const int64_t before = x[j]->shape[1] * x[j]->shape[2];
            if (x[i]->offset < x[j]->offset + before &&
                x[j]->offset < x[i]->offset + size) {
                return false;
            }
        }
        width += size;
    }
    return n && width == x[0]->stride;
}

cla_status cla_grad_all_columns(cla_tape *tape, int n, cla_tensor *const *x,
                                bool *fresh)
{
    cla_tensor *base = n && x[0] ? x[0]->base : NULL;
    *fresh = base && !base->base && base->wants_grad && !base->grad_filled &&
             are_all_columns(x, n);
    if (*fresh) {
        CLA_TRY(cla_grad_make("backward", tape, base));
        base->grad_filled = true;
    }
    return CLA_OK;
}

cla_status cla_grad_out(cla_tape *tape, cla_tensor *x, cla_tensor **grad, int *add)
{
    *grad = NULL;
    *add = 0;
    if (!x || !x->wants_grad) {
        return CLA_OK;
    }
    if (x->base) {
        CLA_TRY(view_grad(tape, x, add));
    } else {
        assert(cla_tape_first_use(tape, x) < cla_tape_mark(tape)); // else complete
        CLA_TRY(cla_grad_make("backward", tape, x));
        *add = x->grad_filled;
    }
    x->grad_filled = true;
    *grad = x->grad;
    return CLA_OK;
}
// NOLINTEND(misc-no-recursion)

const cla_tensor *cla_grad_in(const cla_tensor *y)
{
    return y->grad_filled ? y->grad : NULL;
}
