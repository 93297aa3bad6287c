/* cmd_translate.c - clattn translate: standard input to standard output, line for
 * line, with a trained translator. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/model.h"
#include "cli/stream.h"
#include "train/translation.h"

enum { MAX_LINES = 1 << 20 };

typedef struct arguments {
    cli_common common;
    const char *model, *given;
    int beam, best, batch, ahead, max_words;
    double alpha;
    bool scores, unbuffered;
} arguments;

static const struct argp_option options[] = {
    { "model", 'm', "DIR", 0, "folder of a translator's training run", 0 },
    { "beam", 'k', "N", 0, "hypotheses of a sentence; 1: the likeliest piece each time",
      0 },
    { "length-penalty", 'a', "X", 0,
      "how much longer translations are favoured, 0: not (0.6)", 0 },
    { "nbest", 'n', "N", 0, "write the N best of the beam, a line each", 0 },
    { "scores", 's', NULL, 0,
      "log probability, score under the length penalty and translation, parted by tabs",
      0 },
    { "given", 'g', "FILE", 0,
      "write both numbers of the translations in FILE instead, a line each", 0 },
    { "batch-lines", 'b', "N", 0, "lines translated together (32)", 0 },
    { "read-ahead", 'r', "N", 0,
      "lines read at a time, of which those of like length go together (1024)", 0 },
    { "max-words", 'w', "N", 0, "refuse a line of more words or pieces of words (2000)",
      0 },
    { "unbuffered", 'u', NULL, 0, "answer each line at once", 0 },
    { 0 },
};

static error_t check(const arguments *a)
{
    if (!a->model) {
        cla_fail(CLA_E_USAGE,
                 "translate needs --model DIR (see clattn translate --help)");
    } else if (a->best > a->beam) {
        cla_fail(CLA_E_USAGE, "--nbest is %d, the beam has %d", a->best, a->beam);
    } else if (a->given && a->best > 1) {
        cla_fail(CLA_E_USAGE, "--given and --nbest: one of them");
    } else {
        return 0;
    }
    return EINVAL;
}

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
        return cli_take_int("beam", value, 1, TRANSLATION_MAX_BEAM, &a->beam);
    case 'n':
        return cli_take_int("nbest", value, 1, TRANSLATION_MAX_BEAM, &a->best);
    case 'b':
        return cli_take_int("batch-lines", value, 1, TRANSLATION_MAX_BATCH, &a->batch);
    case 'r':
        return cli_take_int("read-ahead", value, 1, MAX_LINES, &a->ahead);
    case 'w':
        return cli_take_int("max-words", value, 1, INT32_MAX, &a->max_words);
    case 'a':
        return cli_take_penalty(value, &a->alpha);
    case 'g':
        a->given = value;
        return 0;
    case 's':
        a->scores = true;
        return 0;
    case 'u':
        a->unbuffered = true;
        return 0;
    case ARGP_KEY_END:
        return check(a);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Standard input while it is read. */
typedef struct stream {
    const arguments *a;
    translation *t;
    translation_options options;
    cla_lines given;         // the translations that are scored
    cla_line *line;          // [limit] not yet translated
    translation_result *out; // [limit*best]
    size_t count, limit, number;
} stream;

static void print(const stream *s, const translation_result *r)
{
    if (s->a->scores || s->a->given) {
        printf("%.6f\t%.6f%s", r->logp, r->score, s->a->given ? "" : "\t");
    }
    fwrite(r->text.data ? r->text.data : "", 1, r->text.size, stdout);
    putchar('\n');
}

static cla_status work(stream *s)
{
    return s->a->given
               ? translation_score(s->t, s->line,
                                   s->given.line + (s->number - s->count), s->count,
                                   &s->options, s->out)
               : translation_translate(s->t, s->line, s->count, &s->options, s->out);
}

static cla_status flush(stream *s)
{
    cla_status status = s->count ? work(s) : CLA_OK;
    const size_t results = s->count * (size_t)s->a->best;
    for (size_t i = 0; i < results; i++) {
        if (!status) {
            print(s, &s->out[i]);
        }
        cla_text_free(&s->out[i].text);
        s->out[i] = (translation_result){ 0 };
    }
    for (size_t i = 0; i < s->count; i++) {
        free((char *)s->line[i].text);
    }
    s->count = 0;
    if (!status && (fflush(stdout) || ferror(stdout))) {
        status = cla_fail(CLA_E_IO, "standard output: %s", strerror(errno));
    }
    return status;
}

static void show_progress(void *to, size_t lines)
{
    const stream *s = to;
    cli_progress(s->number - s->count + lines, 0, "lines");
}

/* Refuses a line of too many pieces; one of fewer bytes has no more pieces either. */
static cla_status check_pieces(const stream *s, const char *path, size_t number,
                               const cla_line *line, bool target)
{
    const size_t most = (size_t)s->a->max_words;
    size_t count = line->size;
    if (count > most) {
        CLA_TRY(translation_pieces(s->t, line, target, &count));
    }
    return count <= most
               ? CLA_OK
               : cla_fail(CLA_E_INPUT,
                          "%s:%zu: %zu words and pieces of words, more than %zu: see "
                          "--max-words",
                          path, number, count, most);
}

static cla_status finish(void *to, bool ended)
{
    (void)ended;
    return flush(to);
}

static cla_status take_line(void *to, const cla_line_stream *at, char *text,
                            size_t size)
{
    stream *s = to;
    char *copy = NULL;
    if (s->a->given && s->number == s->given.count) {
        return cla_fail(CLA_E_INPUT, "%s:%zu: has no partner: %s ends at line %zu",
                        at->path, at->number, s->given.path, s->given.count);
    }
    cla_line line = { text, size };
    CLA_TRY(check_pieces(s, at->path, at->number, &line, false));
    if (s->a->given) {
        CLA_TRY(check_pieces(s, s->given.path, at->number, &s->given.line[s->number],
                             true));
    }
    CLA_TRY(cla_strdup(&copy, text));
    s->number++;
    line.text = copy;
    s->line[s->count++] = line;
    return s->count == s->limit ? flush(s) : CLA_OK;
}

static cla_status read_all(stream *s)
{
    const cli_stream input = { .take = take_line, .finish = finish, .to = s };
    CLA_TRY(cli_stream_run(&input));
    return s->number >= s->given.count
               ? CLA_OK
               : cla_fail(CLA_E_INPUT,
                          "%s:%zu: has no partner: standard input ends at line %zu",
                          s->given.path, s->number + 1, s->number);
}

static size_t lines_at_a_time(const arguments *a)
{
    if (a->unbuffered || isatty(STDIN_FILENO)) {
        return 1;
    }
    return (size_t)(a->ahead > a->batch ? a->ahead : a->batch);
}

static cla_status translate_all(const arguments *a, translation *t)
{
    stream s = {
        .a = a,
        .t = t,
        .options = { { a->beam, a->best, a->alpha, TRANSLATION_EXTRA, CLA_EOS },
                     a->batch,
                     show_progress,
                     &s },
        .limit = lines_at_a_time(a),
    };
    cla_status status = a->given ? cla_lines_read(&s.given, a->given) : CLA_OK;
    status = status ? status : cla_alloc(&s.line, s.limit, sizeof *s.line);
    status =
        status ? status : cla_alloc(&s.out, s.limit * (size_t)a->best, sizeof *s.out);
    status = status ? status : read_all(&s);
    cla_lines_free(&s.given);
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
               "stays empty. A line that is refused ends the program, after the "
               "lines before it.\v"
               "  clattn translate --model runs/m --beam 4 < test.en > out.de\n"
               "  clattn translate --model runs/m --given test.de < test.en > scores",
        .children = children,
    };
    arguments a = { .beam = 1,
                    .best = 1,
                    .batch = 32,
                    .ahead = 1024,
                    .max_words = 2000,
                    .alpha = 0.6 };
    cla_status status = cli_parse(&argp, argc, argv, &a);
    status = status ? status : translate(&a);
    return status ? cli_fail_data(status) : CLI_OK;
}
