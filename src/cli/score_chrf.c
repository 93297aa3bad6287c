/* score_chrf.c - clattn score chrf. */
#include <stdio.h>

#include "base/text.h"
#include "cli/score.h"
#include "metrics/chrf.h"

static cla_status print_sentence(const score_arguments *a, size_t line, double score)
{
    if (a->json) {
        return cli_print_json(
            json_pack("{sI sf}", "line", (json_int_t)line, "score", score));
    }
    printf("%.4f\n", score);
    return CLA_OK;
}

/* Counts all lines; prints their scores with --sentence. */
static cla_status count_lines(const score_arguments *a, const score_corpus *c,
                              cla_chrf_counts *sum)
{
    cla_chrf chrf = { .lowercase = a->bleu.lowercase };
    cla_status status = CLA_OK;
    for (size_t i = 0; i < c->hyp.count && !status; i++) {
        cla_line refs[SCORE_MAX_REFS];
        cla_chrf_counts one;
        for (int k = 0; k < c->ref_count; k++) {
            refs[k] = c->refs[k].line[i];
        }
        status =
            cla_chrf_count(&chrf, &c->hyp.line[i], refs, (size_t)c->ref_count, &one);
        if (!status) {
            cla_chrf_add(sum, &one);
        }
        if (!status && a->sentence) {
            status = print_sentence(a, i + 1, cla_chrf_of(&one));
        }
    }
    cla_chrf_free(&chrf);
    return status;
}

static cla_status print(const score_arguments *a, double score, const char *signature)
{
    if (a->json) {
        return cli_print_json(json_pack("{ss sf ss}", "metric", "chrF2", "score", score,
                                        "signature", signature));
    }
    printf("chrF2|%s = %.2f\n", signature, score);
    return CLA_OK;
}

static cla_status score(const score_arguments *a, const score_corpus *c,
                        cla_text *signature)
{
    cla_chrf_counts sum = { 0 };
    CLA_TRY(cla_chrf_signature(a->bleu.lowercase, (size_t)c->ref_count, signature));
    CLA_TRY(count_lines(a, c, &sum));
    return a->sentence ? CLA_OK : print(a, cla_chrf_of(&sum), signature->data);
}

cla_status score_chrf(const score_arguments *a)
{
    score_corpus c;
    cla_text signature = { 0 };
    CLA_TRY(score_corpus_read(&c, a, a->hyp));
    const cla_status status = score(a, &c, &signature);
    cla_text_free(&signature);
    score_corpus_free(&c);
    return status;
}
