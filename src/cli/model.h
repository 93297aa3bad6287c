/* model.h - a trained run on a device, for commands that use a model. */
#pragma once

#include "clattn/model.h"
#include "train/weights.h"

typedef struct cli_model {
    cla_runtime *rt;
    cla_model *model;
} cli_model;

/* The values of --weights and --compute. */
typedef struct cli_weights {
    const char *bits, *compute;
} cli_weights;

#define CLI_WEIGHTS(type, member)                                                    \
    { "weights",                                                                     \
      'W',                                                                           \
      "BITS",                                                                        \
      "hold matrices on the device as float32, float16 or int8 (as the state has "   \
      "them)",                                                                       \
      CLI_TEXT,                                                                      \
      .at = offsetof(type, member) + offsetof(cli_weights, bits),                    \
      .choices = CLA_WEIGHTS_NAMES },                                                \
    {                                                                                \
        "compute", 'Q', "TYPE",                                                      \
            "multiply matrices of int8 as float32 or int8, to which rows are then "  \
            "rounded (float32)",                                                     \
            CLI_TEXT, .at = offsetof(type, member) + offsetof(cli_weights, compute), \
                      .choices = CLA_COMPUTE_NAMES                                   \
    }

/* Parses them. Errors: CLA_E_USAGE. */
cla_status cli_weights_read(const cli_weights *w, cla_model_options *options);

/* Opens the device and loads the run in folder on it. Unless kind is NULL the run must
 * be of that kind; wants ends the message otherwise: "tag needs a tagger". Close m in
 * any case. Errors: CLA_E_USAGE, those of cla_runtime_new and cla_model_open. */
cla_status cli_model_open(cli_model *m, const char *device, const char *folder,
                          const cli_weights *weights, const char *kind,
                          const char *wants);
void cli_model_close(cli_model *m);

#define CLI_WORKERS(type, member, standard)                                   \
    {                                                                         \
        "workers", 'j', "N",                                                  \
            "work with N copies of the model, each on a share of the device " \
            "(" standard ")",                                                 \
            CLI_INT, .at = offsetof(type, member), .low = 1, .high = 256      \
    }

/* Gives a model the workers of --workers (0: as many as suit the device). Errors: those
 * of cla_model_hire. */
cla_status cli_model_hire(cla_model *model, int count);

/* Warns if translations were cut at the longest length, cut of n; extra and most are
 * those of cla_translate_options. */
void cli_tell_cut(int extra, int most, size_t cut, size_t n);
