/* arguments.h - what the calls of arguments.py are made with. */
#pragma once

#include "clattn/clattn.h"
#include "clattn/model.h"
#include "clattn/opencl.h"
#include "clattn/parameters.h"

typedef struct arguments {
    cla_runtime *rt, *made;
    cla_tape *tape, *made_tape;
    cla_tensor *tensor;     // [2,2] i32: no operator takes it, so that none runs
    cla_tensor *tensors[4]; // of the same, or results
    cla_ragged *rows, *made_rows;
    cla_device *devices;
    cla_model *model;
    cla_parameters *parameters;
    cla_quatrain *poem;
    cl_context context;
    cl_command_queue queue;
    cl_mem buffer;
    const char *texts[4];
    int64_t shape[4];
    int32_t offsets[4];
    void *zeros; // options, weights, numbers
    const char *function, *missing;
    int calls, refused;
} arguments;

/* Every public function with each pointer NULL in turn, written by arguments.py. */
void call_all(arguments *a);

/* Says which call comes next. */
void call_next(arguments *a, const char *function, const char *missing);
/* Fails the test unless the call gave CLA_E_USAGE and a line that names the pointer. */
void call_refused(arguments *a, cla_status status);
/* Fails the test unless the call has set its result to NULL. */
void call_emptied(arguments *a);
