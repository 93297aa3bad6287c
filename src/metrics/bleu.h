/* bleu.h - BLEU of a corpus or a sentence, as in sacreBLEU, multi-bleu or the caption
 * scorer; bootstrap resampling; BLEU of prefixes. Sources: Papineni et al. 2002, Post
 * 2018. */
#pragma once

#include "metrics/ngrams.h"
#include "metrics/tokens.h"

/* Smoothing of orders without a match. exp: the k-th such order counts 1/2^k of a
 * match. floor: it counts `value` of a match. add-k: adds `value` to matches and totals
 * of all orders above 1. none: no smoothing. */
typedef enum cla_smooth {
    CLA_SMOOTH_EXP,
    CLA_SMOOTH_FLOOR,
    CLA_SMOOTH_ADD_K,
    CLA_SMOOTH_NONE,
    CLA_SMOOTHS
} cla_smooth;

/* "exp", "floor", "add-k", "none". */
const char *cla_smooth_name(cla_smooth smooth);

typedef struct cla_bleu_options {
    cla_token_kind tokens;
    bool lowercase;
    cla_smooth smooth;
    double value;         // of floor and add-k
    int order;            // 1 to CLA_MAX_ORDER
    bool effective_order; // leave out orders longer than the hypothesis
} cla_bleu_options;

/* Return the defaults of sacreBLEU: the options (13a, mixed case, exp, order 4), and
 * the value of a smoothing (floor 0.1, add-k 1, others 0). */
cla_bleu_options cla_bleu_defaults(void);
double cla_smooth_default(cla_smooth smooth);

/* Sufficient statistics of a score. Those of a corpus are sums over sentences. */
typedef struct cla_bleu_counts {
    int64_t correct[CLA_MAX_ORDER]; // matched n-grams, clipped
    int64_t total[CLA_MAX_ORDER];   // n-grams of the hypothesis
    int64_t hyp, ref; // tokens; ref: of the reference closest in length, ties: shorter
} cla_bleu_counts;

typedef struct cla_bleu_score {
    double score;                    // 0 to 100
    double precision[CLA_MAX_ORDER]; // per cent
    double penalty;                  // brevity penalty
    double ratio;                    // hyp / ref tokens
} cla_bleu_score;

/* A scorer: one tokenizer and one table of n-grams for many sentences. */
typedef struct cla_bleu {
    cla_bleu_options options;
    cla_tokenizer *tokenizer;
    cla_ngrams ngrams;
    cla_tokens tokens;
} cla_bleu;

cla_status cla_bleu_new(cla_bleu **out, const cla_bleu_options *options);
void cla_bleu_free(cla_bleu **b);

/* Counts one hypothesis against its references [n]. Errors: CLA_E_NOMEM. */
cla_status cla_bleu_count(cla_bleu *b, const cla_line *hyp, const cla_line *refs,
                          size_t n, cla_bleu_counts *counts);
void cla_bleu_add(cla_bleu_counts *sum, const cla_bleu_counts *counts);

/* Computes BP exp(mean_n ln p_n), BP = exp(1 - ref/hyp) below ref tokens, else 1. The
 * score is 0 when no n-gram of any order matches. */
cla_bleu_score cla_bleu_of(const cla_bleu_options *options,
                           const cla_bleu_counts *counts);

/* Appends the signature: "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:...".
 * Errors: CLA_E_NOMEM. */
cla_status cla_bleu_signature(const cla_bleu_options *options, size_t references,
                              cla_text *out);

/* Computes BLEU-n, 0 to 1, as the scorer for MS COCO captions does, which DuReader and
 * MS MARCO use: p_k = (correct_k + 1e-15) / (total_k + 1e-9), the length ratio
 * likewise. */
double cla_bleu_captions(const cla_bleu_counts *counts, int n);

/* Computes the score of order n alone, BP p_n in per cent; 0 without n-grams. */
double cla_bleu_single(const cla_bleu_counts *counts, int n);

typedef struct cla_bootstrap {
    double p; // share of resamples where the baseline is at least as good
    double model[3], base[3]; // score; 95 % interval (2.5th, 97.5th percentile)
} cla_bootstrap;

/* Compares two systems by paired bootstrap resampling over n sentences: each resample
 * draws the same sentences for both. Errors: CLA_E_USAGE (n or samples 0), CLA_E_NOMEM.
 * Source: Koehn 2004. */
cla_status cla_bleu_bootstrap(const cla_bleu_options *options,
                              const cla_bleu_counts *model, const cla_bleu_counts *base,
                              size_t n, int samples, uint32_t seed, cla_bootstrap *out);

/* Does the same for each order k = 1 to CLA_MAX_ORDER: p[k - 1] is the share of
 * resamples in which BP p_k of the baseline is at least that of the model.
 * Errors: CLA_E_USAGE (n or samples 0). */
cla_status cla_bleu_bootstrap_orders(const cla_bleu_counts *model,
                                     const cla_bleu_counts *base, size_t n, int samples,
                                     uint32_t seed, double p[CLA_MAX_ORDER]);

/* Computes the BLEU R_i of every prefix of a hypothesis [n], i = 1..n, with all counts
 * starting at 1:
 * R_i = (prod_{k=1..4} (correct_k + 1) / (max(0, i-k+1) + 1))^(1/4) BP_i,
 * BP_i = exp(1 - ref_count/i) below the reference's length, else 1. n-grams with the
 * token unknown match nothing (-1: no such token). Errors: CLA_E_NOMEM. */
cla_status cla_prefix_bleu(const int32_t *ref, size_t ref_count, const int32_t *hyp,
                           size_t n, int32_t unknown, double *r);

/* Computes the return G_t = (R_n - R_{t-1}) scale, R_0 = 0, for t = 1..n: the sum of
 * the differences of R from t on. r and g may be the same array. */
void cla_prefix_returns(const double *r, size_t n, double scale, double *g);
