/* cmd_bpe.c - clattn bpe learn, apply, undo: words to pieces and back. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "cli/stream.h"
#include "text/bpe.h"
#include "text/split.h"

enum { MAX_FILES = 64, MAX_MERGES = 10000000 };

typedef struct arguments {
    const char *codes, *out;
    int64_t merges, min_count;
    bool split;
    cli_words files;
} arguments;

/* ---- learn ------------------------------------------------------------------- */

static cla_status count_file(const char *path, bool split, cla_vocab *words)
{
    cla_lines lines = { 0 };
    cla_text tokens = { 0 };
    cla_status status = cla_lines_read(&lines, path);
    for (size_t i = 0; i < lines.count && !status; i++) {
        const cla_line *line = &lines.line[i];
        tokens.size = 0;
        status = split ? cla_split(line->text, line->size, &tokens)
                       : cla_text_append(&tokens, line->text, line->size);
        status = status ? status : cla_bpe_count(words, tokens.data, tokens.size);
    }
    cla_text_free(&tokens);
    cla_lines_free(&lines);
    return status;
}

static cla_status write_codes(const arguments *a, const cla_text *codes)
{
    if (a->out) {
        return cla_file_write(a->out, codes->data, codes->size);
    }
    fwrite(codes->data, 1, codes->size, stdout); // cli_finish checks for errors
    return CLA_OK;
}

static cla_status learn(const arguments *a)
{
    cla_vocab words = { 0 };
    cla_text codes = { 0 };
    cla_status status = a->files.count ? CLA_OK : count_file("-", a->split, &words);
    for (int i = 0; i < a->files.count && !status; i++) {
        status = count_file(a->files.word[i], a->split, &words);
    }
    if (!status && !words.count) {
        status = cla_fail(CLA_E_INPUT, "%s: holds no word",
                          a->files.count ? a->files.word[0] : "standard input");
    }
    status = status ? status : cla_bpe_learn(&words, a->merges, a->min_count, &codes);
    status = status ? status : write_codes(a, &codes);
    cla_vocab_free(&words);
    cla_text_free(&codes);
    return status;
}

/* ---- apply and undo ---------------------------------------------------------- */

typedef struct filter {
    const cla_bpe *bpe; // NULL: undo
    bool split;
    cla_text half, out;
} filter;

static cla_status filter_line(filter *f, const char *line, size_t size)
{
    f->half.size = f->out.size = 0;
    if (f->bpe && f->split) {
        CLA_TRY(cla_split(line, size, &f->half));
        CLA_TRY(cla_bpe_apply(f->bpe, f->half.data, f->half.size, &f->out));
    } else if (f->bpe) {
        CLA_TRY(cla_bpe_apply(f->bpe, line, size, &f->out));
    } else if (f->split) {
        CLA_TRY(cla_bpe_undo(line, size, &f->half));
        CLA_TRY(cla_unsplit(f->half.data, f->half.size, &f->out));
    } else {
        CLA_TRY(cla_bpe_undo(line, size, &f->out));
    }
    CLA_TRY(cla_text_append(&f->out, "\n", 1));
    fwrite(f->out.data, 1, f->out.size, stdout);
    return ferror(stdout) ? cla_fail(CLA_E_IO, "standard output: %s", strerror(errno))
                          : CLA_OK;
}

static cla_status take_line(void *to, const cla_line_stream *at, char *text,
                            size_t size)
{
    (void)at;
    return filter_line(to, text, size);
}

static cla_status filter_input(filter *f)
{
    const cli_stream input = { .take = take_line, .to = f };
    const cla_status status = cli_stream_run(&input);
    cla_text_free(&f->half);
    cla_text_free(&f->out);
    return status;
}

static cla_status apply(const arguments *a)
{
    cla_bpe bpe = { 0 };
    CLA_TRY(cla_bpe_load(&bpe, a->codes));
    filter f = { .bpe = &bpe, .split = a->split };
    const cla_status status = filter_input(&f);
    cla_bpe_free(&bpe);
    return status;
}

static cla_status undo(const arguments *a)
{
    filter f = { .split = a->split };
    return filter_input(&f);
}

/* ---- options ----------------------------------------------------------------- */

#define SPLIT                                                                          \
    {                                                                                  \
        "split", 's', NULL,                                                            \
            "cut punctuation and ideographs off words first; undo --split then gives " \
            "the line back to the byte",                                               \
            CLI_FLAG, .at = offsetof(arguments, split)                                 \
    }

static const cli_option learn_options[] = {
    { "merges", 'm', "N", "merges to learn", CLI_INT64,
      .at = offsetof(arguments, merges), .low = 1, .high = MAX_MERGES },
    { "min-count", 'c', "N", "merge no pair that is rarer (2)", CLI_INT64,
      .at = offsetof(arguments, min_count), .low = 1, .high = MAX_MERGES },
    { "out", 'o', "FILE", "write the codes here instead of standard output", CLI_TEXT,
      .at = offsetof(arguments, out), .output = CLI_OUT_FILE },
    SPLIT,
    { 0 },
};

static const cli_option apply_options[] = {
    { "codes", 'c', "FILE", "what bpe learn wrote", CLI_TEXT,
      .at = offsetof(arguments, codes), .needed = true },
    SPLIT,
    { 0 },
};

static const cli_option undo_options[] = {
    { "split", 's', NULL, "undo apply --split", CLI_FLAG,
      .at = offsetof(arguments, split) },
    { 0 },
};

static cla_status check_learn(const void *arguments_)
{
    const arguments *a = arguments_;
    return a->merges ? CLA_OK
                     : cla_fail(CLA_E_USAGE, "bpe learn needs --merges N (see clattn "
                                             "bpe learn --help)");
}

static const cli_usage learn_usage = {
    .options = learn_options,
    .words = "[FILE...]",
    .words_at = offsetof(arguments, files),
    .most = MAX_FILES,
    .check = check_learn,
    .about =
        "Learns byte pair merges from text files or standard input and writes them as "
        "subword-nmt does (version 0.2). Several files are learnt from as one: a joint "
        "vocabulary.",
    .more = "  clattn bpe learn --merges 8000 --split --out codes train.en train.de",
};

static const cli_usage apply_usage = {
    .options = apply_options,
    .about = "Cuts the words of standard input into pieces; @@ marks a piece that does "
             "not end its word.",
    .more = "  clattn bpe apply --codes codes --split < train.en > train.bpe.en",
};

static const cli_usage undo_usage = {
    .options = undo_options,
    .about = "Puts the pieces of standard input together again.",
    .more = "  clattn bpe undo --split < train.bpe.en > train.en",
};

/* ---- verbs ------------------------------------------------------------------- */

static int run(const cli_usage *usage, int argc, char **argv,
               cla_status (*act)(const arguments *a))
{
    arguments a = { .min_count = 2 };
    cla_status status = cli_read(usage, argc, argv, &a);
    status = status ? status : act(&a);
    return status ? cli_fail(status) : CLI_OK;
}

static int bpe_learn(int argc, char **argv)
{
    return run(&learn_usage, argc, argv, learn);
}

static int bpe_apply(int argc, char **argv)
{
    return run(&apply_usage, argc, argv, apply);
}

static int bpe_undo(int argc, char **argv)
{
    return run(&undo_usage, argc, argv, undo);
}

static const cli_command verbs[] = {
    { "learn", "learn merges from text", bpe_learn, &learn_usage },
    { "apply", "words of standard input to pieces", bpe_apply, &apply_usage },
    { "undo", "pieces of standard input to words", bpe_undo, &undo_usage },
    { 0 },
};

const cli_usage cli_bpe_usage = {
    .words = "VERB [ARGUMENT...]",
    .about = "Byte pair encoding: words to pieces and back.",
    .verbs = verbs,
};

int cli_bpe(int argc, char **argv)
{
    return cli_run_verb(&cli_bpe_usage, argc, argv);
}
