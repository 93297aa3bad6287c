/* chrf.h - chrF2, the F-score of character n-grams, as sacreBLEU computes it: n-grams
 * of 1 to 6 characters without blanks; recall counts twice as much as precision.
 * Source: Popovic 2015. */
#pragma once

#include "metrics/ngrams.h"
#include "text/lines.h"

enum { CLA_CHRF_ORDER = 6, CLA_CHRF_BETA = 2 };

/* Sufficient statistics of a score. Those of a corpus are sums over sentences. Index k
 * is for n-grams of k + 1 characters. */
typedef struct cla_chrf_counts {
    int64_t match[CLA_CHRF_ORDER]; // matched n-grams, clipped
    int64_t hyp[CLA_CHRF_ORDER];   // of the hypothesis; 0 where the reference has none
    int64_t ref[CLA_CHRF_ORDER];   // of the reference
} cla_chrf_counts;

/* A scorer. {0} is empty; lowercase is the caller's to set: compare texts in lower
 * case (cla_utf8_lower_text). */
typedef struct cla_chrf {
    bool lowercase;
    cla_ngrams ngrams;
    struct cla_chrf_characters {
        int32_t *code;
        size_t count, cap;
    } hyp, ref;
    cla_text lower; // scratch
} cla_chrf;

void cla_chrf_free(cla_chrf *c);

/* Counts one hypothesis (UTF-8) against the one of its references [n], n >= 1, that
 * gives the highest score; ties go to the first. Errors: CLA_E_NOMEM. */
cla_status cla_chrf_count(cla_chrf *c, const cla_line *hyp, const cla_line *refs,
                          size_t n, cla_chrf_counts *counts);
void cla_chrf_add(cla_chrf_counts *sum, const cla_chrf_counts *counts);

/* Computes 100 (1 + b^2) P R / (b^2 P + R) with b = 2, P and R the means of match/hyp
 * and match/ref over the orders that both sides have; 0 without a match. */
double cla_chrf_of(const cla_chrf_counts *counts);

/* Appends the signature: "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:...".
 * Errors: CLA_E_NOMEM. */
cla_status cla_chrf_signature(bool lowercase, size_t references, cla_text *out);
