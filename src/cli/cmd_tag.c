/* cmd_tag.c - clattn tag: tags standard input with a trained tagger. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/platform.h"
#include "cli/model.h"
#include "cli/stream.h"
#include "text/conllu.h"

#define BLANKS " \t\r"

typedef struct arguments {
    const char *device, *model, *format;
    cli_weights weights;
    bool unbuffered;
    int batch, max_words;
} arguments;

static const cli_option options[] = {
    CLI_DEVICE(arguments, device),
    CLI_PRECISION,
    { "model", 'm', "DIR", "folder of a tagger's training run", CLI_TEXT,
      .at = offsetof(arguments, model), .needed = true },
    CLI_WEIGHTS(arguments, weights),
    { "format", 'f', "FORM",
      "what standard input is: conllu, words, or auto, which tells by its first row "
      "(auto)",
      CLI_TEXT, .at = offsetof(arguments, format), .choices = "auto conllu words" },
    { "unbuffered", 'u', NULL, "answer each sentence at once", CLI_FLAG,
      .at = offsetof(arguments, unbuffered) },
    { "batch-lines", 'b', "N", "sentences tagged together (256)", CLI_INT,
      .at = offsetof(arguments, batch), .low = 1, .high = 1 << 20 },
    { "max-words", 'w', "N", "refuse a sentence of more words (10000)", CLI_INT,
      .at = offsetof(arguments, max_words), .low = 1, .high = INT32_MAX },
    { 0 },
};

static const char *const forms[] = { [CLA_FORM_UNKNOWN] = "auto",
                                     [CLA_FORM_CONLLU] = "conllu",
                                     [CLA_FORM_WORDS] = "words" };

/* Returns the form that --format names; CLA_FORM_NEITHER for another word. */
static cla_conllu_form form_of(const arguments *a)
{
    int form = CLA_FORM_UNKNOWN;
    while (a->format && form < CLA_FORM_NEITHER &&
           strcmp(a->format, forms[form]) != 0) {
        form++;
    }
    return (cla_conllu_form)form;
}

static cla_status check(const void *arguments_)
{
    const arguments *a = arguments_;
    return form_of(a) != CLA_FORM_NEITHER
               ? CLA_OK
               : cla_fail(CLA_E_USAGE,
                          "--format is '%.80s', must be auto, conllu or words",
                          a->format);
}

const cli_usage cli_tag_usage = {
    .options = options,
    .check = check,
    .about =
        "Tags sentences from standard input: CoNLL-U, or words with blanks between "
        "them, a sentence a line. Writes CoNLL-U with the model's column filled, 4 "
        "(UPOS) or 5 (XPOS); every other column, comments and line ends stay.",
    .more = "  clattn tag --model runs/t < in.conllu > out.conllu\n"
            "  echo 'il ne vient pas' | clattn tag --model runs/t",
};

/* The state of reading standard input. */
typedef struct stream {
    cla_model *tagger;
    cla_text pending; // lines not yet tagged
    size_t whole;     // bytes of pending up to the end of a sentence
    int sentences, limit;
    int lines, pending_from; // lines read; lines before the pending text
    cla_conllu_form form;
    bool guessed;         // the form, from a line
    bool carriage;        // the last line that had an end ended in CR LF
    int unknown;          // lines of words while the form is not known
    int most_words;       // of the longest of them
    size_t most_at;       // its line number
    bool row_open;        // the last block of lines may have more
    int words, max_words; // of the current sentence
} stream;

static cla_status print(const cla_text *out)
{
    return out->size && (fwrite(out->data, 1, out->size, stdout) != out->size ||
                         fflush(stdout))
               ? cla_fail(CLA_E_IO, "standard output: %s", strerror(errno))
               : CLA_OK;
}

static cla_status write_tagged(const cla_conllu *file, const char *const *tags)
{
    cla_text out = { 0 };
    cla_status status = CLA_OK;
    for (size_t i = 0; i < file->sentence_count && !status; i++) {
        status = cla_conllu_write(file, i, tags + file->sentences[i].first, &out);
    }
    status = status ? status : print(&out);
    cla_text_free(&out);
    return status;
}

/* Tags the words of a file; names and length have room for words and sentences. */
static cla_status tag_words(const stream *s, cla_conllu *file, const char **names,
                            size_t *length)
{
    const char **tags = names + file->word_count;
    for (size_t i = 0; i < file->word_count; i++) {
        names[i] = file->words[i].form;
    }
    for (size_t i = 0; i < file->sentence_count; i++) {
        length[i] = file->sentences[i].count;
    }
    CLA_TRY(cla_model_tag_sentences(s->tagger, tags, names, length,
                                    file->sentence_count, NULL));
    if (cla_model_tag_column(s->tagger) == CLA_XPOS) {
        cla_conllu_use_xpos(file);
    }
    return write_tagged(file, tags);
}

static cla_status tag_file(const stream *s, cla_conllu *file)
{
    const char **names = NULL; // of the words, then of their tags
    size_t *length = NULL;
    cla_status status = cla_alloc(&names, 2 * file->word_count, sizeof *names);
    status = status ? status : cla_alloc(&length, file->sentence_count, sizeof *length);
    status = status ? status : tag_words(s, file, names, length);
    free(names);
    free(length);
    cla_conllu_free(file);
    return status;
}

/* Writes lines without words: comments of CoNLL-U. */
static cla_status copy_comments(const stream *s, const cla_text *text)
{
    cla_text out = { 0 };
    cla_status status = s->form == CLA_FORM_CONLLU && text->size
                            ? cla_conllu_write_comments(text->data, text->size, &out)
                            : CLA_OK;
    status = status ? status : print(&out);
    cla_text_free(&out);
    return status;
}

/* Tags the pending sentences. */
static cla_status flush(stream *s)
{
    cla_conllu file = { 0 };
    cla_text text = s->pending;
    const int from = s->pending_from;
    if (text.data) {
        text.size = s->whole;
        text.data[text.size] = 0;
    }
    s->pending = (cla_text){ 0 };
    s->whole = 0;
    s->pending_from = s->lines;
    if (!s->sentences) {
        const cla_status status = copy_comments(s, &text);
        cla_text_free(&text);
        return status;
    }
    s->sentences = 0;
    CLA_TRY(s->form == CLA_FORM_CONLLU
                ? cla_conllu_parse(&file, "standard input", from, text.data, text.size)
                : cla_conllu_from_lines(&file, "standard input", from, text.data,
                                        text.size));
    return tag_file(s, &file);
}

static bool blank(const char *line)
{
    return line[strspn(line, BLANKS)] == 0;
}

/* Appends a line and its line end to the pending text; the last line of the stream may
 * lack one, and gets that of the line before it. */
static cla_status append(stream *s, const cla_line_stream *at, const char *line,
                         size_t size)
{
    s->carriage = at->ended ? at->carriage : s->carriage;
    CLA_TRY(cla_text_append(&s->pending, line, size));
    return cla_text_append(&s->pending, s->carriage ? "\r\n" : "\n",
                           s->carriage ? 2 : 1);
}

static cla_status check_words(const stream *s, int words, size_t line)
{
    return words <= s->max_words
               ? CLA_OK
               : cla_fail(CLA_E_INPUT,
                          "standard input:%zu: a sentence of more than %d words: see "
                          "--max-words",
                          line, s->max_words);
}

/* Counts the words of the current sentence: all words of a plain line, or one for a
 * CoNLL-U row. Fails above --max-words. */
static cla_status count_words(stream *s, size_t number, const char *line)
{
    s->words = s->row_open ? s->words : 0;
    if (s->form == CLA_FORM_CONLLU) {
        s->words += !blank(line) && *line != '#';
    } else if (s->form == CLA_FORM_WORDS) {
        s->words = (int)cla_count_words(line, BLANKS);
    }
    return check_words(s, s->words, number);
}

/* Notes a line that starts with '#' or is blank before the form is known. */
static void note_unknown(stream *s, size_t number, const char *line)
{
    const int words = (int)cla_count_words(line, BLANKS);
    s->unknown += words > 0;
    if (words > s->most_words) {
        s->most_words = words;
        s->most_at = number;
    }
}

/* Decides that the input is plain text: the lines noted before are sentences too. */
static cla_status set_plain(stream *s)
{
    s->form = CLA_FORM_WORDS;
    s->sentences = s->unknown;
    return check_words(s, s->most_words, s->most_at);
}

/* Decides the form by the first row. */
static cla_status guess(stream *s, size_t number, const char *line)
{
    s->form = cla_conllu_guess(line);
    s->guessed = true;
    if (s->form == CLA_FORM_NEITHER) {
        return cla_fail(CLA_E_INPUT,
                        "standard input:%zu: neither CoNLL-U, ten columns of which the "
                        "first is an id, nor plain words: see --format",
                        number);
    }
    return s->form == CLA_FORM_WORDS ? set_plain(s) : CLA_OK;
}

static cla_status take_line(void *to, const cla_line_stream *at, char *line,
                            size_t size)
{
    stream *s = to;
    const bool empty = blank(line);
    if (!s->form && (empty || line[0] == '#')) {
        note_unknown(s, at->number, line);
    } else if (!s->form) {
        CLA_TRY(guess(s, at->number, line));
    } else if (s->guessed && s->form == CLA_FORM_WORDS &&
               cla_conllu_guess(line) == CLA_FORM_CONLLU) {
        return cla_fail(CLA_E_INPUT,
                        "standard input:%zu: a row of CoNLL-U behind plain words: see "
                        "--format",
                        at->number);
    }
    CLA_TRY(count_words(s, at->number, line));
    CLA_TRY(append(s, at, line, size));
    s->lines++;
    if (s->form == CLA_FORM_CONLLU) {
        s->sentences += s->row_open && empty && s->words;
        s->row_open = !empty;
    } else if (s->form == CLA_FORM_WORDS) {
        s->sentences += !empty;
    }
    if (!s->row_open) {
        s->whole = s->pending.size;
    }
    return s->sentences >= s->limit && !s->row_open ? flush(s) : CLA_OK;
}

/* Tags the remaining sentences. Input whose lines all begin with '#' is plain text.
 * After a refused line (not ended) it leaves out an incomplete sentence. */
static cla_status finish(void *to, bool ended)
{
    stream *s = to;
    if (!s->form && ended) {
        CLA_TRY(set_plain(s));
    }
    if (s->row_open && ended) {
        s->sentences += s->words > 0;
        s->whole = s->pending.size;
    }
    return flush(s);
}

static cla_status tag(const arguments *a)
{
    cli_model m;
    cla_status status = cli_model_open(&m, a->device, a->model, &a->weights, "tagger",
                                       "tag needs a tagger");
    if (!status) {
        const bool at_once = a->unbuffered || cla_os_is_terminal(CLA_STDIN);
        stream s = { .tagger = m.model,
                     .form = form_of(a),
                     .limit = at_once ? 1 : a->batch,
                     .max_words = a->max_words };
        const cli_stream input = { .take = take_line, .finish = finish, .to = &s };
        status = cli_stream_run(&input);
        cla_text_free(&s.pending);
    }
    cli_model_close(&m);
    return status;
}

int cli_tag(int argc, char **argv)
{
    arguments a = { .batch = 256, .max_words = 10000 };
    cla_status status = cli_read(&cli_tag_usage, argc, argv, &a);
    status = status ? status : tag(&a);
    return status ? cli_fail_data(status) : CLI_OK;
}
