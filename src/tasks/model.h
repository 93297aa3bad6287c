/* model.h - a trained system behind clattn/model.h. */
#pragma once

#include "clattn/model.h"
#include "train/task.h"

struct cla_model {
    cla_runtime *rt;
    cla_task *task;
    char *folder;
    cla_model_options options;
    cla_model **worker; // [workers] copies on shares of the device; NULL: none
    cla_task **tasks;   // [workers] their tasks
    int workers;        // at least 1
    bool hired;         // it is such a copy
    struct translation_result *said; // [said_count] the last translations
    size_t said_count, cut;          // cut: best ones at the longest length
    cla_text target_text;            // what targets points into
    const char **targets;            // [target_count] NULL until they are asked for
    size_t target_count;
    cla_text written; // the last text of a language model
};

/* Opens a model without its weights and without a device. It tells its kind, languages
 * and pieces; it cannot translate or tag.
 *
 * bytes  out  of the weights on a device, about
 *
 * Errors: those of cla_model_open. */
cla_status cla_model_outline(cla_model **model, const char *folder, cla_weights weights,
                             uint64_t *bytes);

/* Returns the task of a model, which owns it. */
cla_task *cla_model_task(const cla_model *model);

/* Fails with CLA_E_USAGE unless the model is of this kind. */
cla_status cla_model_must_be(const cla_model *model, const char *who,
                             const cla_task_kind *kind);
/* Fails with CLA_E_USAGE if one of count texts is NULL. */
cla_status cla_model_need_texts(const char *who, const char *name,
                                const char *const *text, size_t count);
/* Fails with CLA_E_USAGE unless an option is low to high. */
cla_status cla_model_option(const char *who, const char *name, int64_t value,
                            int64_t low, int64_t high);
/* The lines of a call, with what their languages need in front of them. */
typedef struct cla_directed {
    const char *const *line; // [count]
    const char **made;       // [count] NULL: they are the caller's own
    cla_text text;           // of made
} cla_directed;

/* Chooses the languages of a call, and writes prefixes where the model wants some. Free
 * the lines whatever is returned. Errors: CLA_E_INPUT, CLA_E_NOMEM. */
cla_status cla_model_direct(cla_model *model, const char *who,
                            const cla_translate_options *options,
                            const char *const *lines, size_t count,
                            cla_directed *directed);
void cla_directed_free(cla_directed *directed);

/* Frees the last translations. */
void cla_model_forget(cla_model *model);
