/* score.c - the confusion matrix of the tags, and the scores of each tag. */
#include "tasks/tagging/tagging.h"

cla_status cla_tagging_confuse(tagging *t, const char *data, const char *split,
                               int64_t **counts)
{
    const size_t tags = (size_t)t->config.tags;
    cla_conllu file = { 0 };
    tagging_split s = { 0 };
    int32_t *predicted = NULL;
    *counts = NULL;
    cla_status status = cla_tagging_read(data ? data : t->data, split, &file);
    status = status ? status : cla_tagging_split_build(t, &s, &file);
    status = status ? status
                    : cla_alloc(&predicted, (size_t)s.tokens + 1, sizeof *predicted);
    status = status ? status : cla_alloc(counts, tags * tags, sizeof **counts);
    status = status ? status : cla_tagging_predict(t, &s, predicted);
    for (int64_t i = 0; i < s.tokens && !status; i++) {
        (*counts)[(size_t)s.tag[i] * tags + (size_t)predicted[i]]++;
    }
    if (status) {
        free(*counts);
        *counts = NULL;
    }
    free(predicted);
    cla_conllu_free(&file);
    cla_tagging_split_free(&s);
    return status;
}

tagging_score cla_tagging_score_of(const int64_t *counts, int tags, int tag)
{
    int64_t gold = 0, said = 0;
    const int64_t right = counts[tag * tags + tag];
    for (int k = 0; k < tags; k++) {
        gold += counts[tag * tags + k];
        said += counts[k * tags + tag];
    }
    return (tagging_score){
        .words = gold,
        .precision = said ? 100.0 * (double)right / (double)said : 0,
        .recall = gold ? 100.0 * (double)right / (double)gold : 0,
        .f1 = (gold + said) ? 200.0 * (double)right / (double)(gold + said) : 0,
    };
}
