/* answers.c - fuzz targets: questions with answers, and the input of scores. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "fuzz.h"
#include "tasks/reading/reading.h"
#include "text/dureader.h"
#include "text/squad.h"

/* Checks that every text lies in the bytes and every answer in a passage of its
 * question. */
static void use_reading(const cla_reading *r)
{
    cla_vocab words = { 0 };
    cla_text quote = { 0 };
    int32_t *ids = NULL;
    FUZZ_CHECK(!cla_reading_vocab(r, 1, true, 0, &words), "%s", cla_error());
    FUZZ_CHECK(!cla_alloc(&ids, r->words.count + 1, sizeof *ids), "%s", cla_error());
    FUZZ_CHECK(!cla_reading_ids(r, &words, true, ids), "%s", cla_error());
    for (size_t i = 0; i < r->question_count; i++) {
        const cla_reading_question *q = &r->questions[i];
        const cla_reading_answer *gold = cla_reading_gold(r, q);
        FUZZ_CHECK(strlen(cla_reading_string(r, q->id)) < r->bytes.size, "no id");
        if (gold) {
            FUZZ_CHECK(gold->passage >= q->passage &&
                           gold->passage < q->passage + q->passages,
                       "an answer stands in the passage of another question");
            FUZZ_CHECK(!cla_reading_quote(r, (size_t)gold->passage, gold->first,
                                          gold->last, &quote),
                       "%s", cla_error());
        }
    }
    free(ids);
    cla_text_free(&quote);
    cla_vocab_free(&words);
}

/* The first byte has the options: strict, unanswered, limits, part. */
void fuzz_squad(const uint8_t *data, size_t size)
{
    const int how = size ? data[0] : 0;
    const cla_squad_options options = {
        .part = (cla_squad_part)(how >> 6),
        .passage_limit = how & 4 ? 5 : 0,
        .question_limit = how & 8 ? 3 : 0,
        .unanswered = how & 2,
        .strict = how & 1,
    };
    cla_squad_counts counts = { 0 };
    cla_reading r = { .question_count = 0 };
    const char *path = fuzz_file("squad.json", data + (size > 0), size - (size > 0));
    if (fuzz_ok(cla_squad_read(&r, path, &options, &counts))) {
        use_reading(&r);
    }
    cla_reading_free(&r);
}

/* The first byte has the options: by question, unanswered, limits, part. */
void fuzz_dureader(const uint8_t *data, size_t size)
{
    const int how = size ? data[0] : 0;
    const cla_dureader_options options = {
        .part = (cla_squad_part)(how >> 6),
        .question_limit = how & 4 ? 3 : 0,
        .passages = how & 8 ? 2 : 0,
        .passage_limit = how & 16 ? 5 : 0,
        .answer_limit = how & 32 ? 2 : 0,
        .by_question = how & 1,
        .unanswered = how & 2,
    };
    cla_dureader_counts counts = { 0 };
    cla_reading r = { .question_count = 0 };
    const char *path =
        fuzz_file("dureader.jsonl", data + (size > 0), size - (size > 0));
    if (fuzz_ok(cla_dureader_read(&r, path, &options, &counts))) {
        use_reading(&r);
    }
    cla_reading_free(&r);
}

/* ---- characters of a reader's words ---------------------------------------------- */

static cla_status spell(reading *t, const char *passage)
{
    const cla_question question = { "who came ?", &passage, 1 };
    const reader_kind kind = { .name = "any" };
    reading_asked asked = { .passage = NULL };
    reading_split split = { .forms = 0 };
    t->model.kind = &kind;
    cla_status status = cla_reading_put(&asked, t, &question, 1, 0);
    status = status || !asked.text.question_count
                 ? status
                 : cla_reading_split_build(t, &split, &asked.text);
    for (size_t i = 0; i < split.spellings.count; i++) {
        const reading_spellings *s = &split.spellings;
        for (int32_t k = s->at[i]; k < s->at[i + 1]; k++) {
            FUZZ_CHECK(s->letters[k] >= 0 && (size_t)s->letters[k] < t->chars.count,
                       "character %d of %zu", s->letters[k], t->chars.count);
        }
    }
    cla_reading_split_free(&split);
    cla_reading_asked_free(&asked);
    return status;
}

/* The input has the characters, then a passage. */
void fuzz_chars(const uint8_t *data, size_t size)
{
    static const char words[] = "<pad>\n</s>\n<unk>\nwho\ncame\n";
    fuzz_part part[2];
    reading t = { .question_limit = 8, .char_limit = 4, .lower = true };
    t.config.char_dim = 1;
    fuzz_cut(data, size, part, 2);
    fuzz_file("words.txt", words, sizeof words - 1);
    fuzz_file("chars.txt", part[0].data, part[0].size);
    char *passage = fuzz_text(&part[1]);
    if (fuzz_ok(cla_reading_load_words(&t, fuzz_path(""))) && passage) {
        fuzz_ok(spell(&t, passage));
    }
    free(passage);
    cla_vocab_free(&t.words);
    cla_vocab_free(&t.chars);
}

/* ---- scores ---------------------------------------------------------------------- */

enum { MOST = 16 };

typedef struct score_call {
    const char *words[MOST]; // "score", the verb, options; up to a NULL
} score_call;

static const score_call calls[] = {
    { { "score", "bleu", "--tokenize", "13a" } },
    { { "score", "bleu", "--tokenize", "intl", "--lowercase" } },
    { { "score", "bleu", "--tokenize", "char", "--sentence", "--json" } },
    { { "score", "bleu", "--multi-bleu" } },
    { { "score", "bootstrap", "--samples", "5" } },
    { { "score", "ngram" } },
    { { "score", "squad" } },
    { { "score", "rougel", "--tokenize", "char" } },
    { { "score", "charbleu" } },
};

/* The first byte chooses the score; hypotheses, references and a baseline follow. */
void fuzz_scores(const uint8_t *data, size_t size)
{
    const int how = size ? data[0] : 0;
    const score_call *call = &calls[(size_t)how % (sizeof calls / sizeof *calls)];
    fuzz_part part[3];
    char *argv[MOST + 8] = { NULL };
    int argc = 0;
    fuzz_silence();
    fuzz_cut(data + (size > 0), size - (size > 0), part, 3);
    for (; call->words[argc]; argc++) {
        argv[argc] = (char *)call->words[argc];
    }
    argv[argc++] = "--hyp";
    argv[argc++] = (char *)fuzz_file("hyp", part[0].data, part[0].size);
    argv[argc++] = "--ref";
    argv[argc++] = (char *)fuzz_file("ref", part[1].data, part[1].size);
    if (strcmp(call->words[1], "ngram") == 0 ||
        strcmp(call->words[1], "bootstrap") == 0) {
        argv[argc++] = "--baseline";
        argv[argc++] = (char *)fuzz_file("base", part[2].data, part[2].size);
    }
    char name[] = "clattn score";
    argv[0] = name;
    const int code = cli_score(argc, argv);
    FUZZ_CHECK(code == CLI_OK || code == CLA_E_INPUT || code == CLA_E_NOMEM,
               "clattn score %s: exit status %d: %s", call->words[1], code,
               cla_error());
}
