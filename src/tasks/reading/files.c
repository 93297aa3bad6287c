/* files.c - finds the file of a split and reads it in SQuAD's or DuReader's layout. */
#include <errno.h>
#include <string.h>

#include "base/platform.h"
#include "tasks/reading/reading.h"
#include "text/dureader.h"

static const char *stem_of(const reading *t, const char *split)
{
    return strcmp(split, "dev") == 0     ? t->dev_stem
           : strcmp(split, "test") == 0  ? t->test_stem
           : strcmp(split, "train") == 0 ? t->train_stem
                                         : split;
}

static cla_squad_part part_of(const char *split)
{
    return strcmp(split, "train") == 0  ? CLA_SQUAD_TRAIN
           : strcmp(split, "dev") == 0  ? CLA_SQUAD_DEV
           : strcmp(split, "test") == 0 ? CLA_SQUAD_TEST
                                        : CLA_SQUAD_ALL;
}

/* Which questions of a file are read, and for which use: training cuts passages to
 * passage_limit and needs answers. */
typedef struct purpose {
    cla_squad_part part;
    bool training;
} purpose;

static cla_status read_squad(const reading *t, cla_reading *text, const char *path,
                             purpose why)
{
    const cla_squad_options options = {
        .part = why.part,
        .passage_limit = why.training ? t->passage_limit : 0,
        .question_limit = t->question_limit,
        .unanswered = !why.training,
    };
    cla_squad_counts counts = { 0 };
    CLA_TRY(cla_squad_read(text, path, &options, &counts));
    cla_log(CLA_LOG_INFO,
            "%s: %zu questions, %zu passages; %lld passages cut, %lld questions "
            "without their answer, %lld passages and %lld questions without a word",
            path, text->question_count, text->passage_count, (long long)counts.cut,
            (long long)counts.answerless, (long long)counts.empty,
            (long long)counts.wordless);
    if (counts.impossible) {
        cla_log(CLA_LOG_WARN, "%s: %lld questions have no answer (SQuAD 2.0): %s", path,
                (long long)counts.impossible,
                why.training ? "training leaves them out"
                             : "a reader answers each of them all the same");
    }
    return CLA_OK;
}

/* Reads DuReader's layout. Paragraphs are chosen by the answers in training, else by
 * the question. */
static cla_status read_dureader(const reading *t, cla_reading *text, const char *path,
                                purpose why)
{
    const cla_dureader_options options = {
        .part = why.part,
        .question_limit = t->question_limit,
        .passages = t->config.passages,
        .passage_limit = why.training ? t->passage_limit : 0,
        .answer_limit = t->answer_limit,
        .by_question = !why.training,
        .unanswered = !why.training,
    };
    cla_dureader_counts counts = { 0 };
    CLA_TRY(cla_dureader_read(text, path, &options, &counts));
    cla_log(
        CLA_LOG_INFO,
        "%s: %zu questions, %zu passages; %lld passages cut, %lld questions without "
        "a selected document, %lld without an answer in one, %lld without a word",
        path, text->question_count, text->passage_count, (long long)counts.cut,
        (long long)counts.unselected, (long long)counts.answerless,
        (long long)counts.wordless);
    return CLA_OK;
}

/* Reads *.jsonl as DuReader's layout, other files as SQuAD's. */
static cla_status read_file(const reading *t, cla_reading *text, const char *path,
                            purpose why)
{
    static const char lines[] = ".jsonl";
    const size_t size = strlen(path), end = sizeof lines - 1;
    return size > end && strcmp(path + size - end, lines) == 0
               ? read_dureader(t, text, path, why)
               : read_squad(t, text, path, why);
}

cla_status cla_reading_read_file(const reading *t, const char *path, cla_reading *text)
{
    return read_file(t, text, path, (purpose){ CLA_SQUAD_ALL, false });
}

/* Turns path from .json into .jsonl if that file exists; otherwise a message about the
 * missing file names .json. */
static cla_status prefer_lines(cla_text *path)
{
    CLA_TRY(cla_text_add(path, "l"));
    if (!cla_os_may(path->data, CLA_MAY_BE)) {
        path->data[--path->size] = 0;
    }
    return CLA_OK;
}

static bool is_file(const char *path)
{
    cla_os_info info;
    return cla_os_info_of(path, &info) && info.kind != CLA_OS_FOLDER;
}

/* Writes the path of a split's file in a folder. */
static cla_status find(const reading *t, const char *folder, const char *split,
                       cla_text *path)
{
    CLA_TRY(cla_text_add(path, "%s/%s.json", folder, stem_of(t, split)));
    return cla_os_may(path->data, CLA_MAY_BE) ? CLA_OK : prefer_lines(path);
}

cla_status cla_reading_check_split(const reading *t, const char *split)
{
    cla_text path = { 0 };
    if (is_file(t->data)) {
        return CLA_OK;
    }
    cla_status status = find(t, t->data, split, &path);
    if (!status && !cla_os_may(path.data, CLA_MAY_READ)) {
        status = cla_fail(CLA_E_IO, "%s: cannot open: %s", path.data, strerror(errno));
    }
    cla_text_free(&path);
    return status;
}

cla_status cla_reading_read_split(const reading *t, const char *data, const char *split,
                                  cla_reading *text)
{
    const char *folder = data ? data : t->data;
    purpose why = { CLA_SQUAD_ALL, text == &t->train.text };
    if (is_file(folder)) {
        why.part = data ? CLA_SQUAD_ALL : part_of(split);
        return read_file(t, text, folder, why);
    }
    cla_text path = { 0 };
    cla_status status = find(t, folder, split, &path);
    status = status ? status : read_file(t, text, path.data, why);
    cla_text_free(&path);
    return status;
}
