/* rouge.c - ROUGE-L: longest common subsequences. */
#include "metrics/reading.h"

/* Returns the length of the longest common subsequence; row has b->count + 1 zeros. */
static int64_t common(const cla_tokens *a, const cla_tokens *b, int64_t *row)
{
    for (size_t i = 0; i < a->count; i++) {
        int64_t corner = 0;
        for (size_t j = 1; j <= b->count; j++) {
            const int64_t above = row[j];
            const int64_t longer = above > row[j - 1] ? above : row[j - 1];
            row[j] = a->id[i] == b->id[j - 1] ? corner + 1 : longer;
            corner = above;
        }
    }
    return row[b->count];
}

cla_status cla_rouge_l(const cla_tokens *candidate, const cla_tokens *references,
                       size_t n, double *score)
{
    const double beta2 = 1.2 * 1.2;
    double precision = 0, recall = 0;
    *score = 0;
    for (size_t i = 0; i < n; i++) {
        const cla_tokens *reference = &references[i];
        int64_t *row = NULL;
        if (!candidate->count && !reference->count) {
            precision = recall = 1; // the caption scorer's only word of both is empty
            continue;
        }
        CLA_TRY(cla_alloc(&row, reference->count + 1, sizeof *row));
        const double length = (double)common(candidate, reference, row);
        free(row);
        if (length > 0) { // then neither is empty
            const double p = length / (double)candidate->count;
            const double r = length / (double)reference->count;
            precision = p > precision ? p : precision;
            recall = r > recall ? r : recall;
        }
    }
    if (precision > 0) {
        *score = (1 + beta2) * precision * recall / (recall + beta2 * precision);
    }
    return CLA_OK;
}

cla_status cla_rouge_l_line(cla_tokenizer *t, const cla_line *candidate,
                            const cla_line *references, size_t n, double *score)
{
    cla_tokens *tokens = NULL; // of the references, then of the candidate
    CLA_TRY(cla_alloc(&tokens, n + 1, sizeof *tokens));
    cla_status status =
        cla_tokenize_ids(t, candidate->text, candidate->size, &tokens[n]);
    for (size_t i = 0; i < n && !status; i++) {
        status =
            cla_tokenize_ids(t, references[i].text, references[i].size, &tokens[i]);
    }
    status = status ? status : cla_rouge_l(&tokens[n], tokens, n, score);
    for (size_t i = 0; i <= n; i++) {
        cla_tokens_free(&tokens[i]);
    }
    free(tokens);
    return status;
}
