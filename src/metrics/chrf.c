/* chrf.c - chrF: counts of a sentence, scores of counts, the signature. */
#include "metrics/chrf.h"

#include "base/utf8.h"
#include "clattn/status.h"

void cla_chrf_free(cla_chrf *c)
{
    cla_ngrams_free(&c->ngrams);
    free(c->hyp.code);
    free(c->ref.code);
    cla_text_free(&c->lower);
    *c = (cla_chrf){ .lowercase = c->lowercase };
}

/* Reads the characters of a line, without blanks. Lower-cases the whole line first: a
 * sigma depends on the blanks around it. */
static cla_status characters(cla_chrf *c, const cla_line *line,
                             struct cla_chrf_characters *out)
{
    cla_line read = *line;
    if (c->lowercase) {
        c->lower.size = 0;
        CLA_TRY(cla_utf8_lower_text(line->text, line->size, &c->lower));
        read = (cla_line){ c->lower.data, c->lower.size };
    }
    out->count = 0;
    CLA_TRY(cla_grow(&out->code, &out->cap, read.size + 1, sizeof *out->code));
    for (size_t at = 0; at < read.size;) {
        int32_t code;
        at += (size_t)cla_utf8_step(read.text + at, read.size - at, &code);
        if (!cla_utf8_is_space(code)) {
            out->code[out->count++] = code;
        }
    }
    return CLA_OK;
}

static int64_t grams(size_t characters, int k)
{
    return characters > (size_t)k ? (int64_t)characters - k : 0;
}

/* Counts the matches of c->hyp with c->ref. */
static cla_status match(cla_chrf *c, cla_chrf_counts *counts)
{
    int64_t correct[CLA_MAX_ORDER] = { 0 };
    cla_ngram_walk walk;
    c->ngrams.order = CLA_CHRF_ORDER;
    cla_ngrams_clear(&c->ngrams);
    CLA_TRY(cla_ngrams_add_reference(&c->ngrams, c->ref.code, c->ref.count));
    cla_ngrams_start(&c->ngrams, &walk);
    for (size_t i = 0; i < c->hyp.count; i++) {
        cla_ngrams_step(&c->ngrams, &walk, c->hyp.code[i], correct);
    }
    for (int k = 0; k < CLA_CHRF_ORDER; k++) {
        counts->match[k] = correct[k];
        counts->ref[k] = grams(c->ref.count, k);
        counts->hyp[k] = counts->ref[k] ? grams(c->hyp.count, k) : 0;
    }
    return CLA_OK;
}

cla_status cla_chrf_count(cla_chrf *c, const cla_line *hyp, const cla_line *refs,
                          size_t n, cla_chrf_counts *counts)
{
    double best = -1;
    *counts = (cla_chrf_counts){ 0 };
    CLA_TRY(characters(c, hyp, &c->hyp));
    for (size_t i = 0; i < n; i++) {
        cla_chrf_counts one;
        CLA_TRY(characters(c, &refs[i], &c->ref));
        CLA_TRY(match(c, &one));
        const double score = cla_chrf_of(&one);
        if (score > best) {
            best = score;
            *counts = one;
        }
    }
    return CLA_OK;
}

void cla_chrf_add(cla_chrf_counts *sum, const cla_chrf_counts *counts)
{
    for (int k = 0; k < CLA_CHRF_ORDER; k++) {
        sum->match[k] += counts->match[k];
        sum->hyp[k] += counts->hyp[k];
        sum->ref[k] += counts->ref[k];
    }
}

double cla_chrf_of(const cla_chrf_counts *c)
{
    const double weight = CLA_CHRF_BETA * CLA_CHRF_BETA;
    double precision = 0, recall = 0;
    int orders = 0;
    for (int k = 0; k < CLA_CHRF_ORDER; k++) {
        if (c->hyp[k] && c->ref[k]) {
            precision += (double)c->match[k] / (double)c->hyp[k];
            recall += (double)c->match[k] / (double)c->ref[k];
            orders++;
        }
    }
    if (!(precision > 0)) {
        return 0;
    }
    precision /= orders;
    recall /= orders;
    return 100 * (1 + weight) * precision * recall / (weight * precision + recall);
}

cla_status cla_chrf_signature(bool lowercase, size_t references, cla_text *out)
{
    return cla_text_add(out,
                        "nrefs:%zu|case:%s|eff:yes|nc:%d|nw:0|space:no|version:"
                        "clattn-%s",
                        references, lowercase ? "lc" : "mixed", CLA_CHRF_ORDER,
                        cla_version());
}
