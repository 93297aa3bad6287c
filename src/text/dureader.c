/* dureader.c - reads DuReader 2.0, and MS MARCO converted to its layout. */
#include "text/dureader.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "text/lines.h"
#include "text/match.h"
#include "text/msmarco.h"
#include "text/segmented.h"

/* A document: its best paragraph, and the recall of an answer or the question in it. */
typedef struct document {
    const json_t *paragraph;
    const json_t *written; // its text before it was cut into words, or NULL
    double recall;
    bool selected, stays;
} document;

/* State while a file is read. */
typedef struct walk {
    const char *path;
    size_t line;
    const cla_dureader_options *options;
    cla_dureader_counts *counts;
    cla_reading *reading;
    cla_match answers, asked; // words of the answers, and of the question
    int32_t *id;              // of a paragraph's words
    size_t id_cap;
    document *documents; // of the question, those with words
    size_t document_count, document_cap;
    cla_match_span best; // best span so far, in passage
    size_t passage;
    bool selected; // a document that stays is marked as selected
    bool written;  // the line is MS MARCO's, whose texts are not cut into words
} walk;

static cla_status bad(const walk *w, const char *what)
{
    return cla_fail(CLA_E_INPUT, "%s:%zu: %s", w->path, w->line, what);
}

/* ---- lists of words ---------------------------------------------------------- */

static cla_status add_answer(cla_match *m, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        CLA_TRY(cla_match_add(m, cla_segmented_word(list, i)));
    }
    return cla_match_end(m);
}

/* Writes the numbers of list's words in m to w->id [*n], -1 for words that m lacks. */
static cla_status number(walk *w, const cla_match *m, const json_t *list, size_t *n)
{
    *n = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *word = cla_segmented_word(list, i);
        if (*word) {
            CLA_TRY(cla_grow(&w->id, &w->id_cap, *n + 1, sizeof *w->id));
            w->id[(*n)++] = cla_vocab_find(&m->words, word);
        }
    }
    return CLA_OK;
}

/* ---- documents --------------------------------------------------------------- */

/* Finds the paragraph with the best recall of an answer (or the question); of equals,
 * the shortest; NULL when none has a word. */
static cla_status choose(walk *w, const json_t *paragraphs, document *best)
{
    cla_match *m = w->options->by_question ? &w->asked : &w->answers;
    size_t best_length = 0;
    for (size_t i = 0; i < json_array_size(paragraphs); i++) {
        const json_t *paragraph = json_array_get(paragraphs, i);
        double recall = 0;
        size_t n = 0;
        if (!cla_segmented_is(paragraph)) {
            return bad(w, "a paragraph is no list of words");
        }
        CLA_TRY(number(w, m, paragraph, &n));
        CLA_TRY(cla_match_recall(m, w->id, n, &recall));
        const bool better =
            recall > best->recall || (recall == best->recall && n < best_length);
        if (n && (!best->paragraph || better)) {
            best->paragraph = paragraph;
            best->recall = recall;
            best_length = n;
        }
    }
    return CLA_OK;
}

/* Searches the last added passage for a better span. */
static cla_status look(walk *w, const json_t *paragraph, size_t words)
{
    cla_match_span span;
    size_t n = 0;
    CLA_TRY(number(w, &w->answers, paragraph, &n));
    CLA_TRY(cla_match_best(&w->answers, w->id, words, (size_t)w->options->answer_limit,
                           &span));
    if (span.f1 > w->best.f1) {
        w->best = span;
        w->passage = w->reading->passage_count - 1;
    }
    return CLA_OK;
}

/* Adds a document to w->documents if it has a word. */
static cla_status note_document(walk *w, const json_t *json)
{
    const json_t *paragraphs = json_object_get(json, "segmented_paragraphs");
    document found = { .selected = json_is_true(json_object_get(json, "is_selected")),
                       .written =
                           w->written ? json_object_get(json, "passage_text") : NULL };
    if (!json_is_array(paragraphs)) {
        return bad(w, "a document has no list 'segmented_paragraphs'");
    }
    CLA_TRY(choose(w, paragraphs, &found));
    if (!found.paragraph) {
        w->counts->empty++;
        return CLA_OK;
    }
    CLA_TRY(cla_grow(&w->documents, &w->document_cap, w->document_count + 1,
                     sizeof *w->documents));
    w->documents[w->document_count++] = found;
    return CLA_OK;
}

/* Returns whether a is kept before b when not all can stay. */
static bool is_better(const walk *w, const document *a, const document *b)
{
    const bool marked = !w->options->by_question && a->selected != b->selected;
    return marked ? a->selected : a->recall > b->recall;
}

/* Keeps the best document that is not kept yet. */
static void keep_one(walk *w)
{
    document *best = NULL;
    for (size_t i = 0; i < w->document_count; i++) {
        document *d = &w->documents[i];
        best = !d->stays && (!best || is_better(w, d, best)) ? d : best;
    }
    if (best) {
        best->stays = true;
    }
}

static cla_status take_document(walk *w, const document *d)
{
    cla_reading_text text = { 0 };
    bool was_cut = false;
    CLA_TRY(cla_segmented_add(w->reading, d->written, d->paragraph,
                              w->options->passage_limit, &text, &was_cut));
    CLA_TRY(cla_reading_add_passage(w->reading, &text));
    w->counts->cut += was_cut;
    w->selected = w->selected || d->selected;
    return d->selected ? look(w, d->paragraph, text.count) : CLA_OK;
}

/* ---- questions --------------------------------------------------------------- */

/* Adds the answers: as they were written, or else from their words. */
static cla_status keep_answers(walk *w, const json_t *question,
                               cla_reading_question *out)
{
    cla_reading *r = w->reading;
    const json_t *cut = json_object_get(question, "segmented_answers");
    const json_t *written = json_object_get(question, "answers");
    out->answer = (int32_t)r->answer_count;
    for (size_t i = 0; i < json_array_size(cut); i++) {
        const char *text = json_string_value(json_array_get(written, i));
        cla_reading_answer answer = { .passage = -1 };
        bool was_cut = false;
        if (text) {
            CLA_TRY(cla_reading_add_text(r, text, strlen(text), &answer.text));
        } else {
            CLA_TRY(cla_segmented_add(r, NULL, json_array_get(cut, i), 0, &answer.text,
                                      &was_cut));
            r->words.count = answer.text.first;
            answer.text.count = 0;
        }
        if (w->best.f1 > 0 && w->best.answer == i) {
            answer.passage = (int32_t)w->passage;
            answer.first = (int32_t)w->best.first;
            answer.last = (int32_t)w->best.last;
        }
        CLA_TRY(cla_reading_add_answer(r, &answer));
    }
    out->answers = (int32_t)r->answer_count - out->answer;
    return CLA_OK;
}

static const char *id_of(const json_t *question, char digits[CLA_READING_DIGITS])
{
    return cla_reading_id(json_object_get(question, "question_id"), digits);
}

static cla_status keep_id(walk *w, const json_t *question, cla_reading_question *out)
{
    cla_reading_text text = { 0 };
    char digits[CLA_READING_DIGITS];
    const char *name = id_of(question, digits);
    if (!name) {
        return bad(w, "there is no 'question_id'");
    }
    CLA_TRY(cla_reading_add_text(w->reading, name, strlen(name), &text));
    out->id = text.at;
    return CLA_OK;
}

/* Returns whether a question belongs to the part that is read. One without an id does:
 * keep_id refuses it. */
static bool is_wanted(const walk *w, const json_t *question)
{
    char digits[CLA_READING_DIGITS];
    const char *name = id_of(question, digits);
    const cla_squad_part part = w->options->part;
    return part == CLA_SQUAD_ALL || !name || cla_squad_part_of(name) == part;
}

/* Collects the words of the question and of its answers. */
static cla_status note_words(walk *w, const json_t *question)
{
    const json_t *asked = json_object_get(question, "segmented_question");
    const json_t *answers = json_object_get(question, "segmented_answers");
    cla_match_clear(&w->asked);
    cla_match_clear(&w->answers);
    if (!cla_segmented_is(asked)) {
        return bad(w, "there is no list of words 'segmented_question'");
    }
    if (answers && !json_is_array(answers)) {
        return bad(w, "'segmented_answers' is no list");
    }
    for (size_t i = 0; i < json_array_size(answers); i++) {
        const json_t *answer = json_array_get(answers, i);
        CLA_TRY(cla_segmented_is(answer) ? add_answer(&w->answers, answer)
                                         : bad(w, "an answer is no list of words"));
    }
    return add_answer(&w->asked, asked);
}

static cla_status read_documents(walk *w, const json_t *question)
{
    const json_t *documents = json_object_get(question, "documents");
    const size_t limit = (size_t)w->options->passages;
    if (!json_is_array(documents)) {
        return bad(w, "there is no list 'documents'");
    }
    w->best = (cla_match_span){ 0 };
    w->selected = false;
    w->document_count = 0;
    for (size_t i = 0; i < json_array_size(documents); i++) {
        CLA_TRY(note_document(w, json_array_get(documents, i)));
    }
    for (size_t k = 0; k < w->document_count && (!limit || k < limit); k++) {
        keep_one(w);
    }
    for (size_t i = 0; i < w->document_count; i++) {
        if (w->documents[i].stays) {
            CLA_TRY(take_document(w, &w->documents[i]));
        }
    }
    return CLA_OK;
}

/* Returns whether the question stays; counts what it lacks. */
static bool stays(const walk *w, const cla_reading_question *question)
{
    cla_dureader_counts *c = w->counts;
    if (!question->passages || !question->text.count) {
        c->wordless++;
        return false;
    }
    c->f1 += w->best.f1;
    if (w->best.f1 > 0) {
        return true;
    }
    c->unselected += !w->selected;
    c->answerless += w->selected;
    return w->options->unanswered;
}

static cla_status read_question(walk *w, const json_t *question)
{
    cla_reading *r = w->reading;
    const cla_reading before = *r;
    cla_reading_question out = { .passage = (int32_t)r->passage_count };
    bool was_cut = false;
    CLA_TRY(note_words(w, question));
    CLA_TRY(read_documents(w, question));
    out.passages = (int32_t)r->passage_count - out.passage;
    CLA_TRY(keep_id(w, question, &out));
    CLA_TRY(cla_segmented_add(r, w->written ? json_object_get(question, "query") : NULL,
                              json_object_get(question, "segmented_question"),
                              w->options->question_limit, &out.text, &was_cut));
    CLA_TRY(keep_answers(w, question, &out));
    if (stays(w, &out)) {
        return cla_reading_add_question(r, &out);
    }
    r->passage_count = before.passage_count;
    r->answer_count = before.answer_count;
    r->words.count = before.words.count;
    r->bytes.size = before.bytes.size;
    return CLA_OK;
}

/* Converts a line of MS MARCO to DuReader's layout; leaves others unchanged. */
static cla_status bring(walk *w, json_t **line)
{
    const char *what = NULL;
    json_t *question = NULL;
    w->written = cla_msmarco_is(*line);
    if (!w->written) {
        return CLA_OK;
    }
    w->reading->blanks = true;
    const cla_status status = cla_msmarco_question(&question, *line, &what);
    json_decref(*line);
    *line = question;
    return what ? bad(w, what) : status;
}

static cla_status read_line(void *to, size_t number, char *text, size_t size)
{
    walk *w = to;
    json_t *question = NULL;
    w->line = number;
    CLA_TRY(cla_json_text(&question, w->path, number, text, size, 0));
    cla_status status =
        json_is_object(question) ? bring(w, &question) : bad(w, "is no object");
    if (!status && is_wanted(w, question)) {
        w->counts->lines++;
        status = read_question(w, question);
    }
    json_decref(question);
    return status;
}

cla_status cla_dureader_read(cla_reading *r, const char *path,
                             const cla_dureader_options *options,
                             cla_dureader_counts *counts)
{
    walk w = { .path = path, .options = options, .counts = counts, .reading = r };
    *r = (cla_reading){ .free_words = true };
    *counts = (cla_dureader_counts){ 0 };
    cla_status status = cla_lines_filled(path, read_line, &w);
    if (!status && !r->question_count) {
        status =
            cla_fail(CLA_E_INPUT, "%s: holds no question%s", path,
                     counts->lines ? " that can be answered from its passages" : "");
    }
    cla_match_free(&w.answers);
    cla_match_free(&w.asked);
    free(w.documents);
    free(w.id);
    if (status) {
        cla_reading_free(r);
    }
    return status;
}
