/* models.c - fuzz targets: folders of trained models, and requests to them. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "clattn/clattn.h"
#include "clattn/model.h"
#include "cli/cli.h"
#include "fuzz.h"
#include "runtime/runtime.h"

enum { KINDS = 4, FILES = 12 };

/* A run folder of the fixtures. */
typedef struct run_folder {
    const char *name;
    const char *files[FILES]; // up to a NULL
    char *data[FILES];        // their contents
    size_t size[FILES];
    int count;
} run_folder;

static run_folder folders[KINDS] = {
    { .name = "tagger",
      .files = { "config.json", "best.ckpt.safetensors", "words.txt", "chars.txt",
                 "tags.txt", "lexicon.tsv" } },
    { .name = "translator",
      .files = { "config.json", "best.ckpt.safetensors", "codes.txt", "source.txt",
                 "target.txt" } },
    { .name = "reader",
      .files = { "config.json", "best.ckpt.safetensors", "words.txt", "chars.txt" } },
    { .name = "poet",
      .files = { "config.json", "best.ckpt.safetensors", "characters.txt", "words.txt",
                 "ranking.tsv", "words.vec" } },
};

static void put(const run_folder *f, int i, const void *data, size_t size)
{
    char name[128];
    snprintf(name, sizeof name, "%s/%s", f->name, f->files[i]);
    fuzz_file(name, data, size);
}

/* Writes a checkpoint of this header and the fixture's numbers. */
static void put_header(const run_folder *f, int i, const void *header, size_t size)
{
    uint64_t own = 0;
    cla_text text = { 0 };
    const uint64_t bytes = size;
    memcpy(&own, f->data[i], sizeof own);
    const size_t numbers = sizeof own + (size_t)own;
    FUZZ_CHECK(!cla_text_append(&text, (const char *)&bytes, sizeof bytes) &&
                   !cla_text_append(&text, header, size) &&
                   !cla_text_append(&text, f->data[i] + numbers, f->size[i] - numbers),
               "%s", cla_error());
    put(f, i, text.data, text.size);
    cla_text_free(&text);
}

/* Copies a folder of the fixtures to the scratch folder, once. */
static void lay_out(run_folder *f)
{
    char path[1024];
    if (f->count) {
        return;
    }
    FUZZ_CHECK(!cla_folder_make(fuzz_path(f->name)), "%s", cla_error());
    for (; f->count < FILES && f->files[f->count]; f->count++) {
        const int i = f->count;
        snprintf(path, sizeof path, "%s/%s/%s", fuzz_fixtures(), f->name, f->files[i]);
        FUZZ_CHECK(!cla_file_read(path, &f->data[i], &f->size[i]), "%s", cla_error());
        put(f, i, f->data[i], f->size[i]);
    }
}

const char *fuzz_run_folder(const char *name)
{
    for (int i = 0; i < KINDS; i++) {
        if (strcmp(folders[i].name, name) == 0) {
            lay_out(&folders[i]);
        }
    }
    return fuzz_path(name);
}

/* ---- using a model --------------------------------------------------------------- */

static cla_status use_reader(cla_model *model)
{
    static const char *const questions[] = { "who came to the house ?", "when" };
    static const char *const passages[] = { "", "Ben saw her." };
    static const cla_question asked[] = { { "who", passages + 1, 1 },
                                          { "when", passages, 1 } };
    static const cla_answer_options two = { .best = 2 };
    cla_passage_quote answers[2 * 2];
    cla_quote quotes[2 * 3];
    size_t found[2] = { 0 };
    const char passage[] = "Ann came to the old house, and Ben saw her there at noon.";
    CLA_TRY(cla_model_answer(model, quotes, found, passage, questions, 2, 3));
    for (size_t i = 0; i < found[0]; i++) {
        FUZZ_CHECK(quotes[i].at >= 0 && quotes[i].size > 0 &&
                       (size_t)quotes[i].at + (size_t)quotes[i].size < sizeof passage,
                   "an answer lies outside the passage");
    }
    return cla_model_ask(model, answers, found, asked, 2, &two);
}

static cla_status use_model(cla_model *model)
{
    static const char *const words[] = { "the", "old", "maison" };
    static const char *const lines[] = { "a b c", "", "d e" };
    static const size_t length[] = { 2, 0, 1 };
    const cla_translate_options wide = {
        .beam = 3, .length_penalty = 0.6, .batch = 2, .best = 3, .extra = 2
    };
    const char *tags[3] = { NULL }, *kind = cla_model_kind(model);
    cla_translation said[3 * 3];
    cla_quatrain *poem = NULL;
    if (strcmp(kind, "tagger") == 0) {
        CLA_TRY(cla_model_tag(model, tags, words, 3));
        CLA_TRY(cla_model_tag_sentences(model, tags, words, length, 3, NULL));
        FUZZ_CHECK(strlen(tags[2]) < 1 << 20, "a tag without an end");
        return CLA_OK;
    }
    if (strcmp(kind, "translator") == 0) {
        CLA_TRY(cla_model_translate(model, said, lines, 3, NULL));
        CLA_TRY(cla_model_score(model, said, lines, lines, 3, NULL));
        return cla_model_translate(model, said, lines, 3, &wide);
    }
    if (strcmp(kind, "reader") == 0) {
        return use_reader(model);
    }
    const cla_status status = cla_model_compose(model, &poem, "春風 明月", NULL);
    cla_quatrain_free(&poem);
    return status;
}

static void load_and_use(const run_folder *f)
{
    cla_runtime *rt = NULL;
    cla_model *model = NULL;
    fuzz_share_runtime();
    FUZZ_CHECK(!cla_runtime_new(&rt, NULL), "%s", cla_error());
    if (fuzz_ok(cla_model_load(&model, rt, fuzz_path(f->name)))) {
        const cla_status status = use_model(model);
        FUZZ_CHECK(status == CLA_OK || status == CLA_E_NUMERIC ||
                       status == CLA_E_NOMEM || status == CLA_E_DEVICE ||
                       status == CLA_E_INPUT,
                   "status %d: %s", (int)status, cla_error());
    }
    cla_model_free(&model);
    cla_runtime_free(&rt);
}

/* The input has the kind of model, the number of a file, and the file's contents; those
 * of a checkpoint may be the header alone. */
void fuzz_folder(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return;
    }
    run_folder *f = &folders[data[0] % KINDS];
    lay_out(f);
    const int i = data[1] % f->count;
    if (strstr(f->files[i], ".safetensors") && size > 2 && data[2] == '{') {
        put_header(f, i, data + 2, size - 2);
    } else {
        put(f, i, data + 2, size - 2);
    }
    load_and_use(f);
    put(f, i, f->data[i], f->size[i]);
}

/* ---- requests -------------------------------------------------------------------- */

typedef struct request {
    int kind; // index in folders
    int (*run)(int argc, char **argv);
    const char *options[6];
} request;

static const request requests[] = {
    { 2, cli_answer, { "--json", "--nbest", "3" } },
    { 2, cli_answer, { "--scores" } },
    { 2, cli_answer, { "--passage", "PASSAGE" } },
    { 2, cli_answer, { "--squad", "PASSAGE" } },
    { 1, cli_translate, { NULL } },
    { 1, cli_translate, { "--beam", "3", "--nbest", "2", "--scores" } },
    { 1, cli_translate, { "--given", "PASSAGE" } },
    { 3, cli_compose, { "--json", "--beam", "2" } },
    { 3, cli_compose, { "--chars", "5" } },
    { 0, cli_tag, { NULL } },
    { 0, cli_tag, { "--unbuffered" } },
};

/* The first byte chooses the command; standard input and the file of an option
 * follow. */
void fuzz_requests(const uint8_t *data, size_t size)
{
    const int how = size ? data[0] : 0;
    const request *r = &requests[(size_t)how % (sizeof requests / sizeof *requests)];
    fuzz_part part[2];
    char name[] = "clattn", *argv[12] = { name };
    int argc = 1;
    fuzz_silence();
    fuzz_share_runtime();
    lay_out(&folders[r->kind]);
    fuzz_cut(data + (size > 0), size - (size > 0), part, 2);
    const char *input = fuzz_file("stdin", part[0].data, part[0].size);
    const char *passage = fuzz_file("passage.json", part[1].data, part[1].size);
    argv[argc++] = "--model";
    argv[argc++] = (char *)fuzz_path(folders[r->kind].name);
    for (int i = 0; r->options[i]; i++) {
        const bool file = strcmp(r->options[i], "PASSAGE") == 0;
        argv[argc++] = (char *)(file ? passage : r->options[i]);
    }
    fuzz_stdin(input);
    const int code = r->run(argc, argv);
    FUZZ_CHECK(code == CLI_OK || code == CLA_E_INPUT || code == CLA_E_NOMEM ||
                   code == CLA_E_NUMERIC,
               "exit status %d: %s", code, cla_error());
}
