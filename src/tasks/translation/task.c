/* task.c - the translation task: settings, batches by number of pieces, losses. */
#include <math.h>
#include <string.h>

#include "tasks/translation/translation.h"

/* ---- settings ---------------------------------------------------------------- */

static cla_status read_model_files(translation *t, cla_config *s)
{
    CLA_TRY(cla_config_text(s, "sentencepiece", &t->sentencepiece));
    CLA_TRY(cla_config_text(s, "target_sentencepiece", &t->target_sentencepiece));
    CLA_TRY(cla_config_bool(s, "prefix_token", &t->prefix_token));
    CLA_TRY(cla_config_bool(s, "unknown_prefix", &t->unknown_prefix));
    CLA_TRY(
        cla_config_choice(s, "languages", cla_translation_languages, &t->languages));
    CLA_TRY(cla_config_bool(s, "tidy_output", &t->tidy_output));
    return !*t->target_sentencepiece || *t->sentencepiece
               ? CLA_OK
               : cla_config_refuse(s, "target_sentencepiece", "needs sentencepiece");
}

/* Reads the default search options of `clattn translate`. */
static cla_status read_search(search_options *o, cla_config *s)
{
    static const char *const kinds[] = { "tensor2tensor", "transformers",
                                         "transformers5", NULL };
    static const char *const early[] = { "estimate", "first", "never", NULL };
    *o = (search_options){
        .beam = 1, .best = 1, .alpha = 0.6, .extra = TRANSLATION_EXTRA, .end = CLA_EOS
    };
    CLA_TRY(cla_config_choice(s, "decoding", kinds, &o->kind));
    CLA_TRY(cla_config_choice(s, "early_stopping", early, &o->early));
    CLA_TRY(cla_config_int(s, "max_length", &o->most, 0, TRANSLATION_MAX_LENGTH));
    CLA_TRY(cla_config_bool(s, "forced_end", &o->forced));
    CLA_TRY(cla_config_bool(s, "never_pad", &o->never_pad));
    CLA_TRY(cla_config_int(s, "beam", &o->beam, 1, TRANSLATION_MAX_BEAM));
    return cla_config_double(s, "length_penalty", &o->alpha, 0, 10);
}

search_options cla_translation_search(const translation *t, int beam, int best,
                                      double alpha)
{
    search_options o = t->search;
    o.beam = beam;
    o.best = best;
    o.alpha = alpha;
    return o;
}

/* Adds the keys that are newer than a run, with the values that it implied. */
static cla_status renew(cla_config *settings, const cla_config *run)
{
    CLA_TRY(cla_transformer_renew(settings, run));
    return cla_config_complete(
        settings,
        json_pack(
            "{s:b, s:s, s:s, s:b, s:b, s:b, s:s, s:s, s:i, s:b, s:b, s:i, s:f, s:s}",
            "source_end", 1, "languages", cla_translation_languages[TRANSLATION_PREFIX],
            "target_sentencepiece", "", "prefix_token", 0, "unknown_prefix", 0,
            "tidy_output", 0, "decoding", "tensor2tensor", "early_stopping", "estimate",
            "max_length", 0, "forced_end", 0, "never_pad", 0, "beam", 1,
            "length_penalty", 0.6, "format", "clattn"));
}

static cla_status configure(translation *t, cla_config *s)
{
    static const char *const formats[] = { "clattn", "huggingface", "ctranslate2",
                                           NULL };
    int format = TRANSFORMER_CLATTN;
    t->train_stem = "train";
    t->dev_stem = "dev";
    t->test_stem = "test";
    t->tokens = 2048;
    t->max_pieces = 256;
    t->merges = 8000;
    t->split = t->source_end = true;
    t->sentencepiece = t->target_sentencepiece = "";
    CLA_TRY(cla_config_text(s, "data", &t->data));
    CLA_TRY(cla_config_text(s, "source", &t->source_name));
    CLA_TRY(cla_config_text(s, "target", &t->target_name));
    CLA_TRY(cla_config_text(s, "train", &t->train_stem));
    CLA_TRY(cla_config_text(s, "dev", &t->dev_stem));
    CLA_TRY(cla_config_text(s, "test", &t->test_stem));
    CLA_TRY(cla_config_int(s, "tokens", &t->tokens, 1, 1 << 24));
    CLA_TRY(cla_config_int(s, "max_pieces", &t->max_pieces, 0, 1 << 20));
    CLA_TRY(cla_config_int(s, "merges", &t->merges, 0, 1 << 24));
    CLA_TRY(cla_config_bool(s, "split", &t->split));
    CLA_TRY(cla_config_bool(s, "source_end", &t->source_end));
    CLA_TRY(read_model_files(t, s));
    CLA_TRY(read_search(&t->search, s));
    CLA_TRY(cla_transformer_configure(&t->config, s));
    CLA_TRY(cla_policy_configure(&t->policy, s, t->config.coder.hard.on));
    CLA_TRY(cla_config_choice(s, "format", formats, &format));
    return cla_transformer_check_format(&t->config, s, format, true);
}

static int64_t parameters(const cla_params *params)
{
    int64_t n = 0;
    for (size_t i = 0; i < params->count; i++) {
        const int64_t *shape = params->list[i].shape;
        n += shape[0] * shape[1] * shape[2] * shape[3];
    }
    return n;
}

static cla_status open_task(cla_task *task, cla_config *settings, const char *dir,
                            cla_task_mode mode)
{
    translation *t = (translation *)task;
    CLA_TRY(configure(t, settings));
    CLA_TRY(mode == CLA_TASK_TRAINED ? cla_translation_load_pieces(t, dir)
                                     : cla_translation_read_training(t, dir, mode));
    t->target.tidy = t->tidy_output;
    t->config.source_pieces = (int)t->source.vocab.count;
    t->config.target_pieces = (int)t->target.vocab.count;
    task->examples = t->text.count;
    CLA_TRY(cla_transformer_init(&t->model, &t->config, &task->params));
    cla_log(CLA_LOG_INFO, "translator: %lld parameters, %d and %d pieces",
            (long long)parameters(&task->params), t->config.source_pieces,
            t->config.target_pieces);
    return CLA_OK;
}

static void close_task(cla_task *task)
{
    translation *t = (translation *)task;
    cla_transformer_fini(&t->model);
    cla_subwords_free(&t->source);
    cla_subwords_free(&t->target);
    cla_sentences_free(&t->sentences);
    cla_bitext_free(&t->text);
    cla_prepared_close(&t->prepared);
    cla_buckets_free(&t->buckets);
    cla_pair_batch_free(&t->step.ids);
}

/* ---- training ---------------------------------------------------------------- */

static cla_status order(cla_task *task, int64_t *pairs, int64_t epoch)
{
    translation *t = (translation *)task;
    cla_buckets_free(&t->buckets);
    CLA_TRY(cla_buckets_make(&t->buckets, &t->text, t->tokens, task->seed,
                             (uint32_t)epoch));
    memcpy(pairs, t->buckets.pair, (size_t)t->text.count * sizeof *pairs);
    return CLA_OK;
}

/* Returns the size of the batch that starts at pair next. */
static int64_t take(const cla_task *task, int64_t next)
{
    const cla_buckets *b = &((const translation *)task)->buckets;
    int64_t low = 0, high = b->count;
    while (high - low > 1) {
        const int64_t middle = (low + high) / 2;
        *(b->first[middle] <= next ? &low : &high) = middle;
    }
    return b->first[low + 1] - next;
}

static double count_targets(cla_task *task, const int64_t *examples, int64_t n)
{
    const cla_bitext *text = &((translation *)task)->text;
    int64_t targets = 0;
    for (int64_t i = 0; i < n; i++) {
        targets += text->target_at[examples[i] + 1] - text->target_at[examples[i]];
    }
    return (double)targets;
}

/* Counts the rows of encoder and decoder before example `at`, for use by loss. Returns
 * those of the encoder. */
static int64_t count_rows(cla_task *task, const int64_t *examples, int64_t at)
{
    translation *t = (translation *)task;
    t->first_source = t->first_target = 0;
    for (int64_t i = 0; i < at; i++) {
        const int64_t pair = examples[i];
        t->first_source += t->text.source_at[pair + 1] - t->text.source_at[pair];
        t->first_target += t->text.target_at[pair + 1] - t->text.target_at[pair];
    }
    return t->first_source;
}

static cla_status loss(cla_task *task, cla_tape *tape, const int64_t *examples,
                       int64_t n, cla_tensor **out)
{
    translation *t = (translation *)task;
    translation_batch b;
    CLA_TRY(cla_translation_batch_make(task->rt, &t->text, examples, n, &b));
    cla_tape_keep(tape, b.source); // the rows must outlive the backward pass
    cla_tape_keep(tape, b.target);
    cla_pair_batch_free(&t->step.ids);
    t->step.ids = b.ids;
    t->step.source = b.source;
    t->step.target = b.target;
    t->step.pass = (cross_hard_pass){ 0 };
    transformer_batch batch =
        cla_translation_batch_view(&b, t->first_source, t->first_target);
    batch.pass = &t->step.pass;
    return cla_transformer_loss(&t->model, tape, out, &batch, t->config.smoothing,
                                &t->step.made);
}

static cla_status backward(cla_task *task, cla_tape *tape, cla_tensor *from,
                           double share)
{
    translation *t = (translation *)task;
    return cla_translation_policy_backward(t, tape, from, share);
}

static void report(cla_task *task, cla_metrics *metrics)
{
    cla_policy_report(&((translation *)task)->sums, metrics);
}

/* ---- evaluation -------------------------------------------------------------- */

/* Adds the summed loss of a batch, without label smoothing, to sum. */
static cla_status add_loss(translation *t, cla_tape *tape, const cla_bitext *text,
                           const int64_t *pair, int64_t n, double *sum)
{
    translation_batch b;
    cla_tensor *mean = NULL;
    float value = 0;
    CLA_TRY(cla_translation_batch_make(t->task.rt, text, pair, n, &b));
    const transformer_batch batch = cla_translation_batch_view(&b, 0, 0);
    cla_status status = cla_transformer_loss(&t->model, tape, &mean, &batch, 0, NULL);
    status = status ? status : cla_tensor_download(mean, &value);
    *sum += (double)value * (double)b.ids.target_count;
    cla_tape_reset(tape);
    cla_translation_batch_free(&b);
    return status;
}

static cla_status mean_loss(translation *t, const cla_bitext *text, double *mean)
{
    cla_tape *tape = NULL;
    cla_buckets buckets = { 0 };
    double sum = 0;
    cla_status status = cla_buckets_make(&buckets, text, t->tokens, 0, 0);
    status = status ? status : cla_tape_new(&tape, t->task.rt, false);
    for (int64_t k = 0; k < buckets.count && !status; k++) {
        const int64_t first = buckets.first[k];
        status = add_loss(t, tape, text, buckets.pair + first,
                          buckets.first[k + 1] - first, &sum);
    }
    cla_tape_free(&tape);
    cla_buckets_free(&buckets);
    *mean = sum / (double)text->target_at[text->count];
    return status;
}

const char *cla_translation_stem(const translation *t, const char *split)
{
    return strcmp(split, "dev") == 0    ? t->dev_stem
           : strcmp(split, "test") == 0 ? t->test_stem
                                        : split;
}

static cla_status evaluate(cla_task *task, const char *data, const char *split,
                           cla_metrics *metrics)
{
    translation *t = (translation *)task;
    cla_bitext text = { 0 };
    double mean = 0;
    const char *stem = cla_translation_stem(t, split);
    cla_status status =
        cla_translation_read_split(t, data ? data : t->data, stem, &text);
    status = status ? status : mean_loss(t, &text, &mean);
    if (!status) {
        *metrics =
            (cla_metrics){ 3,
                           { { "perplexity", exp(mean) },
                             { "nll", mean },
                             { "pieces", (double)text.target_at[text.count] } } };
    }
    cla_bitext_free(&text);
    return status;
}

static const char *const folder_files[] = { "codes.txt", "source.txt", "target.txt",
                                            NULL };
static const char *const sometimes[] = { "target_codes.txt", NULL };

const cla_task_kind cla_translation_kind = {
    .name = "translator",
    .unit = "pieces",
    .dev_split = "dev",
    .higher_is_better = false,
    .size = sizeof(translation),
    .files = folder_files,
    .sometimes = sometimes,
    .open = open_task,
    .renew = renew,
    .order = order,
    .take = take,
    .targets = count_targets,
    .rows = count_rows,
    .loss = loss,
    .backward = backward,
    .report = report,
    .evaluate = evaluate,
    .close = close_task,
};
