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
    const char *files[MAX_FILES];
    int file_count;
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
    fwrite(codes->data, 1, codes->size, stdout); // checked when the program ends
    return CLA_OK;
}

static cla_status learn(const arguments *a)
{
    cla_vocab words = { 0 };
    cla_text codes = { 0 };
    cla_status status = a->file_count ? CLA_OK : count_file("-", a->split, &words);
    for (int i = 0; i < a->file_count && !status; i++) {
        status = count_file(a->files[i], a->split, &words);
    }
    if (!status && !words.count) {
        status = cla_fail(CLA_E_INPUT, "%s: holds no word",
                          a->file_count ? a->files[0] : "standard input");
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

/* ---- words ------------------------------------------------------------------- */

static error_t take_file(arguments *a, const char *path)
{
    if (a->file_count == MAX_FILES) {
        cla_fail(CLA_E_USAGE, "more than %d files", MAX_FILES);
        return EINVAL;
    }
    a->files[a->file_count++] = path;
    return 0;
}

static error_t need(bool given, const char *verb, const char *what)
{
    if (!given) {
        cla_fail(CLA_E_USAGE, "bpe %s needs %s (see clattn bpe %s --help)", verb, what,
                 verb);
    }
    return given ? 0 : EINVAL;
}

// NOLINTNEXTLINE(readability-non-const-parameter): the type is argp's
static error_t parse_learn(int key, char *value, struct argp_state *state)
{
    arguments *a = state->input;
    switch (key) {
    case 'm':
        return cli_take_number("merges", value, 1, MAX_MERGES, &a->merges);
    case 'c':
        return cli_take_number("min-count", value, 1, MAX_MERGES, &a->min_count);
    case 's':
        a->split = true;
        return 0;
    case 'o':
        a->out = value;
        return 0;
    case ARGP_KEY_ARG:
        return take_file(a, value);
    case ARGP_KEY_END:
        return need(a->merges, "learn", "--merges N");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// NOLINTNEXTLINE(readability-non-const-parameter): the type is argp's
static error_t parse_apply(int key, char *value, struct argp_state *state)
{
    arguments *a = state->input;
    switch (key) {
    case 'c':
        a->codes = value;
        return 0;
    case 's':
        a->split = true;
        return 0;
    case ARGP_KEY_END:
        return need(a->codes, "apply", "--codes FILE");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// NOLINTNEXTLINE(readability-non-const-parameter): the type is argp's
static error_t parse_undo(int key, char *value, struct argp_state *state)
{
    arguments *a = state->input;
    (void)value;
    if (key != 's') {
        return ARGP_ERR_UNKNOWN;
    }
    a->split = true;
    return 0;
}

#define SPLIT_TEXT                                                             \
    "cut punctuation and ideographs off words first; undo --split then gives " \
    "the line back to the byte"

static const struct argp_option learn_options[] = {
    { "merges", 'm', "N", 0, "merges to learn", 0 },
    { "min-count", 'c', "N", 0, "merge no pair that is rarer (2)", 0 },
    { "out", 'o', "FILE", 0, "write the codes here instead of standard output", 0 },
    { "split", 's', NULL, 0, SPLIT_TEXT, 0 },
    { 0 },
};

static const struct argp_option apply_options[] = {
    { "codes", 'c', "FILE", 0, "what bpe learn wrote", 0 },
    { "split", 's', NULL, 0, SPLIT_TEXT, 0 },
    { 0 },
};

static const struct argp_option undo_options[] = {
    { "split", 's', NULL, 0, "undo apply --split", 0 },
    { 0 },
};

static int run(const struct argp *argp, int argc, char **argv,
               cla_status (*act)(const arguments *a))
{
    arguments a = { .min_count = 2 };
    cla_status status = cli_parse(argp, argc, argv, &a);
    status = status ? status : act(&a);
    return status ? cli_fail(status) : CLI_OK;
}

static int bpe_learn(int argc, char **argv)
{
    static const struct argp argp = {
        .options = learn_options,
        .parser = parse_learn,
        .args_doc = "[FILE...]",
        .doc =
            "Learns byte pair merges from text files or standard input and writes them "
            "as subword-nmt does (version 0.2). Several files are learnt from as one: "
            "a joint vocabulary.\v"
            "  clattn bpe learn --merges 8000 --split --out codes train.en train.de",
    };
    return run(&argp, argc, argv, learn);
}

static int bpe_apply(int argc, char **argv)
{
    static const struct argp argp = {
        .options = apply_options,
        .parser = parse_apply,
        .doc = "Cuts the words of standard input into pieces; @@ marks a piece that "
               "does not end its word.\v"
               "  clattn bpe apply --codes codes --split < train.en > train.bpe.en",
    };
    return run(&argp, argc, argv, apply);
}

static int bpe_undo(int argc, char **argv)
{
    static const struct argp argp = {
        .options = undo_options,
        .parser = parse_undo,
        .doc = "Puts the pieces of standard input together again.\v"
               "  clattn bpe undo --split < train.bpe.en > train.en",
    };
    return run(&argp, argc, argv, undo);
}

int cli_bpe(int argc, char **argv)
{
    static const cli_command verbs[] = {
        { "learn", "learn merges from text", bpe_learn },
        { "apply", "words of standard input to pieces", bpe_apply },
        { "undo", "pieces of standard input to words", bpe_undo },
        { 0 },
    };
    return cli_run_verb(verbs, "Byte pair encoding: words to pieces and back.", argc,
                        argv);
}
