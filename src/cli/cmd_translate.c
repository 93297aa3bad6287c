/* cmd_translate.c - clattn translate: translates standard input line by line. */
#include <stdio.h>
#include <string.h>

#include "base/platform.h"
#include "cli/model.h"
#include "cli/stream.h"
#include "cli/translate_document.h"

enum { MAX_LINES = 1 << 20, MAX_PIECES = 2000 };

typedef struct arguments {
    const char *device, *model, *given, *source, *target, *format;
    cli_weights weights;
    int beam, best, batch, ahead, max_words, workers;
    double alpha;
    bool scores, align, pieces, unbuffered, whole;
} arguments;

static const cli_option options[] = {
    CLI_DEVICE(arguments, device),
    CLI_PRECISION,
    { "model", 'm', "DIR", "folder of a translator's training run", CLI_TEXT,
      .at = offsetof(arguments, model), .needed = true },
    CLI_WEIGHTS(arguments, weights),
    { "beam", 'k', "N",
      "hypotheses of a sentence; 1: the likeliest piece each time (the model's, or 1)",
      CLI_INT, .at = offsetof(arguments, beam), .low = 1, .high = CLA_MOST_BEAM },
    { "length-penalty", 'a', "X",
      "how much longer translations are favoured, 0: not (the model's, or 0.6)",
      CLI_REAL, .at = offsetof(arguments, alpha), .low = 0, .high = 10 },
    { "source", 'S', "LANGUAGE",
      "of a model whose source can be chosen: one of `clattn languages` (the folder's)",
      CLI_TEXT, .at = offsetof(arguments, source) },
    { "target", 't', "LANGUAGE",
      "of a model with several: one of `clattn languages`, for all lines", CLI_TEXT,
      .at = offsetof(arguments, target) },
    { "format", 'f', "FORMAT",
      "text, line by line (default), or a document whose markup stays: html, markdown",
      CLI_TEXT, .at = offsetof(arguments, format), .choices = "text html markdown" },
    { "no-split", 'N', NULL,
      "translate each line as it is; otherwise sentence by sentence, and what is too "
      "long for the model by its clauses",
      CLI_FLAG, .at = offsetof(arguments, whole) },
    { "nbest", 'n', "N", "write the N best of the beam, a line each", CLI_INT,
      .at = offsetof(arguments, best), .low = 1, .high = CLA_MOST_BEAM },
    { "scores", 's', NULL,
      "log probability, score under the length penalty and translation, with tabs "
      "between them",
      CLI_FLAG, .at = offsetof(arguments, scores) },
    { "align", 'l', NULL,
      "behind a tab, words of the line and of the translation that belong together: "
      "0-0 "
      "1-2 ..., from 0, by the decoder's attention",
      CLI_FLAG, .at = offsetof(arguments, align) },
    { "pieces", 'p', NULL,
      "behind a tab, pieces of the translation and their log probabilities: PIECE:LOGP "
      "...",
      CLI_FLAG, .at = offsetof(arguments, pieces) },
    { "given", 'g', "FILE",
      "write both numbers of the translations in FILE instead, a line each", CLI_TEXT,
      .at = offsetof(arguments, given) },
    { "batch-lines", 'b', "N", "lines translated together (32)", CLI_INT,
      .at = offsetof(arguments, batch), .low = 1, .high = CLA_MOST_BATCH },
    CLI_WORKERS(arguments, workers,
                "of a CPU as many as cores, where lines fill more "
                "than a batch"),
    { "read-ahead", 'r', "N",
      "lines read at a time, of which those of like length go together (1024)", CLI_INT,
      .at = offsetof(arguments, ahead), .low = 1, .high = MAX_LINES },
    { "max-words", 'w', "N",
      "refuse a line of more words or pieces of words (--no-split, --given: 2000)",
      CLI_INT, .at = offsetof(arguments, max_words), .low = 1, .high = INT32_MAX },
    { "unbuffered", 'u', NULL, "answer each line at once", CLI_FLAG,
      .at = offsetof(arguments, unbuffered) },
    { 0 },
};

/* Returns the place of the format in the list: text, html, markdown. */
static int format_of(const arguments *a)
{
    static const char *const names[] = { "text", "html", "markdown" };
    for (int i = 0; i < 3; i++) {
        if (strcmp(a->format, names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

static cla_status check_format(const arguments *a)
{
    const int format = format_of(a);
    if (format < 0) {
        return cla_fail(CLA_E_USAGE, "--format is '%s', must be text, html or markdown",
                        a->format);
    }
    const struct {
        bool given;
        const char *name;
    } others[] = { { a->best > 1, "nbest" },       { a->given, "given" },
                   { a->scores, "scores" },        { a->align, "align" },
                   { a->pieces, "pieces" },        { a->max_words, "max-words" },
                   { a->unbuffered, "unbuffered" } };
    for (size_t i = 0; format && i < sizeof others / sizeof *others; i++) {
        if (others[i].given) {
            return cla_fail(CLA_E_USAGE, "--format %s and --%s: one of them", a->format,
                            others[i].name);
        }
    }
    return CLA_OK;
}

static cla_status check(const void *arguments_)
{
    const arguments *a = arguments_;
    CLA_TRY(check_format(a));
    if (a->best > 1 && !a->beam) {
        return cla_fail(CLA_E_USAGE, "--nbest needs --beam");
    }
    if (a->beam && a->best > a->beam) {
        return cla_fail(CLA_E_USAGE, "--nbest is %d, the beam has %d", a->best,
                        a->beam);
    }
    return a->given && a->best > 1
               ? cla_fail(CLA_E_USAGE, "--given and --nbest: one of them")
               : CLA_OK;
}

const cli_usage cli_translate_usage = {
    .options = options,
    .check = check,
    .about = "Translates lines from standard input, line for line; an empty line stays "
             "empty. A line may be a paragraph: it is cut into sentences, and their "
             "translations are joined. A line that is refused ends the program, after "
             "the lines before it. With --format, translates the texts of a document.",
    .more = "  clattn translate --model runs/m --beam 4 < test.en > out.de\n"
            "  clattn translate --model runs/m --given test.de < test.en > scores",
};

/* The state of reading standard input. */
typedef struct stream {
    const arguments *a;
    cla_model *model;
    bool hired; // the workers; there is work for several
    cla_translate_options options;
    cla_lines given;                  // the translations to score
    char **line;                      // [limit] lines not yet translated
    const char **target;              // [limit] of given
    cla_translation *out;             // [limit*best]
    size_t count, limit, number, cut; // cut: best translations at the longest length
} stream;

/* Prints the columns of --align and --pieces. */
static cla_status print_detail(const stream *s, size_t i)
{
    cla_translation_detail d;
    CLA_TRY(cla_model_detail(s->model, &d, i));
    for (size_t k = 0; k < d.links && s->a->align; k++) {
        printf("%c%d-%d", k ? ' ' : '\t', d.link[k].source, d.link[k].target);
    }
    fputs(s->a->align && !d.links ? "\t" : "", stdout);
    for (size_t k = 0; k < d.pieces && s->a->pieces; k++) {
        printf("%c%s:%.6f", k ? ' ' : '\t', d.piece[k], d.logp[k]);
    }
    fputs(s->a->pieces && !d.pieces ? "\t" : "", stdout);
    return CLA_OK;
}

/* Prints the i-th translation. */
static cla_status print(const stream *s, size_t i)
{
    const arguments *a = s->a;
    const cla_translation *t = &s->out[i];
    if (a->scores || a->given) {
        printf("%.6f\t%.6f%s", t->logp, t->score, a->given ? "" : "\t");
    }
    fputs(a->given ? "" : t->text, stdout);
    CLA_TRY(a->align || a->pieces ? print_detail(s, i) : CLA_OK);
    putchar('\n');
    return CLA_OK;
}

/* Hires the workers of --workers; by default as many as suit the device, once there is
 * more than one batch of lines. */
static cla_status hire(stream *s)
{
    const int wanted = s->a->workers;
    if (s->hired || (!wanted && s->count <= (size_t)s->a->batch)) {
        return CLA_OK;
    }
    s->hired = true;
    return cli_model_hire(s->model, wanted);
}

static cla_status work(stream *s)
{
    const char *const *lines = (const char *const *)s->line;
    CLA_TRY(hire(s));
    for (size_t i = 0; i < s->count && s->a->given; i++) {
        s->target[i] = s->given.line[s->number - s->count + i].text;
    }
    return s->a->given
               ? cla_model_score(s->model, s->out, lines, s->target, s->count,
                                 &s->options)
               : cla_model_translate(s->model, s->out, lines, s->count, &s->options);
}

static cla_status flush(stream *s)
{
    cla_status status = s->count ? work(s) : CLA_OK;
    const size_t results = s->count * (size_t)s->a->best;
    for (size_t i = 0; i < results && !status; i++) {
        status = print(s, i);
    }
    s->cut += s->count && !status ? cla_model_cut(s->model) : 0;
    for (size_t i = 0; i < s->count; i++) {
        free(s->line[i]);
    }
    s->count = 0;
    return status ? status : cli_flush();
}

static cla_status show_progress(void *to, size_t lines, size_t count)
{
    const stream *s = to;
    (void)count;
    cli_progress(s->number - s->count + lines, 0, "lines");
    return CLA_OK;
}

/* Refuses a line with more than --max-words pieces. Lines that are cut into sentences
 * may have any number, unless the option says otherwise. */
static cla_status check_pieces(const stream *s, const char *path, size_t number,
                               const char *line, bool target)
{
    const size_t most = (size_t)s->a->max_words;
    size_t count = 0;
    if (!most) {
        return CLA_OK;
    }
    CLA_TRY(cla_model_pieces(s->model, &count, line, target));
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
    (void)size;
    if (s->a->given && s->number == s->given.count) {
        return cla_fail(CLA_E_INPUT, "%s:%zu: has no partner: %s ends at line %zu",
                        at->path, at->number, s->given.path, s->given.count);
    }
    CLA_TRY(check_pieces(s, at->path, at->number, text, false));
    if (s->a->given) {
        CLA_TRY(check_pieces(s, s->given.path, at->number,
                             s->given.line[s->number].text, true));
    }
    CLA_TRY(cla_strdup(&s->line[s->count], text));
    s->number++;
    s->count++;
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
    if (a->unbuffered || cla_os_is_terminal(CLA_STDIN)) {
        return 1;
    }
    return (size_t)(a->ahead > a->batch ? a->ahead : a->batch);
}

static cla_translate_options options_of(const arguments *a,
                                        const cla_translate_options *usual)
{
    return (cla_translate_options){
        .beam = a->beam ? a->beam : usual->beam,
        .length_penalty = a->alpha >= 0 ? a->alpha : usual->length_penalty,
        .batch = a->batch,
        .best = a->best,
        .source = a->source,
        .target = a->target,
        .split = !a->whole && !a->given,
        .detail = a->align || a->pieces,
    };
}

static cla_status open_stream(stream *s, const cla_translate_options *usual)
{
    const arguments *a = s->a;
    s->limit = lines_at_a_time(a);
    s->options = options_of(a, usual);
    if (a->given) CLA_TRY(cla_lines_read(&s->given, a->given));
    CLA_TRY(cla_alloc(&s->line, s->limit, sizeof *s->line));
    CLA_TRY(cla_alloc(&s->target, s->limit, sizeof *s->target));
    CLA_TRY(cla_alloc(&s->out, s->limit * (size_t)a->best, sizeof *s->out));
    return cla_model_watch(s->model, show_progress, s);
}

static cla_status translate_all(const arguments *a, cla_model *model)
{
    stream s = { .a = a, .model = model };
    cla_translate_options usual;
    CLA_TRY(cla_model_translate_usual(model, &usual));
    cla_status status = open_stream(&s, &usual);
    status = status ? status : read_all(&s);
    cli_tell_cut(usual.extra, usual.most, status ? 0 : s.cut, s.number);
    cla_lines_free(&s.given);
    free(s.line);
    free(s.target);
    free(s.out);
    return status;
}

static cla_status translate_document(const arguments *a, cla_model *model)
{
    const cla_markup markup = format_of(a) == 1 ? CLA_MARKUP_HTML : CLA_MARKUP_MARKDOWN;
    cla_translate_options usual;
    size_t cut = 0, parts = 0;
    CLA_TRY(cla_model_translate_usual(model, &usual));
    CLA_TRY(cli_model_hire(model, a->workers));
    const cla_translate_options chosen = options_of(a, &usual);
    const cla_status status =
        cli_translate_document(model, markup, &chosen, &cut, &parts);
    cli_tell_cut(usual.extra, usual.most, cut, parts);
    return status;
}

static cla_status translate(const arguments *a)
{
    cli_model m;
    cla_status status = cli_model_open(&m, a->device, a->model, &a->weights,
                                       "translator", "translate needs a translator");
    if (!status) {
        status =
            format_of(a) ? translate_document(a, m.model) : translate_all(a, m.model);
    }
    cli_model_close(&m);
    return status;
}

int cli_translate(int argc, char **argv)
{
    arguments a = {
        .format = "text", .best = 1, .batch = 32, .ahead = 1024, .alpha = -1
    };
    cla_status status = cli_read(&cli_translate_usage, argc, argv, &a);
    if (!a.max_words && (a.whole || a.given)) {
        a.max_words = MAX_PIECES;
    }
    status = status ? status : translate(&a);
    return status ? cli_fail_data(status) : CLI_OK;
}
