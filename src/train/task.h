/* task.h - what a system is to the training loop: data in, losses and scores out. */
#pragma once

#include "base/config.h"
#include "base/text.h"
#include "nn/param.h"
#include "train/weights.h"

typedef struct cla_task cla_task;

enum { METRICS = 16 };

/* What a system is opened for. dir is the run's folder. */
typedef enum cla_task_mode {
    CLA_TASK_TRAINED, // use: vocabularies are read from dir
    CLA_TASK_NEW,     // training: they are made from the data and written to dir (NULL:
                      // nowhere, another process does)
    CLA_TASK_RESUMED, // more training: made again, and refused when dir holds others
} cla_task_mode;

/* Scores of an evaluation; the first one decides which checkpoint is best. */
typedef struct cla_metrics {
    int count;
    struct {
        const char *name; // "accuracy"
        double value;
    } row[METRICS];
} cla_metrics;

typedef struct cla_task_kind {
    const char *name;      // "model" in the config
    const char *unit;      // what a step counts: "words"
    const char *dev_split; // what decides the best checkpoint
    bool higher_is_better;
    const char *baseline;     // score that the first one is to exceed, or NULL
    size_t size;              // of the task's own struct, which begins with a cla_task
    const char *const *files; // required for inference, up to a NULL
    const char *sometimes;    // one more, that not all runs have; or NULL
    /* Reads settings, data and vocabularies, adds the parameters to task->params. */
    cla_status (*open)(cla_task *task, cla_config *settings, const char *dir,
                       cla_task_mode mode);
    /* Gives settings the keys that came after the version which saved run (may be the
     * same object), with what they meant then. NULL: none came. Errors: CLA_E_NOMEM. */
    cla_status (*renew)(cla_config *settings, const cla_config *run);
    /* After the parameters have their first values, for a new run: others in the place
     * of some. NULL: they stay. */
    cla_status (*start)(cla_task *task);
    /* Puts the examples of an epoch in their order, by seed and epoch alone (NULL: a
     * shuffle); take says how many of them, from next on, are one batch (NULL: as many
     * as "batch" says). */
    cla_status (*order)(cla_task *task, int64_t *examples, int64_t epoch);
    int64_t (*take)(const cla_task *task, int64_t next);
    /* How many targets some training examples have, and how many rows come before
     * example
     * at of a batch: random draws are keyed by the row in the whole batch. */
    double (*targets)(cla_task *task, const int64_t *examples, int64_t n);
    int64_t (*rows)(cla_task *task, const int64_t *examples, int64_t at);
    /* The loss [1] of some training examples: the mean over their targets. */
    cla_status (*loss)(cla_task *task, cla_tape *tape, const int64_t *examples,
                       int64_t n, cla_tensor **loss);
    /* Goes back from that loss, share of which counts; NULL: along the tape, and no
     * more. */
    cla_status (*backward)(cla_task *task, cla_tape *tape, cla_tensor *loss,
                           double share);
    /* Means for the log over the steps since it was last called, none where there were
     * none; NULL: there are none. */
    void (*report)(cla_task *task, cla_metrics *metrics);
    /* Scores a split (a file stem of the data folder) or a file. */
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
};

/* All kinds, up to a NULL (tasks/tasks.c). */
extern const cla_task_kind *const cla_tasks[];

/* The kind that the settings name. Errors: CLA_E_INPUT (none, or unknown: lists those
 * there are). */
cla_status cla_task_kind_find(cla_config *settings, const cla_task_kind **out);

/* Gives settings the keys that the run, which an older version may have saved, does not
 * have, with what they meant then. What is given stays. Errors: CLA_E_INPUT (no known
 * kind), CLA_E_NOMEM. */
cla_status cla_task_renew(cla_config *settings, cla_config *run);

/* The i-th file, from 0, of the run in dir that inference requires; NULL behind the
 * last. */
const char *cla_task_file(const cla_task_kind *kind, const char *dir, int i);

/* Opens the system that the settings name. One that is trained has parameters with
 * names, shapes and uses but no memory, and rt may be NULL.
 * Errors: CLA_E_INPUT (unknown model: lists
 * them),
 * and what open gives. */
cla_status cla_task_open(cla_task **out, cla_runtime *rt, cla_config *settings,
                         const char *dir, cla_task_mode mode);
void cla_task_close(cla_task **task);

/* The weights of a run's folder: the best, the last where there is no best. One that is
 * there and cannot be read stays the best. Errors: CLA_E_NOMEM. */
cla_status cla_task_weights(cla_text *path, const char *dir);

/* A trained system from its folder: settings, vocabularies, best (else last) weights,
 * which are held in that many bits. */
cla_status cla_task_load(cla_task **out, cla_runtime *rt, const char *dir,
                         cla_weights weights);
