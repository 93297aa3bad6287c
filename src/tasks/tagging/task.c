/* task.c - the tagging task: data, settings, losses. */
#include <stdio.h>
#include <string.h>

#include "base/platform.h"
#include "tasks/tagging/tagging.h"
#include "tasks/vectors.h"

static const char *const preset_names[] = { "paper", "modern", NULL };
static const char *const column_names[] = { "upos", "xpos", NULL };

/* ---- the task ---------------------------------------------------------------- */

static double count_targets(cla_task *task, const int64_t *examples, int64_t n)
{
    const tagging_split *s = &((tagging *)task)->train;
    int64_t targets = 0;
    for (int64_t i = 0; i < n; i++) {
        const chunk *c = &s->chunks[examples[i]];
        targets += c->keep_end - c->keep_first;
    }
    return (double)targets;
}

static int64_t count_rows(cla_task *task, const int64_t *examples, int64_t at)
{
    const tagging *t = (tagging *)task;
    int64_t rows = 0;
    for (int64_t i = 0; i < at; i++) {
        rows += cla_tagging_padded(t) ? t->config.length
                                      : t->train.chunks[examples[i]].count;
    }
    return rows;
}

static cla_status loss(cla_task *task, cla_tape *tape, const int64_t *examples,
                       int64_t n, cla_tensor **out)
{
    tagging *t = (tagging *)task;
    tagging_batch b;
    cla_status status = cla_tagging_batch_make(t, &t->train, examples, n, &b);
    status = status ? status : cla_tagger_loss(&t->model, tape, out, &b.ids);
    if (!status) { // the rows must outlive the backward pass
        cla_tape_keep(tape, b.rows);
        b.rows = NULL;
    }
    cla_tagging_batch_free(&b);
    return status;
}

cla_status cla_tagging_read(const char *data, const char *split, cla_conllu *file)
{
    cla_os_info info;
    if (cla_os_info_of(data, &info) && info.kind != CLA_OS_FOLDER) {
        return cla_conllu_read(file, data);
    }
    cla_text path = { 0 };
    cla_status status = cla_text_add(&path, "%s/%s.conllu", data, split);
    status = status ? status : cla_conllu_read(file, path.data);
    cla_text_free(&path);
    return status;
}

static cla_status configure(tagging *t, cla_config *settings)
{
    CLA_TRY(cla_config_choice(settings, "preset", preset_names, &t->preset));
    CLA_TRY(cla_config_choice(settings, "column", column_names, &t->xpos));
    t->mask_pad = t->preset == TAGGING_MODERN;
    CLA_TRY(cla_config_bool(settings, "mask_pad", &t->mask_pad));
    CLA_TRY(cla_config_text(settings, "data", &t->data));
    t->vectors = "";
    CLA_TRY(cla_config_text(settings, "vectors", &t->vectors));
    CLA_TRY(cla_config_int(settings, "limit", &t->limit, 0, 1 << 24));
    return cla_tagger_configure(&t->config, settings);
}

/* For the modern preset, sets length to that of the longest training sentence, unless
 * it is given. */
static cla_status find_length(tagging *t, cla_config *settings, const cla_conllu *train,
                              bool given)
{
    if (t->preset != TAGGING_MODERN || given) {
        return CLA_OK;
    }
    t->config.length = 1;
    for (size_t i = 0; i < train->sentence_count; i++) {
        const int words = (int)train->sentences[i].count;
        t->config.length = words > t->config.length ? words : t->config.length;
    }
    char assignment[32];
    snprintf(assignment, sizeof assignment, "length=%d", t->config.length);
    return cla_config_set(settings, assignment);
}

/* Checks that there is something to learn: other columns than UPOS are often empty. */
static cla_status check_tags(const tagging *t, const cla_conllu *train)
{
    for (size_t i = 0; i < train->word_count; i++) {
        if (strcmp(train->words[i].tag, "_") != 0) {
            return CLA_OK;
        }
    }
    return cla_fail(CLA_E_INPUT, "%s: no word has a tag in column %d, %s", train->path,
                    train->column, column_names[t->xpos]);
}

/* Writes the vocabularies of a new run; checks that a resumed run finds the same. */
static cla_status settle_vocabularies(const tagging *t, const char *dir,
                                      cla_task_mode mode)
{
    if (mode == CLA_TASK_RESUMED) {
        return cla_tagging_compare_vocabularies(t, dir);
    }
    return dir ? cla_tagging_save_vocabularies(t, dir) : CLA_OK;
}

static cla_status open_training(tagging *t, cla_config *settings, const char *dir,
                                cla_task_mode mode)
{
    const bool length_given = json_object_get(settings->values, "length") != NULL;
    static const char *const splits[] = { "train", "dev", "test" };
    cla_conllu files[3] = { { 0 } };
    cla_status status = CLA_OK;
    for (int i = 0; i < 3 && !status; i++) {
        status = cla_tagging_read(t->data, splits[i], &files[i]);
        cla_tagging_use_column(t, &files[i]);
    }
    status = status ? status : check_tags(t, &files[0]);
    status = status ? status : cla_tagging_build_vocabularies(t, files, 3);
    status = status ? status : settle_vocabularies(t, dir, mode);
    status = status ? status : find_length(t, settings, &files[0], length_given);
    status = status ? status : cla_tagging_split_build(t, &t->train, &files[0]);
    status = status ? status : cla_tagging_use(t, &t->train);
    t->task.examples = (int64_t)t->train.chunk_count;
    for (int i = 0; i < 3; i++) {
        cla_conllu_free(&files[i]);
    }
    return status;
}

static cla_status open_task(cla_task *task, cla_config *settings, const char *dir,
                            cla_task_mode mode)
{
    tagging *t = (tagging *)task;
    CLA_TRY(configure(t, settings));
    CLA_TRY(mode == CLA_TASK_TRAINED ? cla_tagging_load_vocabularies(t, dir)
                                     : open_training(t, settings, dir, mode));
    t->config.words = (int)t->words.count;
    t->config.chars = (int)t->chars.count;
    t->config.tags = (int)t->tags.count;
    return cla_tagger_init(&t->model, &t->config, &task->params);
}

/* Fills the word embeddings from the settings' file of vectors, if there is one. */
static cla_status start(cla_task *task)
{
    tagging *t = (tagging *)task;
    return *t->vectors
               ? cla_tasks_place_vectors(t->vectors, &t->words, t->model.word_table)
               : CLA_OK;
}

static void close_task(cla_task *task)
{
    tagging *t = (tagging *)task;
    cla_tagging_split_free(&t->train);
    cla_tagging_free_vocabularies(t);
    free(t->stamp);
    free(t->local);
}

static const char *const folder_files[] = { "words.txt", "chars.txt", "tags.txt",
                                            "lexicon.tsv", NULL };

const cla_task_kind cla_tagging_kind = {
    .name = "tagger",
    .unit = "words",
    .dev_split = "dev",
    .higher_is_better = true,
    .baseline = "majority",
    .size = sizeof(tagging),
    .files = folder_files,
    .open = open_task,
    .start = start,
    .renew = cla_tagger_renew,
    .targets = count_targets,
    .rows = count_rows,
    .loss = loss,
    .evaluate = cla_tagging_evaluate,
    .close = close_task,
};
