/* model.h - a trained run on a device, for commands that use a model. */
#pragma once

#include "clattn/runtime.h"
#include "train/task.h"

typedef struct cli_model {
    cla_runtime *rt;
    cla_task *task;
} cli_model;

#define CLI_WEIGHTS(type, member)                                                    \
    {                                                                                \
        "weights", 'W', "BITS",                                                      \
            "hold matrices on the device as float32, float16 or int8 (as the state " \
            "has "                                                                   \
            "them)",                                                                 \
            CLI_TEXT, .at = offsetof(type, member), .choices = CLA_WEIGHTS_NAMES     \
    }

/* Opens the device and loads the run in folder on it. Unless kind is NULL the run must
 * be of that kind; wants ends the message otherwise: "tag needs a tagger". Close m in
 * any case. Errors: CLA_E_USAGE, those of cla_runtime_new and cla_task_load. */
cla_status cli_model_open(cli_model *m, const char *device, const char *folder,
                          const char *weights, const cla_task_kind *kind,
                          const char *wants);
void cli_model_close(cli_model *m);

#define CLI_WORKERS(type, member, standard)                                   \
    {                                                                         \
        "workers", 'j', "N",                                                  \
            "work with N copies of the model, each on a share of the device " \
            "(" standard ")",                                                 \
            CLI_INT, .at = offsetof(type, member), .low = 1, .high = 256      \
    }

/* Copies of a model, each on a share of its device. */
typedef struct cli_workers {
    cli_model *model; // [count]
    cla_task **task;  // [count] their tasks
    int count;
} cli_workers;

/* Returns the number of workers that suits a model's device: on a CPU one for each
 * core, at most 8 and no more than half of its memory holds; otherwise 1. */
int cli_workers_fit(const cli_model *m);
/* Opens count copies of a model from its folder, all at the same time. One worker is
 * not a copy but the model itself. Close w in any case, before the model.
 * Errors: CLA_E_USAGE (more than the device's compute units), CLA_E_NOMEM, those of
 * cla_runtime_share and cla_task_load. */
cla_status cli_workers_open(cli_workers *w, int count, const cli_model *of,
                            const char *folder, const char *weights);
void cli_workers_close(cli_workers *w);
