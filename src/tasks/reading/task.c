/* task.c - the reading task: settings, the order of questions, losses. */
#include <string.h>

#include "base/rng.h"
#include "tasks/reading/reading.h"
#include "tasks/vectors.h"

/* ---- settings -------------------------------------------------------------------- */

static cla_status configure(reading *t, cla_config *s)
{
    t->train_stem = "train";
    t->dev_stem = "dev";
    t->test_stem = "test";
    t->vectors = "";
    t->min_count = 2;
    t->batch = 32;
    t->passage_limit = 300;
    t->question_limit = 60;
    t->answer_limit = 15;
    t->char_limit = 16;
    t->lower = true;
    CLA_TRY(cla_config_text(s, "data", &t->data));
    CLA_TRY(cla_config_text(s, "train", &t->train_stem));
    CLA_TRY(cla_config_text(s, "dev", &t->dev_stem));
    CLA_TRY(cla_config_text(s, "test", &t->test_stem));
    CLA_TRY(cla_config_text(s, "vectors", &t->vectors));
    CLA_TRY(cla_config_int(s, "min_count", &t->min_count, 1, 1 << 20));
    CLA_TRY(cla_config_int(s, "limit", &t->limit, 0, 1 << 24));
    if (t->limit && t->limit <= CLA_SPECIALS) {
        return cla_fail(CLA_E_INPUT, "limit is %d, must be 0 or more than %d", t->limit,
                        CLA_SPECIALS);
    }
    CLA_TRY(cla_config_int(s, "batch", &t->batch, 1, 1 << 20));
    CLA_TRY(cla_config_int(s, "passage_limit", &t->passage_limit, 0, 1 << 20));
    CLA_TRY(cla_config_int(s, "question_limit", &t->question_limit, 0, 1 << 20));
    CLA_TRY(cla_config_int(s, "answer_limit", &t->answer_limit, 0, 1 << 20));
    CLA_TRY(cla_config_int(s, "char_limit", &t->char_limit, 1, 256));
    CLA_TRY(cla_config_bool(s, "lower", &t->lower));
    return cla_reader_configure(&t->config, s);
}

static cla_status open_task(cla_task *task, cla_config *settings, const char *dir,
                            cla_task_mode mode)
{
    reading *t = (reading *)task;
    CLA_TRY(configure(t, settings));
    CLA_TRY(mode == CLA_TASK_TRAINED ? cla_reading_load_words(t, dir)
                                     : cla_reading_open_training(t, dir, mode));
    t->config.words = (int)t->words.count;
    t->config.chars = (int)t->chars.count;
    task->examples = (int64_t)t->train.text.question_count;
    return cla_reader_init(&t->model, &t->config, &task->params);
}

/* Fills the word embeddings from the settings' file of vectors, if there is one. */
static cla_status start(cla_task *task)
{
    reading *t = (reading *)task;
    return *t->vectors ? cla_tasks_place_vectors(t->vectors, &t->words, t->model.words)
                       : CLA_OK;
}

static void close_task(cla_task *task)
{
    reading *t = (reading *)task;
    cla_params_free(&task->params); // first: it clears pointers in the network
    cla_reader_fini(&t->model);
    cla_reading_split_free(&t->train);
    cla_vocab_free(&t->words);
    cla_vocab_free(&t->chars);
}

/* ---- training -------------------------------------------------------------------- */

/* Shuffles the questions, sorts each group of TOGETHER batches by length, and shuffles
 * the full batches. A batch that is not full stays last. */
static cla_status order(cla_task *task, int64_t *examples, int64_t epoch)
{
    enum { TOGETHER = 16 };
    const reading *t = (const reading *)task;
    const int64_t n = task->examples, batch = t->batch, many = TOGETHER * batch;
    for (int64_t i = 0; i < n; i++) {
        examples[i] = i;
    }
    cla_shuffle(examples, n, 1, (uint32_t[]){ task->seed, 0x5eed }, (uint32_t)epoch, 0);
    for (int64_t at = 0; at < n; at += many) {
        const int64_t count = n - at < many ? n - at : many;
        CLA_TRY(cla_reading_sort(&t->train, examples + at, count));
    }
    cla_shuffle(examples, n / batch, batch, (uint32_t[]){ task->seed, 0xba7c },
                (uint32_t)epoch, 0);
    return CLA_OK;
}

static double count_targets(cla_task *task, const int64_t *examples, int64_t n)
{
    (void)task;
    (void)examples;
    return (double)n;
}

/* Counts the rows of questions and passages before example `at`, for use by loss.
 * Returns those of the passages. */
static int64_t count_rows(cla_task *task, const int64_t *examples, int64_t at)
{
    reading *t = (reading *)task;
    t->first_question = t->first_passage = 0;
    for (int64_t i = 0; i < at; i++) {
        const cla_reading_question *q = &t->train.text.questions[examples[i]];
        t->first_question += (int64_t)q->text.count;
        t->first_passage += cla_reading_length(&t->train, examples[i]);
    }
    return t->first_passage;
}

static cla_status loss(cla_task *task, cla_tape *tape, const int64_t *examples,
                       int64_t n, cla_tensor **out)
{
    reading *t = (reading *)task;
    reading_batch b;
    CLA_TRY(cla_reading_batch_make(t, &t->train, examples, n, &b));
    b.ids.first_question = t->first_question;
    b.ids.first_passage = t->first_passage;
    const cla_status status = cla_reader_loss(&t->model, tape, out, &b.ids);
    cla_tape_keep(tape, b.question_rows); // the rows must outlive the backward pass
    cla_tape_keep(tape, b.passage_rows);
    if (b.letter_rows) {
        cla_tape_keep(tape, b.letter_rows);
    }
    if (b.asked_rows) {
        cla_tape_keep(tape, b.asked_rows);
    }
    b.question_rows = b.passage_rows = b.asked_rows = b.letter_rows = NULL;
    cla_reading_batch_free(&b);
    return status;
}

static const char *const folder_files[] = { "words.txt", NULL };

static const char *const sometimes[] = { cla_reading_chars_file, NULL };

const cla_task_kind cla_reading_kind = {
    .name = "reader",
    .unit = "questions",
    .dev_split = "dev",
    .higher_is_better = true,
    .size = sizeof(reading),
    .files = folder_files,
    .sometimes = sometimes,
    .open = open_task,
    .start = start,
    .order = order,
    .targets = count_targets,
    .rows = count_rows,
    .loss = loss,
    .evaluate = cla_reading_evaluate,
    .close = close_task,
};
