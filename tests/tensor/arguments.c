/* arguments.c - NULL for each pointer of each public function. */
#include "tensor/arguments.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/support.h"

static char current[128];

/* Names the call that crashed. */
static void name_call(int number)
{
    static const char before[] = "\ncrash in ";
    (void)number;
    (void)!write(STDERR_FILENO, before, sizeof before - 1);
    (void)!write(STDERR_FILENO, current, strlen(current));
    (void)!write(STDERR_FILENO, "\n", 1);
    _exit(1);
}

static void give_back(arguments *a)
{
    cla_runtime_free(&a->made);
    cla_tape_free(&a->made_tape);
    cla_ragged_free(&a->made_rows);
    cla_devices_free(&a->devices);
    cla_parameters_free(&a->parameters);
    cla_quatrain_free(&a->poem);
    cla_model_free(&a->model);
}

void call_next(arguments *a, const char *function, const char *missing)
{
    give_back(a);
    for (int i = 0; i < 4; i++) {
        a->tensors[i] = a->tensor;
    }
    a->function = function;
    a->missing = missing;
    a->calls++;
    snprintf(current, sizeof current, "%s: %s is NULL", function, missing);
}

void call_refused(arguments *a, cla_status status)
{
    char want[128];
    snprintf(want, sizeof want, ": %s is NULL", a->missing);
    cr_expect(status == CLA_E_USAGE, "%s: status %d", current, (int)status);
    cr_expect(strstr(cla_error(), want) && !strchr(cla_error(), '\n'), "%s: says '%s'",
              current, cla_error());
    a->refused++;
}

void call_emptied(arguments *a)
{
    cr_expect_null(a->tensors[0], "%s: left a result", current);
}

/* Options whose reserved fields are not 0 are refused. */
DEVICE_TEST(arguments, options_are_zeroed)
{
    cla_tensor *x = NULL, *heads = NULL, *w = NULL, *y = NULL;
    cla_ragged *r = NULL;
    cla_tape *t = NULL;
    const int64_t shape[] = { 2, 2 };
    static const char part[] = "options.reserved is not 0";
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 2, shape));
    TEST_OK(cla_tensor_new(&heads, rt, CLA_F32, 3, (int64_t[]){ 2, 1, 2 }));
    TEST_OK(cla_tensor_new(&w, rt, CLA_F32, 1, shape));
    TEST_OK(cla_ragged_new(&r, rt, 1, (int32_t[]){ 0, 2 }));
    TEST_OK(cla_tape_new(&t, rt, true));
    const cla_attention_options plain = { .reserved = { 1 } };
    TEST_FAILS(cla_attention(t, &y, heads, heads, heads, r, r, &plain), CLA_E_USAGE,
               part);
    const cla_ham_options ham = { .reserved = { 0, 1 } };
    TEST_FAILS(cla_ham_v(t, &y, x, x, w, r, r, &ham), CLA_E_USAGE, part);
    const cla_additive_options additive = { .reserved = { 0, 0, 1 } };
    TEST_FAILS(cla_additive_attention(t, &y, x, x, w, x, r, r, &additive), CLA_E_USAGE,
               part);
    const cla_pointer_options pointer = { .reserved = { 0, 0, 0, 1 } };
    TEST_FAILS(cla_ragged_cross_entropy(t, &y, w, w, r, &pointer), CLA_E_USAGE, part);
    const cla_hard_options hard = { .reserved = { 1 } };
    TEST_FAILS(cla_hard_attention(t, &y, x, x, x, r, r, &hard), CLA_E_USAGE, part);
    const cla_reinforce_options reinforce = { .reserved = { 1 } };
    TEST_FAILS(cla_reinforce(t, &y, w, w, w, r, r, &reinforce), CLA_E_USAGE, part);
    const cla_recurrent_options recurrent = { .reserved = { 1 } };
    TEST_FAILS(cla_lstm(t, &y, x, x, NULL, r, &recurrent), CLA_E_USAGE, part);
    const cla_adam_options adam = { .reserved = { 1 } };
    TEST_FAILS(cla_adam(rt, x, x, x, x, 1, &adam), CLA_E_USAGE, part);
    cla_tape_free(&t);
    cla_tensor_free(&x);
    cla_tensor_free(&heads);
    cla_tensor_free(&w);
    cla_ragged_free(&r);
}

Test(arguments, every_null_is_refused_or_harmless)
{
    arguments a = { .shape = { 2, 2 }, .offsets = { 0, 1, 2 } };
    const struct sigaction named = { .sa_handler = name_call };
    sigaction(SIGSEGV, &named, NULL);
    a.rt = test_runtime();
    a.zeros = calloc(1, 4096);
    for (int i = 0; i < 4; i++) {
        a.texts[i] = "1";
    }
    TEST_OK(cla_tensor_new(&a.tensor, a.rt, CLA_I32, 2, a.shape));
    TEST_OK(cla_tape_new(&a.tape, a.rt, true));
    TEST_OK(cla_ragged_new(&a.rows, a.rt, 2, a.offsets));
    a.queue = cla_runtime_cl_queue(a.rt);
    a.buffer = cla_tensor_buffer(a.tensor);
    cr_assert_eq(clGetMemObjectInfo(a.buffer, CL_MEM_CONTEXT, sizeof a.context,
                                    &a.context, NULL),
                 CL_SUCCESS);
    call_all(&a);
    give_back(&a);
    cr_expect(a.refused > 200 && a.calls > a.refused + 40, "%d calls, %d refused",
              a.calls, a.refused);
    cla_tape_free(&a.tape);
    cla_tensor_free(&a.tensor);
    cla_ragged_free(&a.rows);
    cla_runtime_free(&a.rt);
    free(a.zeros);
}
