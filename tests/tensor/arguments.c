/* arguments.c - a wrong argument in each place of each public function. */
#include "tensor/arguments.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/support.h"
#include "tensor/tensor.h"

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

/* Frees what the last call has made, if it did. */
static void give_back(arguments *a)
{
    for (int i = 0; i < 4; i++) {
        if (a->tensors[i] && a->tensors[i] != a->tensor && !a->tensors[i]->tape) {
            cla_tensor_free(&a->tensors[i]);
        }
        a->tensors[i] = a->tensor;
    }
    cla_runtime_free(&a->made);
    cla_tape_free(&a->made_tape);
    cla_ragged_free(&a->made_rows);
    cla_devices_free(&a->devices);
    cla_parameters_free(&a->parameters);
    cla_quatrain_free(&a->poem);
    cla_model_free(&a->model);
}

void call_next(arguments *a, const char *function, const char *name, const char *what)
{
    give_back(a);
    a->function = function;
    a->name = name;
    a->what = what;
    a->status = CLA_E_USAGE; // stays, where a function has none
    a->calls++;
    snprintf(current, sizeof current, "%s: %s %s", function, name, what);
    cla_fail(CLA_OK, "nothing");
}

void call_refused(arguments *a, cla_status status)
{
    char want[128];
    snprintf(want, sizeof want, "%s%s %s", *a->name ? ": " : "", a->name, a->what);
    cr_expect(status == CLA_E_USAGE, "%s: status %d", current, (int)status);
    cr_expect(strstr(cla_error(), want) && !strchr(cla_error(), '\n'), "%s: says '%s'",
              current, cla_error());
    a->refused++;
}

void call_unknown(arguments *a, const char *function, const char *name, int value)
{
    static char what[64];
    snprintf(what, sizeof what, "is %d, must be 0 to", value);
    call_next(a, function, name, what);
}

void call_unknown_refused(arguments *a)
{
    const char *word = a->function + strlen("cla_");
    call_refused(a, a->status);
    cr_expect(!strncmp(cla_error(), word, strlen(word)), "%s: says '%s'", current,
              cla_error());
    cr_expect_eq(cla_runtime_schedule(a->rt), a->schedule);
}

void call_known(arguments *a)
{
    cr_expect_null(strstr(cla_error(), a->what), "%s: says '%s'", current, cla_error());
    cla_runtime_set_schedule(a->rt, CLA_SCHEDULE_AUTO);
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

/* A structure whose members must be set is refused as {0}, by the name of a member;
 * options are plain then (structures of options in the calls above). */
DEVICE_TEST(arguments, zeroed_structures_are_refused)
{
    cla_tensor *x = NULL, *heads = NULL, *y = NULL;
    cla_ragged *r = NULL;
    cla_tape *t = NULL;
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 2, (int64_t[]){ 2, 2 }));
    TEST_OK(cla_tensor_new(&heads, rt, CLA_F32, 3, (int64_t[]){ 2, 1, 2 }));
    TEST_OK(cla_ragged_new(&r, rt, 1, (int32_t[]){ 0, 2 }));
    TEST_OK(cla_tape_new(&t, rt, true));
    TEST_FAILS(cla_hard_project(t, &y, x, &(cla_hard_projector){ 0 }, false),
               CLA_E_USAGE, "w is NULL");
    TEST_FAILS(cla_gaussian_attention(t, &y, heads, heads, heads, &(cla_gaussian){ 0 },
                                      r, NULL),
               CLA_E_USAGE, "sigma is NULL");
    TEST_FAILS(cla_gru(t, &y, x, &(cla_gru_weights){ 0 }, r, NULL), CLA_E_USAGE,
               "w_g is NULL");
    TEST_FAILS(cla_sru(t, &y, x, &(cla_sru_weights){ 0 }, r, NULL), CLA_E_USAGE,
               "w is NULL");
    TEST_FAILS(cla_adam(rt, x, x, x, x, 1, &(cla_adam_options){ 0 }), CLA_E_USAGE,
               "eps is 0");
    TEST_OK(cla_custom_attention(t, &y, heads, heads, heads, r, r,
                                 &(cla_attention_mod){ 0 }, NULL));
    cla_tape_free(&t);
    cla_tensor_free(&x);
    cla_tensor_free(&heads);
    cla_ragged_free(&r);
}

/* Opens a runtime on a device of another platform; without one on any device. */
static cla_runtime *open_other(const cla_runtime *rt)
{
    cla_device *list = NULL;
    cla_runtime *other = NULL;
    char choice[24];
    int count = 0;
    TEST_OK(cla_devices(&list, &count));
    for (int i = 0; i < count && !other; i++) {
        snprintf(choice, sizeof choice, "%d", i);
        if (list[i].platform != cla_runtime_device(rt)->platform &&
            cla_runtime_new(&other, choice)) {
            other = NULL; // this driver does not work
        }
    }
    cla_devices_free(&list);
    if (!other) TEST_OK(cla_runtime_new(&other, NULL));
    return other;
}

static void find_opencl(cla_runtime *rt, cla_tensor *t, cl_context *context,
                        cl_command_queue *queue, cl_mem *buffer)
{
    *queue = cla_runtime_cl_queue(rt);
    *buffer = cla_tensor_buffer(t);
    cr_assert_eq(
        clGetMemObjectInfo(*buffer, CL_MEM_CONTEXT, sizeof *context, context, NULL),
        CL_SUCCESS);
}

static void make_others(arguments *a)
{
    others *o = &a->other;
    o->rt = open_other(a->rt);
    TEST_OK(cla_tensor_new(&o->tensor, o->rt, CLA_I32, 2, a->shape));
    TEST_OK(cla_tape_new(&o->tape, o->rt, true));
    TEST_OK(cla_ragged_new(&o->rows, o->rt, 2, a->offsets));
    find_opencl(o->rt, o->tensor, &o->context, &o->queue, &o->buffer);
    for (int i = 0; i < 4; i++) {
        o->tensors[i] = o->tensor;
    }
}

static arguments make_arguments(void)
{
    arguments a = { .shape = { 2, 2 }, .offsets = { 0, 1, 2 } };
    const struct sigaction named = { .sa_handler = name_call };
    sigaction(SIGSEGV, &named, NULL);
    a.rt = test_runtime();
    a.schedule = cla_runtime_schedule(a.rt);
    a.zeros = calloc(1, 4096);
    for (int i = 0; i < 4; i++) {
        a.texts[i] = "1";
    }
    TEST_OK(cla_tensor_new(&a.tensor, a.rt, CLA_I32, 2, a.shape));
    TEST_OK(cla_tensor_new(&a.levels, a.rt, CLA_F32, 1, a.shape));
    TEST_OK(cla_tape_new(&a.tape, a.rt, true));
    TEST_OK(cla_ragged_new(&a.rows, a.rt, 2, a.offsets));
    TEST_OK(cla_parameters_new(&a.set, a.rt));
    find_opencl(a.rt, a.tensor, &a.context, &a.queue, &a.buffer);
    return a;
}

static void free_arguments(arguments *a)
{
    give_back(a);
    cla_tape_free(&a->tape);
    cla_tape_free(&a->other.tape);
    cla_tensor_free(&a->tensor);
    cla_tensor_free(&a->levels);
    cla_tensor_free(&a->other.tensor);
    cla_ragged_free(&a->rows);
    cla_ragged_free(&a->other.rows);
    cla_parameters_free(&a->set);
    cla_runtime_free(&a->rt);
    cla_runtime_free(&a->other.rt);
    free(a->zeros);
}

Test(arguments, every_null_is_refused_or_harmless)
{
    arguments a = make_arguments();
    call_nulls(&a);
    cr_expect(a.refused > 200 && a.calls > a.refused + 40, "%d calls, %d refused",
              a.calls, a.refused);
    free_arguments(&a);
}

Test(arguments, every_unknown_value_of_an_enum_is_refused)
{
    arguments a = make_arguments();
    call_enums(&a);
    cr_expect(a.refused >= 17 * 5 && a.calls >= a.refused + 17 * 2,
              "%d calls, %d refused", a.calls, a.refused);
    free_arguments(&a);
}

/* Two runtimes on two drivers, where the machine has them, or on one. */
Test(arguments, everything_of_another_runtime_is_refused)
{
    arguments a = make_arguments();
    make_others(&a);
    call_foreign(&a);
    cr_expect(a.refused > 180 && a.calls == a.refused, "%d calls, %d refused", a.calls,
              a.refused);
    cr_expect_not(a.other.rows->kept);
    free_arguments(&a);
}
