/* task.h - a system as the training loop uses it: data in, losses and scores out. */
#pragma once

#include "base/config.h"
#include "base/text.h"
#include "nn/param.h"
#include "train/weights.h"

typedef struct cla_task cla_task;

enum { METRICS = 16 };

/* The purpose for which a system is opened. dir is the run folder. */
typedef enum cla_task_mode {
    CLA_TASK_TRAINED, // use: vocabularies are read from dir
    CLA_TASK_NEW,     // training: they are made from the data and written to dir (NULL:
                      // nowhere, another process does)
    CLA_TASK_RESUMED, // more training: made again; an error when dir holds others
} cla_task_mode;

/* Scores of an evaluation. The first decides which checkpoint is best. */
typedef struct cla_metrics {
    int count;
    struct {
        const char *name; // "accuracy"
        double value;
    } row[METRICS];
} cla_metrics;

typedef struct cla_task_kind {
    const char *name;      // "model" in the config
    const char *unit;      // name of a step's targets: "words"
    const char *dev_split; // its score decides the best checkpoint
    bool higher_is_better;
    const char *baseline;     // name of the score that the first should exceed, or NULL
    size_t size;              // of the task's own struct, which begins with a cla_task
    const char *const *files; // required for inference, NULL-terminated
    const char *const *sometimes; // more files, which not all runs have; or NULL
    /* Reads settings, data and vocabularies and adds the parameters to task->params. */
    cla_status (*open)(cla_task *task, cla_config *settings, const char *dir,
                       cla_task_mode mode);
    /* Adds to settings the keys that are newer than the version which saved run (may be
     * the same object), with the values that it implied. NULL: there are none.
     * Errors: CLA_E_NOMEM. */
    cla_status (*renew)(cla_config *settings, const cla_config *run);
    /* Replaces some initial values of a new run's parameters. NULL: none. */
    cla_status (*start)(cla_task *task);
    /* order writes the examples of an epoch in their order, which depends on seed and
     * epoch alone (NULL: a shuffle). take returns the size of the batch that starts at
     * place next of this order (NULL: the setting "batch"). */
    cla_status (*order)(cla_task *task, int64_t *examples, int64_t epoch);
    int64_t (*take)(const cla_task *task, int64_t next);
    /* targets returns the number of targets of n training examples. rows returns the
     * number of rows before example `at` of a batch: random draws are keyed by the row
     * in the whole batch. */
    double (*targets)(cla_task *task, const int64_t *examples, int64_t n);
    int64_t (*rows)(cla_task *task, const int64_t *examples, int64_t at);
    /* Computes the loss [1] of n training examples: the mean over their targets. */
    cla_status (*loss)(cla_task *task, cla_tape *tape, const int64_t *examples,
                       int64_t n, cla_tensor **loss);
    /* Runs the backward pass of that loss, weighted by share. NULL: that of the tape
     * alone. */
    cla_status (*backward)(cla_task *task, cla_tape *tape, cla_tensor *loss,
                           double share);
    /* Writes means over the steps since the last call, for the log; none without such
     * steps. NULL: the kind has none. */
    void (*report)(cla_task *task, cla_metrics *metrics);
    /* Evaluates a split (a file stem of the data folder) or a file. data NULL: the
     * task's own. */
    cla_status (*evaluate)(cla_task *task, const char *data, const char *split,
                           cla_metrics *metrics);
    void (*close)(cla_task *task);
} cla_task_kind;

struct cla_task {
    const cla_task_kind *kind;
    cla_runtime *rt;
    cla_params params;
    int64_t examples; // of the training data
    uint32_t seed;
    cla_config settings; // of a loaded system
    cla_watch watch;     // called after each batch; may be NULL
    void *watcher;
};

/* Tells the watcher of a task that done of count are finished. Fails with its status,
 * unless that is CLA_OK. */
cla_status cla_task_tell(const cla_task *task, size_t done, size_t count);

/* All kinds, NULL-terminated (tasks/tasks.c). */
extern const cla_task_kind *const cla_tasks[];

/* Finds the kind that the settings name. Errors: CLA_E_INPUT (no name, or an unknown
 * one: lists the known). */
cla_status cla_task_kind_find(cla_config *settings, const cla_task_kind **out);

/* Adds to settings the keys that are newer than the version which saved run, with the
 * values that it implied. Present keys keep their values. Errors: CLA_E_INPUT (no known
 * kind), CLA_E_NOMEM. */
cla_status cla_task_renew(cla_config *settings, cla_config *run);

/* Returns the i-th file, from 0, that inference requires of the run in dir; NULL after
 * the last. */
const char *cla_task_file(const cla_task_kind *kind, const char *dir, int i);

/* Opens the system that the settings name. With CLA_TASK_TRAINED, the parameters have
 * names, shapes and uses but no memory, and rt may be NULL.
 * Errors: CLA_E_INPUT (unknown model: lists the known), and those of open. */
cla_status cla_task_open(cla_task **out, cla_runtime *rt, cla_config *settings,
                         const char *dir, cla_task_mode mode);
void cla_task_close(cla_task **task);

/* Gives the path of the weights in a run folder: the best state if it exists, readable
 * or not, else the last. Errors: CLA_E_NOMEM. */
cla_status cla_task_weights(cla_text *path, const char *dir);

/* Opens a trained system in its folder without its weights; rt may be NULL. */
cla_status cla_task_outline(cla_task **out, cla_runtime *rt, const char *dir);

/* Loads a trained system from its folder: settings, vocabularies and the best (else
 * last) weights, held and multiplied as the options say; NULL: as stored. Errors:
 * CLA_E_USAGE (compute without weights of 8 bits), those of the state. */
cla_status cla_task_load(cla_task **out, cla_runtime *rt, const char *dir,
                         const cla_model_options *options);
