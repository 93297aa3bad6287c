/* arguments.h - what the calls of arguments.py are made with. */
#pragma once

#include "clattn/clattn.h"
#include "clattn/model.h"
#include "clattn/opencl.h"
#include "clattn/parameters.h"

/* What belongs to another runtime. */
typedef struct others {
    cla_runtime *rt;
    cla_tape *tape;
    cla_tensor *tensor, *tensors[4];
    cla_ragged *rows;
    cl_context context;
    cl_command_queue queue;
    cl_mem buffer;
} others;

typedef struct arguments {
    cla_runtime *rt, *made;
    cla_tape *tape, *made_tape;
    cla_tensor *tensor;     // [2,2] i32: no operator takes it, so that none runs
    cla_tensor *tensors[4]; // of the same, or results
    cla_tensor *levels;     // [2] f32
    cla_ragged *rows, *made_rows;
    cla_device *devices;
    cla_model *model;
    cla_parameters *set, *parameters;
    cla_quatrain *poem;
    cl_context context;
    cl_command_queue queue;
    cl_mem buffer;
    others other;
    const char *texts[4];
    int64_t shape[4];
    int32_t offsets[4];
    void *zeros; // options, weights, numbers
    const char *function, *name, *what;
    cla_status status;
    cla_schedule schedule; // of rt
    int calls, refused;
} arguments;

/* Every public function with one argument wrong in turn, written by arguments.py: each
 * pointer NULL; each enum with values that it has not, and with those that it has; each
 * tensor and its like of another runtime. */
void call_nulls(arguments *a);
void call_enums(arguments *a);
void call_foreign(arguments *a);

/* Says which call comes next, the argument's name ("" for any), and what a refusal says
 * of it. */
void call_next(arguments *a, const char *function, const char *name, const char *what);
/* Fails the test unless the call gave CLA_E_USAGE and a line that names the function,
 * the argument, and what is wrong. */
void call_refused(arguments *a, cla_status status);
/* The same of an enum with this value. Functions without a status set the text
 * alone. */
void call_unknown(arguments *a, const char *function, const char *name, int value);
void call_unknown_refused(arguments *a);
/* Fails the test if the call refused the value. */
void call_known(arguments *a);
/* Fails the test unless the call has set its result to NULL. */
void call_emptied(arguments *a);
