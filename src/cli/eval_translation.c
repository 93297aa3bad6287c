/* eval_translation.c - translates a split and computes its BLEU and chrF. */
#include <string.h>

#include "cli/eval.h"
#include "cli/model.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "tasks/model.h"
#include "tasks/translation/translation.h"

void cli_eval_translations_free(eval_translations *e)
{
    free(e->said);
    cla_lines_free(&e->lines[0]);
    cla_lines_free(&e->lines[1]);
    *e = (eval_translations){ 0 };
}

static cla_status translate(cla_model *model, const char *data, const char *split,
                            const cla_translate_options *options, eval_translations *e)
{
    const translation *t = (const translation *)cla_model_task(model);
    const char **line = NULL;
    CLA_TRY(cla_translation_read_lines(t, data ? data : t->data,
                                       cla_translation_stem(t, split), e->lines));
    const size_t n = e->lines[0].count;
    CLA_TRY(cla_alloc(&e->said, n + 1, sizeof *e->said));
    CLA_TRY(cla_alloc(&line, n + 1, sizeof *line));
    for (size_t i = 0; i < n; i++) {
        line[i] = e->lines[0].line[i].text;
    }
    const cla_status status = cla_model_translate(model, e->said, line, n, options);
    free(line);
    cli_tell_cut(t->search.extra, t->search.most, status ? 0 : cla_model_cut(model), n);
    return status;
}

cla_status cli_eval_translate(cla_model *model, const char *data, const char *split,
                              const cla_translate_options *options,
                              eval_translations *e)
{
    *e = (eval_translations){ 0 };
    const cla_status status = translate(model, data, split, options, e);
    if (status) {
        cli_eval_translations_free(e);
    }
    return status;
}

cla_line cli_eval_hypothesis(const eval_translations *e, size_t i)
{
    return (cla_line){ e->said[i].text, strlen(e->said[i].text) };
}

static cla_status count(const eval_translations *e, cla_bleu *bleu, cla_chrf *chrf,
                        cla_bleu_counts *words, cla_chrf_counts *letters)
{
    for (size_t i = 0; i < e->lines[0].count; i++) {
        const cla_line hyp = cli_eval_hypothesis(e, i);
        cla_bleu_counts one;
        cla_chrf_counts other;
        CLA_TRY(cla_bleu_count(bleu, &hyp, &e->lines[1].line[i], 1, &one));
        CLA_TRY(cla_chrf_count(chrf, &hyp, &e->lines[1].line[i], 1, &other));
        cla_bleu_add(words, &one);
        cla_chrf_add(letters, &other);
    }
    return CLA_OK;
}

static void put(cla_metrics *metrics, const char *name, double value)
{
    metrics->row[metrics->count].name = name;
    metrics->row[metrics->count++].value = value;
}

cla_status cli_eval_text(cla_model *model, const char *data, const char *split,
                         const cla_translate_options *options, cla_metrics *metrics)
{
    const cla_bleu_options defaults = cla_bleu_defaults();
    cla_bleu_counts words = { 0 };
    cla_chrf_counts letters = { 0 };
    cla_chrf chrf = { 0 };
    cla_bleu *bleu = NULL;
    eval_translations e;
    CLA_TRY(cli_eval_translate(model, data, split, options, &e));
    cla_status status = cla_bleu_new(&bleu, &defaults);
    status = status ? status : count(&e, bleu, &chrf, &words, &letters);
    cla_bleu_free(&bleu);
    cla_chrf_free(&chrf);
    cli_eval_translations_free(&e);
    if (!status) {
        put(metrics, "bleu", cla_bleu_of(&defaults, &words).score);
        put(metrics, "chrf", cla_chrf_of(&letters));
    }
    return status;
}
