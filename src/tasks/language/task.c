/* task.c - the language modelling task: settings, windows of the text, losses. */
#include <math.h>

#include "base/rng.h"
#include "tasks/language/language.h"

enum { DRAWS = 0x4c6d6f64 }; // "Lmod"

/* ---- settings ------------------------------------------------------------------- */

/* Reads the piece that ends a document, or a list: that piece, and others that end a
 * text that is written. */
static cla_status read_ends(language *t, cla_config *s)
{
    static const char *const key[] = { "end_token", NULL };
    const json_t *list = json_object_get(s->values, key[0]);
    const size_t count = json_array_size(list);
    if (!json_is_array(list)) {
        return cla_config_text(s, key[0], &t->end_token);
    }
    CLA_TRY(cla_config_know(s, key));
    for (size_t i = 0; i < count; i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (!name || !*name || count > LANGUAGE_STOPS + 1) {
            return cla_config_refuse(s, key[0],
                                     "must be a piece, or a list of at most %d of them",
                                     LANGUAGE_STOPS + 1);
        }
        *(i ? &t->stop[t->stops++] : &t->end_token) = name;
    }
    return CLA_OK;
}

/* Reads the keys of a tokenizer of another program. */
static cla_status configure_tokenizer(language *t, cla_config *s)
{
    t->tokenizer_path = t->end_token = "";
    t->start = t->end = CLA_EOS;
    CLA_TRY(cla_config_text(s, "tokenizer", &t->tokenizer_path));
    CLA_TRY(read_ends(t, s));
    CLA_TRY(cla_config_int(s, "vocabulary", &t->rows, 0, 1 << 24));
    const bool used = t->pieces == LANGUAGE_TOKENIZER;
    if (!used && (*t->end_token || t->rows)) {
        return cla_config_refuse(s, *t->end_token ? "end_token" : "vocabulary",
                                 "needs pieces 'tokenizer'");
    }
    return used == (*t->tokenizer_path != 0)
               ? CLA_OK
               : cla_config_refuse(s, "tokenizer",
                                   used ? "must name a tokenizer.json: pieces are "
                                          "'tokenizer'"
                                        : "needs pieces 'tokenizer'");
}

static cla_status configure(language *t, cla_config *s)
{
    static const char *const pieces[] = { "bytes",         "characters", "bpe",
                                          "sentencepiece", "tokenizer",  NULL };
    t->train_name = "train.txt";
    t->dev_name = "dev.txt";
    t->test_name = "test.txt";
    CLA_TRY(cla_config_text(s, "data", &t->data));
    CLA_TRY(cla_config_text(s, "train", &t->train_name));
    CLA_TRY(cla_config_text(s, "dev", &t->dev_name));
    CLA_TRY(cla_config_text(s, "test", &t->test_name));
    CLA_TRY(cla_config_double(s, "hold_out", &t->hold_out, 0, 0.9));
    CLA_TRY(cla_config_choice(s, "pieces", pieces, &t->pieces));
    CLA_TRY(cla_config_bool(s, "documents", &t->documents));
    t->merges = 8000;
    t->split = true;
    t->sentencepiece = "";
    CLA_TRY(cla_config_int(s, "merges", &t->merges, 0, 1 << 24));
    CLA_TRY(cla_config_bool(s, "split", &t->split));
    CLA_TRY(cla_config_text(s, "sentencepiece", &t->sentencepiece));
    CLA_TRY(configure_tokenizer(t, s));
    if ((t->pieces == LANGUAGE_MODEL) != (*t->sentencepiece != 0)) {
        return cla_config_refuse(s, "sentencepiece",
                                 *t->sentencepiece
                                     ? "needs pieces 'sentencepiece'"
                                     : "must name a model: pieces are 'sentencepiece'");
    }
    return cla_lm_configure(&t->config, s);
}

static cla_status open_task(cla_task *task, cla_config *settings, const char *dir,
                            cla_task_mode mode)
{
    language *t = (language *)task;
    CLA_TRY(configure(t, settings));
    CLA_TRY(mode == CLA_TASK_TRAINED ? cla_language_load(t, dir)
                                     : cla_language_read_training(t, dir, mode));
    t->config.pieces = cla_language_count(t);
    // a text of two windows or more loses one to the shift of each epoch
    const int64_t n = (int64_t)t->train.ids.count, T = t->config.context;
    task->examples = n > 2 * T ? (n - T) / T : cla_language_windows(n, 0, T);
    return cla_lm_init(&t->model, &t->config, &task->params);
}

static void close_task(cla_task *task)
{
    language *t = (language *)task;
    cla_lm_fini(&t->model);
    cla_subwords_free(&t->subwords);
    cla_codec_free(&t->tokenizer);
    cla_language_text_free(&t->train);
}

/* ---- windows -------------------------------------------------------------------- */

/* Shuffles the windows of an epoch. They begin at another piece in each epoch, so that
 * pieces see others before them. */
static cla_status order(cla_task *task, int64_t *examples, int64_t epoch)
{
    language *t = (language *)task;
    const uint32_t key[2] = { task->seed, DRAWS }, counter[4] = { (uint32_t)epoch };
    const int64_t n = (int64_t)t->train.ids.count, T = t->config.context;
    t->shift =
        n > 2 * T ? (int64_t)(cla_philox4x32(counter, key).v[3] % (uint32_t)T) : 0;
    for (int64_t i = 0; i < task->examples; i++) {
        examples[i] = i;
    }
    cla_shuffle(examples, task->examples, 1, key, (uint32_t)epoch, 0);
    return CLA_OK;
}

static language_cut training_cut(const language *t)
{
    return (language_cut){ &t->train.ids, t->shift, t->config.context, t->start };
}

/* Returns the pieces of a window that are predicted. */
static int64_t targets_of(const language *t, int64_t window)
{
    const int64_t T = t->config.context;
    const int64_t left = (int64_t)t->train.ids.count - 1 - t->shift - window * T;
    return left < T ? left : T;
}

static double count_targets(cla_task *task, const int64_t *examples, int64_t n)
{
    const language *t = (language *)task;
    int64_t targets = 0;
    for (int64_t i = 0; i < n; i++) {
        targets += targets_of(t, examples[i]);
    }
    return (double)targets;
}

static int64_t count_rows(cla_task *task, const int64_t *examples, int64_t at)
{
    language *t = (language *)task;
    t->first = (int64_t)count_targets(task, examples, at);
    return t->first;
}

static cla_status loss(cla_task *task, cla_tape *tape, const int64_t *examples,
                       int64_t n, cla_tensor **out)
{
    language *t = (language *)task;
    const language_cut cut = training_cut(t);
    language_batch b;
    cla_ragged *rows = NULL;
    CLA_TRY(cla_language_batch_make(&b, &cut, examples, 0, n));
    cla_status status = cla_ragged_new(&rows, task->rt, b.sequences, b.offsets);
    if (!status) {
        cla_tape_keep(tape, rows); // they must outlive the backward pass
        const lm_tokens tokens = { b.count, b.id, b.position, rows, t->first };
        status = cla_lm_loss(&t->model, tape, out, &tokens, b.target);
    }
    cla_language_batch_free(&b);
    return status;
}

static const char *const folder_files[] = { NULL };

const cla_task_kind cla_language_kind = {
    .name = "lm",
    .unit = "pieces",
    .dev_split = "dev",
    .higher_is_better = false,
    .size = sizeof(language),
    .files = folder_files,
    .sometimes = cla_language_files,
    .open = open_task,
    .order = order,
    .targets = count_targets,
    .rows = count_rows,
    .loss = loss,
    .evaluate = cla_language_evaluate,
    .close = close_task,
};
