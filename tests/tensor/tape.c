/* tape.c - the tape of a step: gradients add, results end with the step, misuse is an
 * error. */
#include <stdlib.h>
#include <string.h>

#include "support/support.h"
#include "tensor/tensor.h"

typedef struct step {
    cla_runtime *rt;
    cla_tape *tape;
    cla_tensor *x;
} step;

static step new_step(bool training)
{
    step s = { .rt = test_runtime() };
    const float x[6] = { 1, 2, 3, 0, 0, 1 };
    TEST_OK(cla_tensor_new(&s.x, s.rt, CLA_F32, 4, (int64_t[]){ 1, 1, 2, 3 }));
    TEST_OK(cla_tensor_upload(s.x, x));
    cla_tensor_want_grad(s.x, true);
    TEST_OK(cla_tape_new(&s.tape, s.rt, training));
    return s;
}

static void end_step(step *s)
{
    cla_tape_free(&s->tape);
    cla_tensor_free(&s->x);
    cla_runtime_free(&s->rt);
}

/* x feeds two ops, whose gradients add up in dx. A third op without a gradient adds
 * nothing. */
Test(tape, gradients_of_all_uses_add)
{
    step s = new_step(true);
    cla_tensor *a = NULL, *b = NULL, *c = NULL, *dy = NULL;
    const float one_hot[6] = { 1, 0, 0, 0, 1, 0 };
    TEST_OK(cla_tensor_new(&dy, s.rt, CLA_F32, 4, s.x->shape));
    TEST_OK(cla_tensor_upload(dy, one_hot));
    float single[6], all[6];
    TEST_OK(cla_masked_softmax(s.tape, &a, s.x, NULL, NULL, false));
    TEST_OK(cla_tape_seed(s.tape, a, dy));
    TEST_OK(cla_tape_backward(s.tape));
    TEST_OK(cla_tensor_download(cla_tensor_grad(s.x), single));
    cla_tape_reset(s.tape);
    cla_tensor_clear_grad(s.x);
    cr_assert_null(cla_tensor_grad(s.x));
    TEST_OK(cla_masked_softmax(s.tape, &a, s.x, NULL, NULL, false));
    TEST_OK(cla_masked_softmax(s.tape, &b, s.x, NULL, NULL, false));
    TEST_OK(cla_masked_softmax(s.tape, &c, b, NULL, NULL, false)); // no seed
    TEST_OK(cla_tape_seed(s.tape, a, dy));
    TEST_OK(cla_tape_seed(s.tape, b, dy));
    TEST_OK(cla_tape_backward(s.tape));
    TEST_OK(cla_tensor_download(cla_tensor_grad(s.x), all));
    for (int i = 0; i < 6; i++) {
        cr_assert_float_eq(all[i], 2 * single[i], 1e-6);
    }
    cla_tensor_free(&dy);
    end_step(&s);
}

Test(tape, inference_records_nothing)
{
    step s = new_step(false);
    cla_tensor *y = NULL;
    TEST_OK(cla_masked_softmax(s.tape, &y, s.x, NULL, NULL, false));
    cr_assert_not(y->wants_grad);
    TEST_FAILS(cla_tape_backward(s.tape), CLA_E_USAGE, "without training");
    end_step(&s);
}

/* A pass without a seed, and a second pass, would leave gradients as they are. */
Test(tape, backward_needs_a_seed)
{
    step s = new_step(true);
    cla_tensor *y = NULL;
    TEST_FAILS(cla_tape_backward(s.tape), CLA_E_USAGE, "nothing was seeded");
    TEST_OK(cla_masked_softmax(s.tape, &y, s.x, NULL, NULL, false));
    TEST_FAILS(cla_tape_backward(s.tape), CLA_E_USAGE, "nothing was seeded");
    cr_assert_null(cla_tensor_grad(s.x));
    for (int pass = 0; pass < 2; pass++) {
        TEST_OK(cla_tape_seed(s.tape, y, NULL));
        TEST_OK(cla_tape_backward(s.tape));
        TEST_FAILS(cla_tape_backward(s.tape), CLA_E_USAGE,
                   "since the last backward pass");
        cla_tape_reset(s.tape);
        TEST_OK(cla_masked_softmax(s.tape, &y, s.x, NULL, NULL, false));
        TEST_FAILS(cla_tape_backward(s.tape), CLA_E_USAGE, "on this tape");
    }
    end_step(&s);
}

/* Two losses of one tape, each with a pass of its own: as one pass where they share
 * nothing, refused where the second's gradient would end at what the first has run. */
Test(tape, passes_share_no_steps)
{
    step s = new_step(true);
    cla_tensor *a = NULL, *b = NULL, *c = NULL;
    TEST_OK(cla_masked_softmax(s.tape, &a, s.x, NULL, NULL, false));
    TEST_OK(cla_masked_softmax(s.tape, &c, a, NULL, NULL, false));
    TEST_OK(cla_tape_seed(s.tape, c, s.x));
    TEST_OK(cla_tape_backward(s.tape));
    TEST_OK(cla_masked_softmax(s.tape, &b, s.x, NULL, NULL, false));
    TEST_OK(cla_tape_seed(s.tape, b, s.x));
    TEST_OK(cla_tape_backward(s.tape));
    TEST_OK(cla_masked_softmax(s.tape, &b, a, NULL, NULL, false));
    TEST_OK(cla_tape_seed(s.tape, b, s.x));
    TEST_FAILS(cla_tape_backward(s.tape), CLA_E_USAGE, "have run backward already");
    cla_tape_reset(s.tape);
    TEST_OK(cla_masked_softmax(s.tape, &a, s.x, NULL, NULL, false));
    TEST_OK(cla_masked_softmax(s.tape, &b, a, NULL, NULL, false));
    TEST_OK(cla_tape_seed(s.tape, a, s.x));
    TEST_OK(cla_tape_backward(s.tape));
    TEST_FAILS(cla_tape_seed(s.tape, b, s.x), CLA_E_USAGE, "have run backward already");
    end_step(&s);
}

/* The same for operators with several results. */
Test(tape, passes_share_no_steps_of_several_results)
{
    step s = new_step(true);
    cla_tensor *x = NULL, *v = NULL, *out = NULL, *scores = NULL, *twice = NULL;
    cla_ragged *rows = NULL;
    TEST_OK(cla_tensor_new(&x, s.rt, CLA_F32, 2, (int64_t[]){ 3, 1 }));
    TEST_OK(cla_tensor_new(&v, s.rt, CLA_F32, 1, (int64_t[]){ 1 }));
    TEST_OK(cla_tensor_fill(x, 1));
    TEST_OK(cla_tensor_fill(v, 1));
    cla_tensor_want_grad(x, true);
    TEST_OK(cla_ragged_new(&rows, s.rt, 1, (int32_t[]){ 0, 3 }));
    const cla_additive_options options = { .scores = &scores };
    TEST_OK(cla_additive_attention(s.tape, &out, x, x, v, x, rows, rows, &options));
    TEST_OK(cla_tape_seed(s.tape, out, NULL));
    TEST_OK(cla_tape_backward(s.tape));
    TEST_OK(cla_add(s.tape, &twice, scores, scores));
    TEST_OK(cla_tape_seed(s.tape, twice, NULL));
    TEST_FAILS(cla_tape_backward(s.tape), CLA_E_USAGE, "have run backward already");
    cla_tape_reset(s.tape);
    cla_tensor_free(&x);
    cla_tensor_free(&v);
    cla_ragged_free(&rows);
    end_step(&s);
}

/* A result of another tape would have its gradient, and nothing would follow. */
Test(tape, seeds_are_its_own)
{
    step s = new_step(true);
    cla_tape *other = NULL;
    cla_tensor *y = NULL;
    TEST_OK(cla_tape_new(&other, s.rt, true));
    TEST_OK(cla_masked_softmax(other, &y, s.x, NULL, NULL, false));
    TEST_FAILS(cla_tape_seed(s.tape, y, NULL), CLA_E_USAGE, "of another tape");
    cla_tape_free(&other);
    end_step(&s);
}

Test(tape, refuses_bad_seeds)
{
    step s = new_step(true);
    cla_tensor *y = NULL, *small = NULL;
    TEST_OK(cla_tape_tensor(s.tape, &small, CLA_F32, 1, (int64_t[]){ 2 }));
    TEST_OK(cla_masked_softmax(s.tape, &y, s.x, NULL, NULL, false));
    TEST_FAILS(cla_tape_seed(s.tape, y, small), CLA_E_SHAPE,
               "dy is [2], must be [1,1,2,3]");
    TEST_OK(cla_tape_seed(s.tape, y, NULL));
    TEST_FAILS(cla_tape_seed(s.tape, y, NULL), CLA_E_USAGE,
               "or has a gradient already");
    end_step(&s);
}

Test(tape, columns_refuse_what_does_not_fit)
{
    step s = new_step(true);
    cla_tensor *wide = NULL, *view = NULL;
    TEST_OK(cla_tape_tensor(s.tape, &wide, CLA_F32, 2, (int64_t[]){ 4, 12 }));
    TEST_FAILS(cla_tensor_columns(s.tape, &view, s.x, 0, 1, 1), CLA_E_SHAPE, "[N,C]");
    TEST_FAILS(cla_tensor_columns(s.tape, &view, wide, 5, 2, 4), CLA_E_SHAPE,
               "2 heads of 4 from column 5 of [4,12]");
    TEST_FAILS(cla_tensor_columns(s.tape, &view, wide, -1, 1, 1), CLA_E_SHAPE,
               "column -1");
    cr_assert_null(view);
    TEST_OK(cla_tensor_columns(s.tape, &view, wide, 4, 2, 4));
    TEST_FAILS(cla_tensor_upload(view, NULL), CLA_E_SHAPE, "column view");
    end_step(&s);
}

/* A tape keeps rows until its reset, even when their maker frees them. */
Test(tape, keeps_rows)
{
    step s = new_step(true);
    cla_ragged *rows = NULL, *same;
    cla_tensor *x = NULL, *w = NULL, *y = NULL;
    const int64_t shape[] = { 3, 1 };
    float got[3];
    TEST_OK(cla_tensor_new(&x, s.rt, CLA_F32, 2, shape));
    TEST_OK(cla_tensor_new(&w, s.rt, CLA_F32, 2, shape));
    cla_tensor_want_grad(x, true);
    TEST_OK(cla_tensor_fill(w, 1));
    TEST_OK(cla_tensor_fill(x, 1));
    for (int i = 0; i < 2; i++) {
        TEST_OK(cla_ragged_new(&rows, s.rt, 2, (int32_t[]){ 0, 1, 3 }));
        same = rows;
        cla_tape_keep(s.tape, rows);
        cla_tape_keep(s.tape, rows); // a second time has no effect
        cla_ragged_free(&rows);
        cr_assert_null(rows);
        TEST_OK(cla_depthwise_conv1d(s.tape, &y, x, w, same));
        TEST_OK(cla_tape_seed(s.tape, y, NULL));
        TEST_OK(cla_tape_backward(s.tape));
        TEST_OK(cla_tensor_download(cla_tensor_grad(x), got));
        cr_assert(got[0] == 1 && got[1] == 2 && got[2] == 2);
        cla_tensor_clear_grad(x);
        cla_tape_reset(s.tape);
    }
    cla_tensor_free(&x);
    cla_tensor_free(&w);
    end_step(&s);
}

/* Random streams differ between the ops of a step and repeat when the step repeats. */
Test(tape, random_streams)
{
    step s = new_step(true);
    cla_tape_random(s.tape, 7, 3);
    const cla_stream a = cla_tape_stream(s.tape), b = cla_tape_stream(s.tape);
    cr_assert(a.seed == 7 && a.step == 3 && a.stream != b.stream);
    cla_tape_reset(s.tape);
    const cla_stream again = cla_tape_stream(s.tape);
    cr_assert_eq(memcmp(&a, &again, sizeof a), 0);
    end_step(&s);
}

/* A reshape shares numbers and gradient; columns of a reshape refer to the first
 * tensor. */
Test(tape, reshape_shares_the_gradient)
{
    step s = new_step(true);
    cla_tensor *flat = NULL, *back = NULL, *y = NULL, *cut = NULL;
    float want[6], got[6];
    TEST_OK(cla_masked_softmax(s.tape, &y, s.x, NULL, NULL, false));
    const float one_hot[6] = { 1, 0, 0, 0, 1, 0 };
    cla_tensor *dy = NULL;
    TEST_OK(cla_tensor_new(&dy, s.rt, CLA_F32, 4, s.x->shape));
    TEST_OK(cla_tensor_upload(dy, one_hot));
    TEST_OK(cla_tape_seed(s.tape, y, dy));
    TEST_OK(cla_tape_backward(s.tape));
    TEST_OK(cla_tensor_download(cla_tensor_grad(s.x), want));
    cla_tape_reset(s.tape);
    cla_tensor_clear_grad(s.x);
    TEST_OK(cla_tensor_reshape(s.tape, &flat, s.x, 2, (int64_t[]){ 2, 3 }));
    TEST_OK(cla_tensor_reshape(s.tape, &back, flat, 4, s.x->shape));
    TEST_OK(cla_masked_softmax(s.tape, &y, back, NULL, NULL, false));
    TEST_OK(cla_tape_seed(s.tape, y, dy));
    TEST_OK(cla_tape_backward(s.tape));
    TEST_OK(cla_tensor_download(cla_tensor_grad(s.x), got));
    cr_assert_eq(memcmp(want, got, sizeof want), 0);
    TEST_OK(cla_tensor_columns(s.tape, &cut, flat, 1, 1, 2));
    TEST_OK(cla_masked_softmax(s.tape, &y, back, NULL, NULL, false)); // a step to run
    cla_tensor *grad = NULL;
    int add = 0;
    TEST_OK(cla_grad_out(s.tape, cut, &grad, &add));
    cr_assert(add == 1 && grad->offset == 1 && grad->stride == 3);
    TEST_FAILS(cla_tensor_reshape(s.tape, &back, cut, 1, (int64_t[]){ 4 }), CLA_E_SHAPE,
               "column view [2,1,2] cannot become [4]");
    TEST_FAILS(cla_tensor_reshape(s.tape, &back, flat, 1, (int64_t[]){ 5 }),
               CLA_E_SHAPE, "[2,3] cannot become [5]");
    cla_tensor_free(&dy);
    end_step(&s);
}

/* A view whose tensor wants no gradient any more is an error of the caller. */
Test(tape, view_without_gradient_of_its_base)
{
    step s = new_step(true);
    cla_tensor *view = NULL, *y = NULL;
    TEST_OK(cla_tensor_reshape(s.tape, &view, s.x, 4, s.x->shape));
    TEST_OK(cla_masked_softmax(s.tape, &y, view, NULL, NULL, false));
    cla_tensor_want_grad(s.x, false);
    TEST_OK(cla_tape_seed(s.tape, y, NULL));
    TEST_FAILS(cla_tape_backward(s.tape), CLA_E_USAGE, "its base wants no gradient");
    end_step(&s);
}

/* Running backward to a mark, then on with later ops, gives the gradients of one
 * pass. */
Test(tape, goes_back_in_parts)
{
    float whole[6], parts[6];
    step s = new_step(true);
    for (int part = 0; part < 2; part++) {
        cla_tensor *a = NULL, *b = NULL, *c = NULL;
        TEST_OK(cla_masked_softmax(s.tape, &a, s.x, NULL, NULL, false));
        const size_t mark = cla_tape_mark(s.tape);
        TEST_OK(cla_masked_softmax(s.tape, &b, a, NULL, NULL, false));
        TEST_OK(cla_tape_seed(s.tape, b, s.x));
        if (part) {
            TEST_OK(cla_tape_backward_to(s.tape, mark));
            cr_assert_eq(cla_tape_mark(s.tape), mark);
            cr_assert_not_null(cla_tensor_grad(a));
            cr_assert_null(cla_tensor_grad(s.x));
        }
        TEST_OK(cla_add(s.tape, &c, a, a));
        TEST_OK(cla_tape_seed(s.tape, c, s.x));
        TEST_OK(cla_tape_backward(s.tape));
        TEST_OK(cla_tensor_download(cla_tensor_grad(s.x), part ? parts : whole));
        cla_tape_reset(s.tape);
        cla_tensor_clear_grad(s.x);
    }
    for (int i = 0; i < 6; i++) { // two sums of three numbers, in either order
        cr_assert_float_eq(parts[i], whole[i], 1e-6);
    }
    cr_assert(parts[0] != 0);
    end_step(&s);
}
