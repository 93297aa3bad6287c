/* task.c - the poem task: settings, batches of lines of one length, losses. */
#include <string.h>

#include "base/rng.h"
#include "tasks/poetry/poetry.h"

/* ---- settings ------------------------------------------------------------------- */

static cla_status configure(poetry *t, cla_config *s)
{
    t->vectors = t->lexicon_path = t->themes_path = "";
    t->limit = 6000;
    t->batch = 64;
    t->word_count = 5;
    t->word_ratio = 3;
    t->word_dim = 64;
    t->vector_epochs = 2;
    CLA_TRY(cla_config_text(s, "data", &t->data));
    CLA_TRY(cla_config_text(s, "vectors", &t->vectors));
    CLA_TRY(cla_config_text(s, "lexicon", &t->lexicon_path));
    CLA_TRY(cla_config_text(s, "themes", &t->themes_path));
    CLA_TRY(cla_config_int(s, "characters", &t->limit, CLA_SPECIALS + 1, 1 << 20));
    CLA_TRY(cla_config_int(s, "batch", &t->batch, 1, 1 << 16));
    CLA_TRY(cla_config_int(s, "word_count", &t->word_count, 1, 1 << 30));
    CLA_TRY(cla_config_double(s, "word_ratio", &t->word_ratio, 0, 1e9));
    CLA_TRY(cla_config_int(s, "word_dim", &t->word_dim, 1, 4096));
    CLA_TRY(cla_config_int(s, "vector_epochs", &t->vector_epochs, 0, 1000));
    return cla_poet_configure(&t->config, s);
}

static cla_status open_task(cla_task *task, cla_config *settings, const char *dir,
                            cla_task_mode mode)
{
    poetry *t = (poetry *)task;
    CLA_TRY(configure(t, settings));
    t->training = mode != CLA_TASK_TRAINED;
    CLA_TRY(t->training ? cla_poetry_read_training(t, dir, mode)
                        : cla_poetry_load(t, dir));
    t->config.characters = (int)t->characters.count;
    task->examples = CLA_POEM_LINES * t->train.poems;
    return cla_poet_init(&t->model, &t->config, &task->params);
}

/* Fills the embeddings from the vectors of their characters, if there are any. */
static cla_status start_task(cla_task *task)
{
    poetry *t = (poetry *)task;
    cla_tensor *table = t->model.table;
    float *values = NULL;
    if (!t->begin.words.count) {
        return CLA_OK;
    }
    CLA_TRY(cla_alloc(&values, (size_t)cla_tensor_size(table), sizeof *values));
    cla_status status = cla_tensor_download(table, values);
    cla_vectors_fill(&t->begin, &t->characters, values);
    status = status ? status : cla_tensor_upload(table, values);
    cla_params_changed(&task->params);
    cla_vectors_free(&t->begin);
    free(values);
    return status;
}

static void close_task(cla_task *task)
{
    poetry *t = (poetry *)task;
    cla_vocab_free(&t->characters);
    cla_lexicon_free(&t->words);
    cla_ranking_free(&t->ranking);
    cla_themes_free(&t->themes);
    cla_vectors_free(&t->word_vectors);
    cla_vectors_free(&t->begin);
    cla_poetry_split_free(&t->train);
    free(t->first);
}

/* ---- batches -------------------------------------------------------------------- */

/* Lists the examples whose lines have length characters; returns their number. */
static int64_t of_length(const poetry_split *s, int32_t length, int64_t *examples)
{
    int64_t n = 0;
    for (int64_t e = 0; e < CLA_POEM_LINES * s->poems; e++) {
        if (s->length[e / CLA_POEM_LINES] == length) {
            examples[n++] = e;
        }
    }
    return n;
}

/* Cuts the n examples from at on into batches: adds the start of each. */
static void cut(poetry *t, int64_t at, int64_t n, int64_t *start)
{
    for (int64_t i = 0; i < n; i += t->batch) {
        start[t->batches++] = at + i;
    }
}

/* Writes the batches in the order of start. Examples of 5 characters end at fives,
 * those of 7 at all; the last batch of a length may not be full. */
static void put(poetry *t, const int64_t *from, const int64_t *start, int64_t fives,
                int64_t all, int64_t *to)
{
    int64_t n = 0;
    for (int64_t k = 0; k < t->batches; k++) {
        const int64_t end = start[k] < fives ? fives : all;
        const int64_t left = end - start[k];
        const int64_t count = left < t->batch ? left : t->batch;
        memcpy(to + n, from + start[k], (size_t)count * sizeof *to);
        t->first[k] = n;
        n += count;
    }
    t->first[t->batches] = n;
}

static cla_status order(cla_task *task, int64_t *examples, int64_t epoch)
{
    poetry *t = (poetry *)task;
    const int64_t all = task->examples;
    const uint32_t key[] = { task->seed, 0x506f656d }; // "Poem"
    int64_t *from = NULL;
    CLA_TRY(cla_alloc(&from, 2 * (size_t)all + 2, sizeof *from));
    if (!t->first) { // room for batches of one example
        const cla_status status =
            cla_alloc(&t->first, (size_t)all + 3, sizeof *t->first);
        if (status) {
            free(from);
            return status;
        }
    }
    int64_t *start = from + all;
    const int64_t fives = of_length(&t->train, 5, from);
    const int64_t sevens = of_length(&t->train, CLA_POEM_LONGEST, from + fives);
    t->batches = 0;
    cla_shuffle(from, fives, 1, key, (uint32_t)epoch, 0);
    cla_shuffle(from + fives, sevens, 1, key, (uint32_t)epoch, 1);
    cut(t, 0, fives, start);
    cut(t, fives, sevens, start);
    cla_shuffle(start, t->batches, 1, key, (uint32_t)epoch, 2);
    put(t, from, start, fives, all, examples);
    free(from);
    return CLA_OK;
}

/* Returns the size of the batch that starts at example next. */
static int64_t take(const cla_task *task, int64_t next)
{
    const poetry *t = (const poetry *)task;
    int64_t low = 0, high = t->batches;
    while (high - low > 1) {
        const int64_t middle = (low + high) / 2;
        *(t->first[middle] <= next ? &low : &high) = middle;
    }
    return t->first[low + 1] - next;
}

/* ---- losses --------------------------------------------------------------------- */

static double count_targets(cla_task *task, const int64_t *examples, int64_t n)
{
    const poetry_split *s = &((poetry *)task)->train;
    int64_t targets = 0;
    for (int64_t i = 0; i < n; i++) {
        targets += s->length[examples[i] / CLA_POEM_LINES];
    }
    return (double)targets;
}

/* Returns the number of lines before line `at`: at each position, random draws have a
 * row for each line. */
static int64_t count_rows(cla_task *task, const int64_t *examples, int64_t at)
{
    (void)task;
    (void)examples;
    return at;
}

static cla_status loss(cla_task *task, cla_tape *tape, const int64_t *examples,
                       int64_t n, cla_tensor **out)
{
    poetry *t = (poetry *)task;
    poetry_batch b;
    CLA_TRY(cla_poetry_batch_make(&b, &t->train, examples, n));
    const cla_status status = cla_poet_loss(&t->model, tape, out, &b.view);
    cla_poetry_batch_free(&b);
    return status;
}

static const char *const folder_files[] = { "characters.txt", "words.txt",
                                            "ranking.tsv", "words.vec", NULL };

static const char *const sometimes[] = { cla_poetry_themes_file, NULL };

const cla_task_kind cla_poetry_kind = {
    .name = "poet",
    .unit = "characters",
    .dev_split = "val",
    .higher_is_better = false,
    .size = sizeof(poetry),
    .files = folder_files,
    .sometimes = sometimes,
    .open = open_task,
    .start = start_task,
    .order = order,
    .take = take,
    .targets = count_targets,
    .rows = count_rows,
    .loss = loss,
    .evaluate = cla_poetry_evaluate,
    .close = close_task,
};
