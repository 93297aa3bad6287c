/* cmd_answer.c - clattn answer: answers questions about passages with a reader. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/platform.h"
#include "cli/answer.h"
#include "cli/model.h"
#include "cli/stream.h"
#include "tasks/model.h"

enum { TOGETHER = 64 };

typedef struct arguments {
    const char *device, *model, *passage, *squad;
    cli_weights weights;
    int best, max_words;
    bool scores, json;
} arguments;

static const cli_option options[] = {
    CLI_DEVICE(arguments, device),
    CLI_PRECISION,
    CLI_JSON(arguments, json),
    { "model", 'm', "DIR", "folder of a reader's training run", CLI_TEXT,
      .at = offsetof(arguments, model), .needed = true },
    CLI_WEIGHTS(arguments, weights),
    { "passage", 'p', "FILE", "the passage; questions are lines of standard input",
      CLI_TEXT, .at = offsetof(arguments, passage) },
    { "squad", 'q', "FILE",
      "answer a file in the layout of SQuAD, or (.jsonl) of DuReader or MS MARCO: one "
      "object of "
      "ids and answers",
      CLI_TEXT, .at = offsetof(arguments, squad) },
    { "nbest", 'n', "N", "the N best answers to each question (1)", CLI_INT,
      .at = offsetof(arguments, best), .low = 1, .high = CLA_MOST_ANSWERS },
    { "max-words", 'w', "N", "refuse a passage of more words (20000)", CLI_INT,
      .at = offsetof(arguments, max_words), .low = 1, .high = INT32_MAX },
    { "scores", 's', NULL,
      "log probability, first code point, the one behind the last, and answer, with "
      "tabs between them",
      CLI_FLAG, .at = offsetof(arguments, scores) },
    { 0 },
};

static cla_status check(const void *arguments_)
{
    const arguments *a = arguments_;
    if (a->passage && a->squad) {
        return cla_fail(CLA_E_USAGE, "--passage and --squad: one of them");
    }
    return a->squad && a->best > 1
               ? cla_fail(CLA_E_USAGE, "--squad and --nbest: one of them")
               : CLA_OK;
}

const cli_usage cli_answer_usage = {
    .options = options,
    .check = check,
    .about =
        "Answers questions with words of a passage. Standard input has a JSON object a "
        "line, {\"passage\": ..., \"question\": ...}, or \"passages\": [...], "
        "\"questions\": [...]; with --passage a question a line. Each question gets a "
        "line with its answer, an empty one where passage or question has no word.",
    .more = "  echo 'Who came?' | clattn answer --model runs/r --passage story.txt\n"
            "  clattn answer --model runs/r --json --nbest 5 < questions.jsonl\n"
            "  clattn answer --model runs/r --squad dev.json > answers.json",
};
/* ---- output ---------------------------------------------------------------------- */

/* The passages of a question. An answer names its passage when they are a list. */
typedef struct texts {
    const char *const *passage;
    size_t count;
    bool list;   // given as a list
    size_t line; // line of standard input; 0: the passage of --passage
} texts;

/* Returns NULL when out of memory. */
static json_t *answer_object(const texts *of, const cla_passage_quote *answer)
{
    const cla_quote *place = &answer->quote;
    json_t *object =
        json_pack("{s:s%,s:i,s:i,s:f}", "text",
                  of->passage[answer->passage] + place->at, (size_t)place->size, "from",
                  place->from, "to", place->to, "score", place->logp);
    if (of->list && json_object_set_new(object, "passage",
                                        json_integer((json_int_t)answer->passage))) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static cla_status print_object(const texts *of, const char *question,
                               const cla_passage_quote *answers, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        if (json_array_append_new(list, answer_object(of, &answers[i]))) {
            json_decref(list);
            return cla_fail(CLA_E_NOMEM, "output: no memory for an answer");
        }
    }
    return cli_print_json(
        json_pack("{s:s,s:o}", "question", question, "answers", list));
}

/* Prints an answer as one line: line breaks and tabs of the passage become blanks. */
static void print_line(const arguments *a, const texts *of,
                       const cla_passage_quote *answer)
{
    const cla_quote *place = &answer->quote;
    const char *text = of->passage[answer->passage] + place->at;
    if (a->scores) {
        printf("%.6f\t", place->logp);
        if (of->list) {
            printf("%zu\t", answer->passage);
        }
        printf("%d\t%d\t", place->from, place->to);
    }
    for (int32_t i = 0; i < place->size; i++) {
        const char c = text[i];
        putchar(c == '\n' || c == '\r' || c == '\t' ? ' ' : c);
    }
    putchar('\n');
}

static cla_status print(const arguments *a, const texts *of, const char *question,
                        const cla_passage_quote *answers, size_t n)
{
    if (a->json) {
        return print_object(of, question, answers, n);
    }
    for (size_t i = 0; i < n; i++) {
        print_line(a, of, &answers[i]);
    }
    if (!n) {
        putchar('\n');
    }
    return CLA_OK;
}

/* ---- questions about passages ------------------------------------------------- */

/* Puts the origin of the passages in front of the error message. */
static cla_status name_place(const arguments *a, const texts *of, cla_status status)
{
    return !of->line ? cla_fail_within(status, "%s", a->passage)
                     : cla_fail_within(status, "standard input:%zu", of->line);
}

/* Answers n questions about the same passages; room for them is asked. */
static cla_status answer_all(const arguments *a, cla_model *model, const texts *of,
                             cla_question *asked, size_t n)
{
    const cla_answer_options how = { .best = a->best, .max_words = a->max_words };
    const size_t best = (size_t)a->best;
    cla_passage_quote *answers = NULL;
    size_t *found = NULL;
    cla_status status = cla_alloc(&answers, n * best + 1, sizeof *answers);
    status = status ? status : cla_alloc(&found, n + 1, sizeof *found);
    status = status ? status : cla_model_ask(model, answers, found, asked, n, &how);
    status = status == CLA_E_INPUT ? name_place(a, of, status) : status;
    for (size_t i = 0; found && i < n && !status; i++) {
        status = print(a, of, asked[i].text, answers + i * best, found[i]);
    }
    status = status ? status : cli_flush();
    free(answers);
    free(found);
    return status;
}

static cla_status answer_some(const arguments *a, cla_model *model, const texts *of,
                              const char *const *questions, size_t n)
{
    cla_question *asked = NULL;
    CLA_TRY(cla_alloc(&asked, n + 1, sizeof *asked));
    for (size_t i = 0; i < n; i++) {
        asked[i] = (cla_question){ questions[i], of->passage, of->count };
    }
    const cla_status status = answer_all(a, model, of, asked, n);
    free(asked);
    return status;
}

/* The state of reading standard input. */
typedef struct stream {
    const arguments *a;
    cla_model *model;
    const char *passage; // of --passage; NULL: each line has its own
    char *question[TOGETHER];
    size_t count, limit, number;
} stream;

static cla_status flush(stream *s)
{
    cla_status status = CLA_OK;
    if (s->count) {
        const texts one = { &s->passage, 1, false, 0 };
        status = answer_some(s->a, s->model, &one, (const char *const *)s->question,
                             s->count);
    }
    for (size_t i = 0; i < s->count; i++) {
        free(s->question[i]);
    }
    s->count = 0;
    return status;
}

/* ---- a passage with its questions in a line -------------------------------------- */

static cla_status bad_line(const stream *s, const char *what)
{
    return cla_fail(CLA_E_INPUT, "standard input:%zu: %s", s->number, what);
}

/* Gives the strings of a list as an array for the caller to free; the list keeps the
 * strings themselves. */
static cla_status strings_of(const stream *s, const json_t *list, const char *what,
                             const char ***out)
{
    const size_t n = json_array_size(list);
    CLA_TRY(cla_alloc(out, n + 1, sizeof **out));
    for (size_t i = 0; i < n; i++) {
        (*out)[i] = json_string_value(json_array_get(list, i));
        if (!(*out)[i]) {
            return bad_line(s, what);
        }
    }
    return CLA_OK;
}

static cla_status answer_list(stream *s, const texts *of, const json_t *list)
{
    const char **questions = NULL;
    cla_status status = strings_of(s, list, "questions must be strings", &questions);
    status = status ? status
                    : answer_some(s->a, s->model, of, questions, json_array_size(list));
    free(questions);
    return status;
}

static cla_status answer_about(stream *s, const texts *of, const json_t *object)
{
    const char *question = json_string_value(json_object_get(object, "question"));
    const json_t *list = json_object_get(object, "questions");
    if (json_is_array(list)) {
        return answer_list(s, of, list);
    }
    return question
               ? answer_some(s->a, s->model, of, &question, 1)
               : bad_line(s, "has no \"question\", a string, and no \"questions\"");
}

static cla_status answer_object_of(stream *s, const json_t *object)
{
    const char *passage = json_string_value(json_object_get(object, "passage"));
    const json_t *list = json_object_get(object, "passages");
    const char **passages = NULL;
    texts of = { &passage, 1, false, s->number };
    if (!json_is_array(list)) {
        return passage ? answer_about(s, &of, object)
                       : bad_line(s, "must be a JSON object with \"passage\", a "
                                     "string, or \"passages\"");
    }
    cla_status status = strings_of(s, list, "passages must be strings", &passages);
    of = (texts){ passages, json_array_size(list), true, s->number };
    status = status ? status : answer_about(s, &of, object);
    free(passages);
    return status;
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
    json_t *object = NULL;
    s->number = at->number;
    if (s->passage) {
        CLA_TRY(cla_strdup(&s->question[s->count], text));
        s->count++;
        return s->count == s->limit ? flush(s) : CLA_OK;
    }
    if (cla_line_is_blank(text, size)) {
        return CLA_OK;
    }
    CLA_TRY(cla_json_text(&object, at->path, at->number, text, size, 0));
    const cla_status status = answer_object_of(s, object);
    json_decref(object);
    return status;
}

static cla_status answer_stream(const arguments *a, cla_model *model)
{
    stream s = { .a = a,
                 .model = model,
                 .limit = cla_os_is_terminal(CLA_STDIN) ? 1 : TOGETHER };
    char *passage = NULL;
    size_t size = 0;
    if (a->passage) {
        CLA_TRY(cla_text_read(&passage, &size, a->passage, CLA_SOURCE_PIPE));
    }
    s.passage = passage;
    const cli_stream input = { .take = take_line, .finish = finish, .to = &s };
    const cla_status status = cli_stream_run(&input);
    free(passage);
    return status;
}

/* ---- the command ----------------------------------------------------------------- */

static cla_status answer(const arguments *a)
{
    cli_model m;
    cla_status status = cli_model_open(&m, a->device, a->model, &a->weights, "reader",
                                       "answer needs a reader");
    if (!status) {
        reading *t = (reading *)cla_model_task(m.model); // for files of questions
        status = a->squad ? cli_answer_file(t, a->squad, a->max_words)
                          : answer_stream(a, m.model);
    }
    cli_model_close(&m);
    return status;
}

int cli_answer(int argc, char **argv)
{
    arguments a = { .best = 1, .max_words = 20000 };
    cla_status status = cli_read(&cli_answer_usage, argc, argv, &a);
    status = status ? status : answer(&a);
    return status ? cli_fail_data(status) : CLI_OK;
}
