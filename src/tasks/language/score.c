/* score.c - cross entropy of a text. */
#include <math.h>

#include "tasks/language/language.h"

enum { TOKENS = 4096 }; // of a batch, about

/* Adds the summed loss of n windows from the first on. */
static cla_status add_loss(language *t, cla_tape *tape, const language_cut *cut,
                           int64_t first, int64_t n, double *sum)
{
    language_batch b;
    cla_ragged *rows = NULL;
    cla_tensor *loss = NULL;
    float mean = 0;
    CLA_TRY(cla_language_batch_make(&b, cut, NULL, first, n));
    cla_status status = cla_ragged_new(&rows, t->task.rt, b.sequences, b.offsets);
    if (!status) {
        const lm_tokens tokens = { b.count, b.id, b.position, rows, 0 };
        status = cla_lm_loss(&t->model, tape, &loss, &tokens, b.target);
    }
    status = status ? status : cla_tensor_download(loss, &mean);
    *sum += (double)mean * (double)b.count;
    cla_tape_reset(tape);
    cla_ragged_free(&rows);
    cla_language_batch_free(&b);
    return status;
}

static cla_status add_all(language *t, const cla_ids *ids, double *sum)
{
    const int64_t T = t->config.context, each = T < TOKENS ? TOKENS / T : 1;
    const language_cut cut = { ids, 0, T, t->start };
    const int64_t windows = cla_language_windows((int64_t)ids->count, 0, T);
    cla_tape *tape = NULL;
    CLA_TRY(cla_tape_new(&tape, t->task.rt, false));
    cla_status status = CLA_OK;
    for (int64_t i = 0; i < windows && !status; i += each) {
        const int64_t n = windows - i < each ? windows - i : each;
        status = add_loss(t, tape, &cut, i, n, sum);
    }
    cla_tape_free(&tape);
    return status;
}

cla_status cla_language_evaluate(cla_task *task, const char *data, const char *split,
                                 cla_metrics *metrics)
{
    language *t = (language *)task;
    language_text text = { 0 };
    double sum = 0;
    cla_status status = cla_language_read_split(t, data ? data : t->data, split, &text);
    status = status ? status : add_all(t, &text.ids, &sum);
    const double pieces = (double)text.ids.count - 1;
    if (!status) {
        *metrics = (cla_metrics){ 4,
                                  { { "nll", sum / pieces },
                                    { "perplexity", exp(sum / pieces) },
                                    { "bits_per_byte", sum / log(2) / text.bytes },
                                    { "pieces", pieces } } };
    }
    cla_language_text_free(&text);
    return status;
}

cla_status cla_language_score(language *t, const char *text, size_t size, double *nats,
                              int64_t *pieces)
{
    const char end = t->documents ? 0 : '\n';
    cla_ids ids = { 0 };
    cla_text all = { 0 };
    *nats = 0;
    cla_status status = cla_text_append(&all, &end, 1);
    status = status ? status : cla_text_append(&all, text, size);
    status = status ? status : cla_text_append(&all, &end, 1);
    status = status ? status : cla_language_encode(t, all.data, all.size, &ids);
    cla_text_free(&all);
    status = status ? status : add_all(t, &ids, nats);
    *pieces = (int64_t)ids.count - 1;
    cla_ids_free(&ids);
    if (!status && !isfinite(*nats)) {
        status = cla_fail(CLA_E_NUMERIC, "the weights give no finite scores");
    }
    return status;
}
