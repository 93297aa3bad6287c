/* eval_translation.c - translates a split and computes its BLEU and chrF. */
#include "cli/eval.h"
#include "cli/model.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"

void cli_eval_translations_free(eval_translations *e)
{
    for (size_t i = 0; e->said && i < e->lines[0].count; i++) {
        cla_text_free(&e->said[i].text);
    }
    free(e->said);
    cla_lines_free(&e->lines[0]);
    cla_lines_free(&e->lines[1]);
    *e = (eval_translations){ 0 };
}

static cla_status translate(translation *t, const char *data, const char *split,
                            const translation_options *options, eval_translations *e)
{
    CLA_TRY(translation_read_lines(t, data ? data : t->data, translation_stem(t, split),
                                   e->lines));
    CLA_TRY(cla_alloc(&e->said, e->lines[0].count + 1, sizeof *e->said));
    const size_t n = e->lines[0].count;
    size_t cut = 0;
    CLA_TRY(translation_translate(t, e->lines[0].line, n, options, e->said));
    for (size_t i = 0; i < n; i++) {
        cut += e->said[i].cut;
    }
    cli_tell_cut(t->search.extra, t->search.most, cut, n);
    return CLA_OK;
}

cla_status cli_eval_translate(translation *t, const char *data, const char *split,
                              const translation_options *options, eval_translations *e)
{
    *e = (eval_translations){ 0 };
    const cla_status status = translate(t, data, split, options, e);
    if (status) {
        cli_eval_translations_free(e);
    }
    return status;
}

cla_line cli_eval_hypothesis(const eval_translations *e, size_t i)
{
    const cla_text *text = &e->said[i].text;
    return (cla_line){ text->data ? text->data : "", text->size };
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

cla_status cli_eval_text(translation *t, const char *data, const char *split,
                         const translation_options *options, cla_metrics *metrics)
{
    const cla_bleu_options defaults = cla_bleu_defaults();
    cla_bleu_counts words = { 0 };
    cla_chrf_counts letters = { 0 };
    cla_chrf chrf = { 0 };
    cla_bleu *bleu = NULL;
    eval_translations e;
    CLA_TRY(cli_eval_translate(t, data, split, options, &e));
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
