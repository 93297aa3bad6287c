/* bleu.c - BLEU: counts of a sentence, scores of counts, the signature. */
#include "metrics/bleu.h"

#include <math.h>
#include <string.h>

#include "clattn/status.h"

const char *cla_smooth_name(cla_smooth smooth)
{
    static const char *const names[] = { "exp", "floor", "add-k", "none" };
    return names[smooth];
}

double cla_smooth_default(cla_smooth smooth)
{
    return smooth == CLA_SMOOTH_FLOOR ? 0.1 : smooth == CLA_SMOOTH_ADD_K ? 1.0 : 0.0;
}

cla_bleu_options cla_bleu_defaults(void)
{
    return (cla_bleu_options){ .tokens = CLA_TOKENS_13A, .order = 4 };
}

/* ---- counting ---------------------------------------------------------------- */

cla_status cla_bleu_new(cla_bleu **out, const cla_bleu_options *options)
{
    CLA_TRY(cla_alloc(out, 1, sizeof **out));
    (*out)->options = *options;
    (*out)->ngrams.order = options->order;
    const cla_status status =
        cla_tokenizer_new(&(*out)->tokenizer, options->tokens, options->lowercase);
    if (status) {
        cla_bleu_free(out);
    }
    return status;
}

void cla_bleu_free(cla_bleu **b)
{
    if (*b) {
        cla_tokenizer_free(&(*b)->tokenizer);
        cla_ngrams_free(&(*b)->ngrams);
        cla_tokens_free(&(*b)->tokens);
    }
    free(*b);
    *b = NULL;
}

/* Returns whether length a is closer to hyp than b is, or as close and shorter. */
static bool nearer(int64_t a, int64_t b, int64_t hyp)
{
    const int64_t from_a = a > hyp ? a - hyp : hyp - a;
    const int64_t from_b = b > hyp ? b - hyp : hyp - b;
    return from_a < from_b || (from_a == from_b && a < b);
}

static void match(cla_bleu *b, cla_bleu_counts *c)
{
    cla_ngram_walk walk;
    cla_ngrams_start(&b->ngrams, &walk);
    for (size_t i = 0; i < b->tokens.count; i++) {
        cla_ngrams_step(&b->ngrams, &walk, b->tokens.id[i], c->correct);
    }
    for (int k = 0; k < b->options.order; k++) {
        c->total[k] = c->hyp > k ? c->hyp - k : 0;
    }
}

cla_status cla_bleu_count(cla_bleu *b, const cla_line *hyp, const cla_line *refs,
                          size_t n, cla_bleu_counts *c)
{
    *c = (cla_bleu_counts){ 0 };
    cla_ngrams_clear(&b->ngrams);
    CLA_TRY(cla_tokenize_ids(b->tokenizer, hyp->text, hyp->size, &b->tokens));
    c->hyp = (int64_t)b->tokens.count;
    for (size_t i = 0; i < n; i++) {
        CLA_TRY(cla_tokenize_ids(b->tokenizer, refs[i].text, refs[i].size, &b->tokens));
        const int64_t length = (int64_t)b->tokens.count;
        c->ref = !i || nearer(length, c->ref, c->hyp) ? length : c->ref;
        CLA_TRY(cla_ngrams_add_reference(&b->ngrams, b->tokens.id, b->tokens.count));
    }
    CLA_TRY(cla_tokenize_ids(b->tokenizer, hyp->text, hyp->size, &b->tokens));
    match(b, c);
    return CLA_OK;
}

void cla_bleu_add(cla_bleu_counts *sum, const cla_bleu_counts *c)
{
    for (int k = 0; k < CLA_MAX_ORDER; k++) {
        sum->correct[k] += c->correct[k];
        sum->total[k] += c->total[k];
    }
    sum->hyp += c->hyp;
    sum->ref += c->ref;
}

/* ---- scores ------------------------------------------------------------------ */

static double penalty(const cla_bleu_counts *c)
{
    if (c->hyp >= c->ref) {
        return 1.0;
    }
    return c->hyp ? exp(1.0 - (double)c->ref / (double)c->hyp) : 0.0;
}

/* Returns the precision of an order in %; *halved counts orders without a match. */
static double precision(const cla_bleu_options *o, double correct, double total,
                        int *halved)
{
    if (correct > 0) {
        return 100.0 * correct / total;
    }
    if (o->smooth == CLA_SMOOTH_EXP) {
        return 100.0 / (ldexp(1.0, ++*halved) * total);
    }
    return o->smooth == CLA_SMOOTH_FLOOR ? 100.0 * o->value / total : 0.0;
}

static bool any_match(const cla_bleu_options *o, const cla_bleu_counts *c)
{
    for (int k = 0; k < o->order; k++) {
        if (c->correct[k]) {
            return true;
        }
    }
    return false;
}

cla_bleu_score cla_bleu_of(const cla_bleu_options *o, const cla_bleu_counts *c)
{
    cla_bleu_score s = { .penalty = penalty(c) };
    s.ratio = c->ref ? (double)c->hyp / (double)c->ref : 0.0;
    int halved = 0, order = o->order;
    if (!any_match(o, c)) {
        return s;
    }
    for (int k = 0; k < o->order; k++) {
        const double added = k && o->smooth == CLA_SMOOTH_ADD_K ? o->value : 0.0;
        const double total = (double)c->total[k] + added;
        if (total <= 0) {
            break;
        }
        order = o->effective_order ? k + 1 : order;
        s.precision[k] = precision(o, (double)c->correct[k] + added, total, &halved);
    }
    double sum = 0;
    for (int k = 0; k < order; k++) {
        sum += log(s.precision[k]); // minus infinity gives 0
    }
    s.score = s.penalty * exp(sum / order);
    return s;
}

double cla_bleu_captions(const cla_bleu_counts *c, int n)
{
    double product = 1;
    for (int k = 0; k < n; k++) {
        product *= ((double)c->correct[k] + 1e-15) / ((double)c->total[k] + 1e-9);
    }
    const double ratio = ((double)c->hyp + 1e-15) / ((double)c->ref + 1e-9);
    return pow(product, 1.0 / n) * (ratio < 1 ? exp(1 - 1 / ratio) : 1);
}

double cla_bleu_single(const cla_bleu_counts *c, int n)
{
    const double total = (double)c->total[n - 1];
    return total > 0 ? 100.0 * penalty(c) * (double)c->correct[n - 1] / total : 0.0;
}

cla_status cla_bleu_signature(const cla_bleu_options *o, size_t references,
                              cla_text *out)
{
    CLA_TRY(cla_text_add(out, "nrefs:%zu|case:%s|eff:%s|tok:%s|smooth:%s", references,
                         o->lowercase ? "lc" : "mixed",
                         o->effective_order ? "yes" : "no",
                         cla_token_kind_name(o->tokens), cla_smooth_name(o->smooth)));
    if (o->smooth == CLA_SMOOTH_FLOOR || o->smooth == CLA_SMOOTH_ADD_K) {
        CLA_TRY(cla_text_add(out, "[%.2f]", o->value));
    }
    if (o->order != 4) {
        CLA_TRY(cla_text_add(out, "|order:%d", o->order));
    }
    return cla_text_add(out, "|version:clattn-%s", cla_version());
}
