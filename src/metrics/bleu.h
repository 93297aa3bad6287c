/* bleu.h - BLEU of a corpus or a sentence: sacreBLEU's, multi-bleu's, the one of
 * captions; what resampling and prefixes need. Papineni et al. 2002, Post 2018. */
#pragma once

#include "metrics/ngrams.h"
#include "metrics/tokens.h"

/* What is done where an order has no match: the k-th such one counts 1/2^k of a match
 * (exp), value of one (floor); value is added to matches and totals of orders above 1
 * (add-k); nothing (none). */
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
    bool effective_order; // leave out orders that a short sentence cannot have
} cla_bleu_options;

/* sacreBLEU's: 13a, mixed case, exp, order 4. value is that of floor or add-k. */
cla_bleu_options cla_bleu_defaults(void);
double cla_smooth_default(cla_smooth smooth);

/* All that a score is made of; sums over sentences. */
typedef struct cla_bleu_counts {
    int64_t correct[CLA_MAX_ORDER]; // n-grams matched, clipped
    int64_t total[CLA_MAX_ORDER];   // n-grams of the hypothesis
    int64_t hyp, ref; // tokens; ref of the reference closest in length, or the shorter
} cla_bleu_counts;

typedef struct cla_bleu_score {
    double score;                    // 0 to 100
    double precision[CLA_MAX_ORDER]; // per cent
    double penalty;                  // brevity penalty
    double ratio;                    // hyp / ref tokens
} cla_bleu_score;

/* One tokenizer and one table of n-grams for many sentences. */
typedef struct cla_bleu {
    cla_bleu_options options;
    cla_tokenizer *tokenizer;
    cla_ngrams ngrams;
    cla_tokens tokens;
} cla_bleu;

cla_status cla_bleu_new(cla_bleu **out, const cla_bleu_options *options);
void cla_bleu_free(cla_bleu **b);

/* The counts of one sentence against n references. Errors: CLA_E_NOMEM. */
cla_status cla_bleu_count(cla_bleu *b, const cla_line *hyp, const cla_line *refs,
                          size_t n, cla_bleu_counts *counts);
void cla_bleu_add(cla_bleu_counts *sum, const cla_bleu_counts *counts);

/* BP exp(mean_n ln p_n), BP = exp(1 - ref/hyp) below ref tokens, else 1. */
cla_bleu_score cla_bleu_of(const cla_bleu_options *options,
                           const cla_bleu_counts *counts);

/* "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:..." */
cla_status cla_bleu_signature(const cla_bleu_options *options, size_t references,
                              cla_text *out);

/* The BLEU-n, 0 to 1, of the scorer for MS COCO captions, which DuReader and MS MARCO
 * use: p_k = (correct_k + 1e-15) / (total_k + 1e-9), the length ratio likewise. */
double cla_bleu_captions(const cla_bleu_counts *counts, int n);

/* BP p_n, per cent: what order n alone says. */
double cla_bleu_single(const cla_bleu_counts *counts, int n);

typedef struct cla_bootstrap {
    double p;                 // share of resamples where the baseline is as good
    double model[3], base[3]; // score; 2.5th and 97.5th percentile
} cla_bootstrap;

/* Paired bootstrap resampling (Koehn 2004) over n sentences, the same draws for both.
 * Errors: CLA_E_USAGE (n or samples 0), CLA_E_NOMEM. */
cla_status cla_bleu_bootstrap(const cla_bleu_options *options,
                              const cla_bleu_counts *model, const cla_bleu_counts *base,
                              size_t n, int samples, uint32_t seed, cla_bootstrap *out);

/* The same by the length of n-grams: p[k - 1] is the share of resamples in which BP p_k
 * of the baseline is at least that of the model, k = 1 to CLA_MAX_ORDER.
 * Errors: CLA_E_USAGE (n or samples 0). */
cla_status cla_bleu_bootstrap_orders(const cla_bleu_counts *model,
                                     const cla_bleu_counts *base, size_t n, int samples,
                                     uint32_t seed, double p[CLA_MAX_ORDER]);

/* R_i of all prefixes of a hypothesis [n], i = 1..n, with every count starting at 1:
 * R_i = (prod_{k=1..4} (correct_k + 1) / (max(0, i-k+1) + 1))^(1/4) BP_i,
 * BP_i = exp(1 - references/i) below the reference's length, else 1. n-grams with the
 * token unknown match nothing (-1: there is none). Errors: CLA_E_NOMEM. */
cla_status cla_prefix_bleu(const int32_t *ref, size_t ref_count, const int32_t *hyp,
                           size_t n, int32_t unknown, double *r);

/* G_t = (R_n - R_{t-1}) scale, R_0 = 0: what is still to come at t = 1..n, the sum of
 * the differences of R from t on. r and g may be the same. */
void cla_prefix_returns(const double *r, size_t n, double scale, double *g);
