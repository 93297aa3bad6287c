/* predict.c - predicts tags, computes attention maps and accuracies of a split. */
#include <math.h>

#include "tasks/tagging/tagging.h"

/* ---- predictions ------------------------------------------------------------- */

enum { PREDICT_TOKENS = 4096 };

/* Finds the tag with the largest logit of a row, other than a special tag. */
static cla_status best_of(const float *row, int tags, int32_t *best)
{
    *best = TAGGING_SPECIAL;
    for (int32_t k = 0; k < tags; k++) {
        if (!isfinite(row[k])) {
            return cla_fail(CLA_E_NUMERIC, "the scores of a word are not finite: the "
                                           "parameters are too large");
        }
        *best = k > *best && row[k] > row[*best] ? k : *best;
    }
    return CLA_OK;
}

static cla_status keep_best(const tagging *t, const tagging_split *s,
                            const int64_t *examples, int64_t n, const tagging_batch *b,
                            const float *logits, int32_t *predicted)
{
    const int tags = t->config.tags;
    for (int64_t i = 0; i < n; i++) {
        const chunk *c = &s->chunks[examples[i]];
        for (int64_t at = c->keep_first; at < c->keep_end; at++) {
            const float *row = logits + (b->offsets[i] + at - c->first) * tags;
            CLA_TRY(best_of(row, tags, &predicted[at]));
        }
    }
    return CLA_OK;
}

static cla_status predict_batch(tagging *t, cla_tape *tape, const tagging_split *s,
                                const int64_t *examples, int64_t n, int32_t *predicted)
{
    tagging_batch b;
    cla_tensor *logits = NULL;
    float *host = NULL;
    cla_status status = cla_tagging_batch_make(t, s, examples, n, &b);
    status =
        status ? status : cla_tagger_logits(&t->model, tape, &logits, &b.ids, NULL);
    status = status ? status
                    : cla_alloc(&host, (size_t)(b.ids.tokens * t->config.tags) + 1,
                                sizeof *host);
    status = status ? status : cla_tensor_download(logits, host);
    status = status ? status : keep_best(t, s, examples, n, &b, host, predicted);
    free(host);
    cla_tape_reset(tape);
    cla_tagging_batch_free(&b);
    return status;
}

static cla_status predict_all(tagging *t, cla_tape *tape, const tagging_split *s,
                              int64_t *examples, int32_t *predicted)
{
    int64_t n = 0, tokens = 0;
    for (size_t i = 0; i < s->chunk_count; i++) {
        examples[n++] = (int64_t)i;
        tokens += cla_tagging_padded(t) ? t->config.length : s->chunks[i].count;
        if (tokens >= PREDICT_TOKENS || i + 1 == s->chunk_count) {
            CLA_TRY(predict_batch(t, tape, s, examples, n, predicted));
            CLA_TRY(cla_task_tell(&t->task, (size_t)s->chunks[i].keep_end,
                                  (size_t)s->tokens));
            n = tokens = 0;
        }
    }
    return CLA_OK;
}

cla_status cla_tagging_predict(tagging *t, const tagging_split *s, int32_t *predicted)
{
    cla_tape *tape = NULL;
    int64_t *examples = NULL;
    cla_status status = cla_tagging_use(t, s);
    status = status ? status : cla_tape_new(&tape, t->task.rt, false);
    status =
        status ? status : cla_alloc(&examples, s->chunk_count + 1, sizeof *examples);
    status = status ? status : predict_all(t, tape, s, examples, predicted);
    cla_tape_free(&tape);
    free(examples);
    const cla_status back = t->train.tokens ? cla_tagging_use(t, &t->train) : CLA_OK;
    return status ? status : back;
}

cla_status cla_tagging_tag(tagging *t, const char *const *words, const size_t *length,
                           size_t count, const char **tags)
{
    cla_conllu file = { 0 };
    tagging_split s = { 0 };
    int32_t *predicted = NULL;
    CLA_TRY(cla_conllu_from_words(&file, words, length, count));
    cla_status status = cla_tagging_split_build(t, &s, &file);
    status = status ? status
                    : cla_alloc(&predicted, (size_t)s.tokens + 1, sizeof *predicted);
    status = status ? status : cla_tagging_predict(t, &s, predicted);
    for (int64_t i = 0; i < s.tokens && !status; i++) {
        tags[i] = t->tags.tokens[predicted[i]];
    }
    free(predicted);
    cla_tagging_split_free(&s);
    return status;
}

cla_status cla_tagging_look(tagging *t, const tagging_split *s, tagger_view *view)
{
    tagging_batch b = { 0 };
    cla_tape *tape = NULL;
    const int64_t first = 0;
    const bool mask_pad = t->mask_pad;
    t->mask_pad = true; // no padding in the maps
    cla_status status = cla_tagging_use(t, s);
    status = status ? status : cla_tagging_batch_make(t, s, &first, 1, &b);
    status = status ? status : cla_tape_new(&tape, t->task.rt, false);
    status = status ? status : cla_tagger_look(&t->model, tape, &b.ids, view);
    t->mask_pad = mask_pad;
    cla_tape_free(&tape);
    cla_tagging_batch_free(&b);
    return status;
}

/* ---- accuracy ---------------------------------------------------------------- */

typedef struct tally {
    int64_t right, all;
} tally;

static void count(tally *t, bool right)
{
    t->right += right;
    t->all++;
}

static double percent(const tally *t)
{
    return t->all ? 100.0 * (double)t->right / (double)t->all : 0;
}

/* Computes the accuracies. OOV words of the paper preset are outside the vocabulary;
 * those of the modern preset, and of the baseline, are unseen in training. */
static void score(const tagging *t, const tagging_split *s, const int32_t *predicted,
                  cla_metrics *m)
{
    tally all = { 0 }, oov = { 0 }, ambiguous = { 0 }, base = { 0 }, base_oov = { 0 },
          base_ambiguous = { 0 };
    for (int64_t i = 0; i < s->tokens; i++) {
        const bool known_tag = s->tag[i] != TAGGING_OOV;
        const bool right = known_tag && predicted[i] == s->tag[i];
        const int32_t form = s->form[i];
        const int32_t guess = form < 0 ? t->lexicon.overall : t->lexicon.majority[form];
        const bool base_right = known_tag && guess == s->tag[i];
        const bool is_oov =
            t->preset == TAGGING_PAPER ? s->word[i] == TAGGING_OOV : form < 0;
        count(&all, right);
        count(&base, base_right);
        if (is_oov) {
            count(&oov, right);
        } else if (form >= 0 && t->lexicon.ambiguous[form]) {
            count(&ambiguous, right);
        }
        if (form < 0) {
            count(&base_oov, base_right);
        } else if (t->lexicon.ambiguous[form]) {
            count(&base_ambiguous, base_right);
        }
    }
    *m = (cla_metrics){ 7,
                        { { "accuracy", percent(&all) },
                          { "accuracy_oov", percent(&oov) },
                          { "accuracy_ambiguous", percent(&ambiguous) },
                          { "majority", percent(&base) },
                          { "majority_oov", percent(&base_oov) },
                          { "majority_ambiguous", percent(&base_ambiguous) },
                          { "words", (double)all.all } } };
}

cla_status cla_tagging_evaluate(cla_task *task, const char *data, const char *split,
                                cla_metrics *metrics)
{
    tagging *t = (tagging *)task;
    cla_conllu file = { 0 };
    tagging_split s = { 0 };
    int32_t *predicted = NULL;
    cla_status status = cla_tagging_read(data ? data : t->data, split, &file);
    status = status ? status : cla_tagging_split_build(t, &s, &file);
    status = status ? status
                    : cla_alloc(&predicted, (size_t)s.tokens + 1, sizeof *predicted);
    status = status ? status : cla_tagging_predict(t, &s, predicted);
    if (!status) {
        score(t, &s, predicted, metrics);
    }
    free(predicted);
    cla_conllu_free(&file);
    cla_tagging_split_free(&s);
    return status;
}
