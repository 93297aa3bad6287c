/* eval.h - tables of `clattn eval'. */
#pragma once

#include "tasks/tagging/tagging.h"
#include "text/lines.h"

enum { EVAL_MODELS = 16 };

/* Prints the scores of several models side by side, a line for each score that one of
 * them has. name: folders of the models [count]. */
void cli_eval_table(const cla_metrics *metrics, const char *const *name, int count);

/* Prints precision, recall and F1 of each tag of a split, most frequent first, and the
 * confusion matrix; with json, one object for each tag.
 * Errors: those of cla_tagging_confuse, CLA_E_NOMEM. */
cla_status cli_eval_tags(tagging *t, const char *data, const char *split, bool json);

/* Source and reference lines of a split, and a translation of each source line. */
typedef struct eval_translations {
    cla_lines lines[2];
    cla_translation *said; // [lines[0].count], with texts of the model
} eval_translations;

/* Translates a split of data (NULL: the run's own). Errors: those of
 * cla_model_translate, CLA_E_INPUT, CLA_E_IO. */
cla_status cli_eval_translate(cla_model *model, const char *data, const char *split,
                              const cla_translate_options *options,
                              eval_translations *e);
void cli_eval_translations_free(eval_translations *e);
cla_line cli_eval_hypothesis(const eval_translations *e, size_t i);

/* Translates a split and appends its BLEU and chrF, as in `clattn score', to metrics.
 * Errors: those of cli_eval_translate. */
cla_status cli_eval_text(cla_model *model, const char *data, const char *split,
                         const cla_translate_options *options, cla_metrics *metrics);
