/* model.h - a trained run and the device it works on, for commands that use one. */
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

/* Opens the device, and the run in folder on it. Where kind is not NULL the run has to
 * be of that kind; wants then ends the message: "tag needs a tagger". Close it in any
 * case. Errors: CLA_E_USAGE, and those of both. */
cla_status cli_model_open(cli_model *m, const char *device, const char *folder,
                          const char *weights, const cla_task_kind *kind,
                          const char *wants);
void cli_model_close(cli_model *m);
