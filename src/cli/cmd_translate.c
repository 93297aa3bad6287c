/* cmd_translate.c - clattn translate: standard input to standard output, line for
 * line, with a trained translator. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/model.h"
#include "train/translation.h"

enum { MAX_BEAM = 256, EXTRA_PIECES = 50 };

typedef struct arguments {
    cli_common common;
    const char *model;
    int beam, batch;
    double alpha;
} arguments;

static const struct argp_option options[] = {
    { "model", 'm', "DIR", 0, "folder of a translator's training run", 0 },
    { "beam", 'k', "N", 0, "hypotheses of a sentence; 1: the likeliest piece each time",
      0 },
    { "length-penalty", 'a', "X", 0,
      "how much longer translations are favoured, 0: not (0.6)", 0 },
    { "batch-lines", 'b', "N", 0, "lines translated together (32)", 0 },
    { 0 },
};

// NOLINTNEXTLINE(readability-non-const-parameter): the type is argp's
static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->common;
        return 0;
    case 'm':
        a->model = value;
        return 0;
    case 'k':
        return cli_take_int("beam", value, 1, MAX_BEAM, &a->beam);
    case 'b':
        return cli_take_int("batch-lines", value, 1, 1 << 16, &a->batch);
    case 'a':
        if (!cla_parse_double(value, &a->alpha) || !(a->alpha >= 0 && a->alpha <= 10)) {
            cla_fail(CLA_E_USAGE, "--length-penalty is '%s', must be 0 to 10", value);
            return EINVAL;
        }
        return 0;
    case ARGP_KEY_END:
        if (!a->model) {
            cla_fail(CLA_E_USAGE,
                     "translate needs --model DIR (see clattn translate --help)");
            return EINVAL;
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Standard input while it is read. */
typedef struct stream {
    translation *t;
    search_options search;
    cla_line *line; // [limit] not yet translated
    cla_text *out;  // [limit]
    size_t count, limit, number;
} stream;

static cla_status flush(stream *s)
{
    cla_status status =
        translation_translate(s->t, s->line, s->count, &s->search, s->out);
    for (size_t i = 0; i < s->count; i++) {
        if (!status) {
            fwrite(s->out[i].data ? s->out[i].data : "", 1, s->out[i].size, stdout);
            putchar('\n');
        }
        cla_text_free(&s->out[i]);
        s->out[i] = (cla_text){ 0 };
        free((char *)s->line[i].text);
    }
    s->count = 0;
    if (!status && (fflush(stdout) || ferror(stdout))) {
        status = cla_fail(CLA_E_IO, "standard output: %s", strerror(errno));
    }
    return status;
}

static cla_status take_line(stream *s, char *text, size_t size)
{
    char *copy = NULL;
    CLA_TRY(cla_line_check("standard input", ++s->number, text, &size));
    text[size] = 0;
    if (s->number == 1 && strncmp(text, "\xEF\xBB\xBF", 3) == 0) {
        text += 3;
        size -= 3;
    }
    CLA_TRY(cla_strdup(&copy, text));
    s->line[s->count++] = (cla_line){ copy, size };
    return s->count == s->limit ? flush(s) : CLA_OK;
}

static cla_status read_all(stream *s)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t size = 0;
    cla_status status = CLA_OK;
    while (!status && (size = getline(&line, &cap, stdin)) > 0) {
        status = take_line(s, line, (size_t)size);
    }
    free(line);
    const cla_status last = flush(s); // what came before a bad line is translated
    return status ? status : last;
}

static cla_status translate_all(const arguments *a, translation *t)
{
    stream s = {
        .t = t,
        .search = { a->beam, a->alpha, EXTRA_PIECES, CLA_EOS },
        .limit = isatty(STDIN_FILENO) ? 1 : (size_t)a->batch,
    };
    cla_status status = cla_alloc(&s.line, s.limit, sizeof *s.line);
    status = status ? status : cla_alloc(&s.out, s.limit, sizeof *s.out);
    status = status ? status : read_all(&s);
    free(s.line);
    free(s.out);
    return status;
}

static cla_status translate(const arguments *a)
{
    cli_model m;
    cla_status status =
        cli_model_open(&m, a->common.device, a->model, &translation_kind,
                       "translate needs a translator");
    status = status ? status : translate_all(a, (translation *)m.task);
    cli_model_close(&m);
    return status;
}

int cli_translate(int argc, char **argv)
{
    static const struct argp_child children[] = { { &cli_device_argp, 0, NULL, 0 },
                                                  { 0 } };
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Translates lines from standard input, line for line; an empty line "
               "stays empty.\v"
               "  clattn translate --model runs/m --beam 4 < test.en > out.de",
        .children = children,
    };
    arguments a = { .beam = 1, .batch = 32, .alpha = 0.6 };
    cla_status status = cli_parse(&argp, argc, argv, &a);
    status = status ? status : translate(&a);
    return status ? cli_fail_data(status) : CLI_OK;
}
