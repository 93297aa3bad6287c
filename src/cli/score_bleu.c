/* score_bleu.c - clattn score bleu, bootstrap, ngram. */
#include <stdio.h>

#include "base/text.h"
#include "cli/score.h"

/* ---- files ------------------------------------------------------------------- */

void score_corpus_free(score_corpus *c)
{
    cla_lines_free(&c->hyp);
    for (int i = 0; i < c->ref_count; i++) {
        cla_lines_free(&c->refs[i]);
    }
    *c = (score_corpus){ 0 };
}

static cla_status read_corpus(score_corpus *c, const score_arguments *a,
                              const char *hyp)
{
    for (int i = 0; i < a->ref_count; i++) {
        CLA_TRY(cla_lines_read(&c->refs[i], a->refs[i]));
        c->ref_count = i + 1;
    }
    CLA_TRY(cla_lines_read(&c->hyp, hyp));
    for (int i = 0; i < c->ref_count; i++) {
        CLA_TRY(cla_lines_pair(&c->refs[i], &c->hyp));
    }
    return c->hyp.count ? CLA_OK
                        : cla_fail(CLA_E_INPUT, "%s: holds no line", c->hyp.path);
}

cla_status score_corpus_read(score_corpus *c, const score_arguments *a, const char *hyp)
{
    *c = (score_corpus){ 0 };
    const cla_status status = read_corpus(c, a, hyp);
    if (status) {
        score_corpus_free(c);
    }
    return status;
}

/* Counts each line of hyp into counts [lines], which the caller frees. */
static cla_status count_lines(const score_arguments *a, const char *hyp,
                              cla_bleu_counts **counts, size_t *lines)
{
    score_corpus c;
    cla_bleu *bleu = NULL;
    *counts = NULL;
    CLA_TRY(score_corpus_read(&c, a, hyp));
    *lines = c.hyp.count;
    cla_status status = cla_bleu_new(&bleu, &a->bleu);
    status = status ? status : cla_alloc(counts, *lines, sizeof **counts);
    for (size_t i = 0; i < *lines && !status; i++) {
        cla_line refs[SCORE_MAX_REFS];
        for (int k = 0; k < c.ref_count; k++) {
            refs[k] = c.refs[k].line[i];
        }
        status = cla_bleu_count(bleu, &c.hyp.line[i], refs, (size_t)c.ref_count,
                                &(*counts)[i]);
    }
    cla_bleu_free(&bleu);
    score_corpus_free(&c);
    return status;
}

static cla_bleu_counts sum_of(const cla_bleu_counts *counts, size_t lines)
{
    cla_bleu_counts sum = { 0 };
    for (size_t i = 0; i < lines; i++) {
        cla_bleu_add(&sum, &counts[i]);
    }
    return sum;
}

/* ---- bleu -------------------------------------------------------------------- */

static json_t *json_numbers(const double *values, int n)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++) {
        json_array_append_new(list, json_real(values[i]));
    }
    return list;
}

static void print_precisions(const cla_bleu_score *s, int order)
{
    for (int k = 0; k < order; k++) {
        printf("%s%.1f", k ? "/" : "", s->precision[k]);
    }
}

static cla_status print_bleu(const score_arguments *a, const cla_bleu_counts *c,
                             const char *signature)
{
    const cla_bleu_score s = cla_bleu_of(&a->bleu, c);
    const long long hyp = (long long)c->hyp, ref = (long long)c->ref;
    if (a->json) {
        return cli_print_json(json_pack(
            "{ss sf ss so sf sI sI}", "metric", "BLEU", "score", s.score, "signature",
            signature, "precisions", json_numbers(s.precision, a->bleu.order),
            "brevity_penalty", s.penalty, "hyp_len", (json_int_t)hyp, "ref_len",
            (json_int_t)ref));
    }
    if (a->multi_bleu) {
        printf("BLEU = %.2f, ", s.score);
        print_precisions(&s, a->bleu.order);
        printf(" (BP=%.3f, ratio=%.3f, hyp_len=%lld, ref_len=%lld)\n", s.penalty,
               s.ratio, hyp, ref);
        return CLA_OK;
    }
    printf("BLEU|%s = %.2f ", signature, s.score);
    print_precisions(&s, a->bleu.order);
    printf(" (BP = %.3f ratio = %.3f hyp_len = %lld ref_len = %lld)\n", s.penalty,
           s.ratio, hyp, ref);
    return CLA_OK;
}

static cla_status print_sentences(const score_arguments *a, const cla_bleu_counts *c,
                                  size_t lines)
{
    for (size_t i = 0; i < lines; i++) {
        const cla_bleu_score s = cla_bleu_of(&a->bleu, &c[i]);
        if (a->json) {
            CLA_TRY(cli_print_json(
                json_pack("{sI sf}", "line", (json_int_t)i + 1, "score", s.score)));
        } else {
            printf("%.4f\n", s.score);
        }
    }
    return CLA_OK;
}

cla_status score_bleu(const score_arguments *given)
{
    score_arguments a = *given;
    cla_bleu_counts *counts = NULL;
    cla_text signature = { 0 };
    size_t lines = 0;
    a.bleu.effective_order = a.sentence;
    if (a.multi_bleu) {
        a.bleu.tokens = CLA_TOKENS_ASCII;
        a.bleu.smooth = CLA_SMOOTH_NONE;
    }
    cla_status status = count_lines(&a, a.hyp, &counts, &lines);
    if (!status && a.sentence) {
        status = print_sentences(&a, counts, lines);
    } else if (!status) {
        const cla_bleu_counts sum = sum_of(counts, lines);
        status = cla_bleu_signature(&a.bleu, (size_t)a.ref_count, &signature);
        status = status ? status : print_bleu(&a, &sum, signature.data);
    }
    free(counts);
    cla_text_free(&signature);
    return status;
}

/* ---- two systems ------------------------------------------------------------- */

typedef struct pair {
    cla_bleu_counts *model, *base;
    size_t lines;
    cla_text signature;
} pair;

static void pair_free(pair *p)
{
    free(p->model);
    free(p->base);
    cla_text_free(&p->signature);
}

static cla_status pair_read(pair *p, const score_arguments *a)
{
    size_t lines = 0; // equals p->lines: both files pair with the references
    CLA_TRY(count_lines(a, a->hyp, &p->model, &p->lines));
    CLA_TRY(count_lines(a, a->baseline, &p->base, &lines));
    return cla_bleu_signature(&a->bleu, (size_t)a->ref_count, &p->signature);
}

static cla_status print_bootstrap(const score_arguments *a, const pair *p,
                                  const cla_bootstrap *b)
{
    if (a->json) {
        return cli_print_json(
            json_pack("{ss ss sI sI sf so so}", "metric", "bootstrap", "signature",
                      p->signature.data, "samples", (json_int_t)a->samples, "seed",
                      (json_int_t)a->seed, "p", b->p, "model",
                      json_numbers(b->model, 3), "baseline", json_numbers(b->base, 3)));
    }
    printf("bootstrap|n:%lld|seed:%lld|%s\n", (long long)a->samples, (long long)a->seed,
           p->signature.data);
    printf("hypothesis  %6.2f  95 %% in %.2f to %.2f\n", b->model[0], b->model[1],
           b->model[2]);
    printf("baseline    %6.2f  95 %% in %.2f to %.2f\n", b->base[0], b->base[1],
           b->base[2]);
    printf("p = %.4f\n", b->p);
    return CLA_OK;
}

static cla_status bootstrap(const score_arguments *a, pair *p)
{
    cla_bootstrap b = { 0 };
    CLA_TRY(pair_read(p, a));
    CLA_TRY(cla_bleu_bootstrap(&a->bleu, p->model, p->base, p->lines, (int)a->samples,
                               (uint32_t)a->seed, &b));
    return print_bootstrap(a, p, &b);
}

cla_status score_bootstrap(const score_arguments *a)
{
    pair p = { 0 };
    const cla_status status = bootstrap(a, &p);
    pair_free(&p);
    return status;
}

static cla_status print_order(const score_arguments *a, const cla_bleu_counts *model,
                              const cla_bleu_counts *base, int n, double p)
{
    cla_bleu_options up_to = a->bleu;
    up_to.order = n;
    const double x = cla_bleu_single(model, n), y = cla_bleu_single(base, n);
    const double bleu_x = cla_bleu_of(&up_to, model).score;
    const double bleu_y = cla_bleu_of(&up_to, base).score;
    if (a->json) {
        return cli_print_json(json_pack("{si sf sf sf sf sf sf}", "order", n, "model",
                                        x, "baseline", y, "gap", x - y, "p", p,
                                        "bleu_model", bleu_x, "bleu_baseline", bleu_y));
    }
    printf("%d  %10.2f  %8.2f  %+6.2f  %6.4f  %10.2f  %8.2f  %+6.2f\n", n, x, y, x - y,
           p, bleu_x, bleu_y, bleu_x - bleu_y);
    return CLA_OK;
}

static cla_status ngram(const score_arguments *a, pair *p)
{
    CLA_TRY(pair_read(p, a));
    const cla_bleu_counts model = sum_of(p->model, p->lines);
    const cla_bleu_counts base = sum_of(p->base, p->lines);
    double share[CLA_MAX_ORDER];
    CLA_TRY(cla_bleu_bootstrap_orders(p->model, p->base, p->lines, (int)a->samples,
                                      (uint32_t)a->seed, share));
    if (!a->json) {
        printf("ngram|n:%lld|seed:%lld|%s\n", (long long)a->samples, (long long)a->seed,
               p->signature.data);
        printf("n  BP p_n: hyp  baseline     gap       p  BLEU-n: hyp  baseline     "
               "gap\n");
    }
    for (int n = 1; n <= CLA_MAX_ORDER; n++) {
        CLA_TRY(print_order(a, &model, &base, n, share[n - 1]));
    }
    return CLA_OK;
}

cla_status score_ngram(const score_arguments *given)
{
    score_arguments a = *given;
    pair p = { 0 };
    a.bleu.order = CLA_MAX_ORDER;
    a.bleu.smooth = CLA_SMOOTH_NONE;
    const cla_status status = ngram(&a, &p);
    pair_free(&p);
    return status;
}
