/* squad.c - reads data sets in the JSON layout of SQuAD. */
#include "text/squad.h"

#include <string.h>
#include <xxhash.h>

#include "base/json.h"
#include "base/utf8.h"

#define BLANKS " \t\n\r"

/* State while a file is read. */
typedef struct walk {
    const char *path;
    const cla_squad_options *options;
    cla_squad_counts *counts;
    cla_reading *reading;
    cla_vocab ids;             // of questions
    size_t article, paragraph; // numbers of the current ones, from 1
    const char *id;            // of the question, or NULL
    char digits[CLA_READING_DIGITS];
    bool passage_cut;
} walk;

static cla_status bad(const walk *w, const char *what)
{
    if (w->id) {
        return cla_fail(CLA_E_INPUT, "%s: question '%.80s': %s", w->path, w->id, what);
    }
    if (!w->paragraph) {
        return cla_fail(CLA_E_INPUT, "%s: article %zu: %s", w->path, w->article, what);
    }
    return cla_fail(CLA_E_INPUT, "%s: article %zu, paragraph %zu: %s", w->path,
                    w->article, w->paragraph, what);
}

/* Counts a fault that is skipped or repaired; refuses it if the options are strict. */
static cla_status fault(const walk *w, int64_t *count, const char *what)
{
    ++*count;
    return w->options->strict ? bad(w, what) : CLA_OK;
}

static const char *string_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* ---- answers ----------------------------------------------------------------- */

/* Returns the code point nearest to start at which answer occurs in text; -1: none. */
static int32_t nearest(const char *text, const char *answer, int64_t start)
{
    int64_t best = -1;
    int32_t point = 0;
    start = start < 0 ? 0 : start < INT32_MAX ? start : INT32_MAX; // of any 64 bits
    for (const char *at = text, *found; (found = strstr(at, answer)); at = found + 1) {
        point += cla_utf8_count(at, (size_t)(found - at));
        if (best < 0 || llabs(point - start) < llabs(best - start)) {
            best = point;
        }
        point++; // found + 1 is inside or past the first code point
    }
    return (int32_t)best;
}

/* Finds the words of the passage that an answer covers, if it occurs there. */
static cla_status place_answer(const walk *w, const char *text, int64_t start,
                               cla_reading_answer *answer)
{
    const cla_reading *r = w->reading;
    const cla_reading_text *passage = &r->passages[r->passage_count - 1];
    const cla_span *word = r->words.word + passage->first;
    const size_t lead = strspn(text, BLANKS);
    size_t size = strlen(text), first = 0, last = 0;
    int32_t from = text[lead] ? nearest(r->bytes.data + passage->at, text, start) : -1;
    if (from < 0) {
        return fault(w, &w->counts->lost, "an answer does not occur in the passage");
    }
    if (from != start) {
        CLA_TRY(fault(w, &w->counts->moved, "an answer is not at its offset"));
    }
    while (strchr(BLANKS, text[size - 1])) {
        size--;
    }
    from += (int32_t)lead;
    const int32_t to = from + cla_utf8_count(text + lead, size - lead);
    if (w->passage_cut && to > word[passage->count - 1].to) {
        w->counts->beyond++;
        return CLA_OK;
    }
    if (!cla_words_cover(word, passage->count, from, to, &first, &last)) {
        return fault(w, &w->counts->lost, "an answer has no words");
    }
    w->counts->widened += word[first].from < from || word[last].to > to;
    answer->passage = (int32_t)r->passage_count - 1;
    answer->first = (int32_t)first;
    answer->last = (int32_t)last;
    return CLA_OK;
}

static cla_status read_answers(walk *w, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *object = json_array_get(list, i);
        const json_t *start = json_object_get(object, "answer_start");
        const char *text = string_of(object, "text");
        if (!text || !json_is_integer(start)) {
            return bad(w, "an answer lacks 'text' or 'answer_start'");
        }
        cla_reading_answer answer = { .passage = -1 };
        CLA_TRY(cla_reading_add_text(w->reading, text, strlen(text), &answer.text));
        CLA_TRY(place_answer(w, text, json_integer_value(start), &answer));
        CLA_TRY(cla_reading_add_answer(w->reading, &answer));
    }
    return CLA_OK;
}

/* ---- questions --------------------------------------------------------------- */

/* Decides whether a question stays. */
static cla_status judge_question(const walk *w, const cla_reading_question *question,
                                 bool *stays)
{
    const cla_squad_options *o = w->options;
    *stays = false;
    if (!question->text.count) {
        return fault(w, &w->counts->wordless, "the question has no words");
    }
    if (!cla_reading_gold(w->reading, question)) {
        w->counts->answerless++;
        *stays = o->unanswered;
        return CLA_OK;
    }
    *stays = true;
    return CLA_OK;
}

static cla_status note_id(walk *w)
{
    const size_t known = w->ids.count;
    CLA_TRY(cla_vocab_add(&w->ids, w->id, 1, NULL));
    return w->ids.count > known ? CLA_OK : bad(w, "duplicate id");
}

static cla_status add_question(walk *w, const char *text, const json_t *answers)
{
    cla_reading *r = w->reading;
    cla_reading_text id = { 0 };
    cla_reading_question question = { .passage = (int32_t)r->passage_count - 1,
                                      .passages = 1,
                                      .answer = (int32_t)r->answer_count };
    bool was_cut = false, stays = false;
    CLA_TRY(note_id(w));
    CLA_TRY(cla_reading_add_text(r, w->id, strlen(w->id), &id));
    CLA_TRY(cla_reading_add_text(r, text, strlen(text), &question.text));
    CLA_TRY(cla_reading_cut(r, &question.text, w->options->question_limit, &was_cut));
    CLA_TRY(read_answers(w, answers));
    question.id = id.at;
    question.answers = (int32_t)r->answer_count - question.answer;
    question.impossible = json_is_array(answers) && !json_array_size(answers);
    w->counts->impossible += question.impossible;
    CLA_TRY(judge_question(w, &question, &stays));
    if (!stays) {
        r->answer_count = (size_t)question.answer;
        r->words.count = question.text.first;
        return CLA_OK;
    }
    w->counts->long_questions += was_cut;
    return cla_reading_add_question(r, &question);
}

static cla_status read_questions(walk *w, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *object = json_array_get(list, i);
        const char *text = string_of(object, "question");
        const json_t *answers = json_object_get(object, "answers");
        w->id = cla_reading_id(json_object_get(object, "id"), w->digits);
        if (!w->id) {
            return bad(w, "a question has no 'id'");
        }
        if (!text || (answers && !json_is_array(answers))) {
            return bad(w, text ? "'answers' is no list" : "there is no 'question'");
        }
        CLA_TRY(add_question(w, text, answers));
        w->id = NULL;
    }
    return CLA_OK;
}

/* ---- articles ---------------------------------------------------------------- */

static cla_status read_paragraph(walk *w, const json_t *paragraph)
{
    const char *context = string_of(paragraph, "context");
    const json_t *questions = json_object_get(paragraph, "qas");
    cla_reading_text text = { 0 };
    if (!context || !json_is_array(questions)) {
        return bad(w, context ? "there is no list 'qas'" : "there is no 'context'");
    }
    CLA_TRY(cla_reading_add_text(w->reading, context, strlen(context), &text));
    CLA_TRY(
        cla_reading_cut(w->reading, &text, w->options->passage_limit, &w->passage_cut));
    if (!text.count) {
        w->counts->unasked += (int64_t)json_array_size(questions);
        return fault(w, &w->counts->empty, "the passage has no words");
    }
    w->counts->cut += w->passage_cut;
    CLA_TRY(cla_reading_add_passage(w->reading, &text));
    return read_questions(w, questions);
}

cla_squad_part cla_squad_part_of(const char *key)
{
    const uint64_t tenth = XXH64(key, strlen(key), 0) % 10;
    return tenth < 8 ? CLA_SQUAD_TRAIN : tenth == 8 ? CLA_SQUAD_DEV : CLA_SQUAD_TEST;
}

/* Returns the part of a split to which an article belongs. */
static cla_squad_part part_of(const json_t *article, const json_t *paragraphs)
{
    const char *key = string_of(article, "title");
    key = key ? key : string_of(json_array_get(paragraphs, 0), "context");
    return cla_squad_part_of(key ? key : "");
}

static cla_status read_article(walk *w, const json_t *article)
{
    const json_t *paragraphs = json_object_get(article, "paragraphs");
    const cla_squad_part part = w->options->part;
    w->paragraph = 0;
    if (!json_is_array(paragraphs)) {
        return bad(w, "there is no list 'paragraphs'");
    }
    if (part != CLA_SQUAD_ALL && part != part_of(article, paragraphs)) {
        return CLA_OK;
    }
    w->counts->articles++;
    for (size_t i = 0; i < json_array_size(paragraphs); i++) {
        w->paragraph = i + 1;
        CLA_TRY(read_paragraph(w, json_array_get(paragraphs, i)));
    }
    return CLA_OK;
}

static cla_status read_data(walk *w, const json_t *root)
{
    const json_t *articles = json_object_get(root, "data");
    if (!json_is_array(articles)) {
        return cla_fail(CLA_E_INPUT, "%s: holds no list 'data'", w->path);
    }
    for (size_t i = 0; i < json_array_size(articles); i++) {
        w->article = i + 1;
        CLA_TRY(read_article(w, json_array_get(articles, i)));
    }
    return w->reading->question_count
               ? CLA_OK
               : cla_fail(CLA_E_INPUT, "%s: holds no question%s", w->path,
                          w->ids.count ? " that can be answered from its passage" : "");
}

/* Reads a data set from its JSON, which is consumed. */
static cla_status take_root(cla_reading *r, const char *path, json_t *root,
                            const cla_squad_options *options, cla_squad_counts *counts)
{
    walk w = { .path = path, .options = options, .counts = counts, .reading = r };
    const cla_status status = read_data(&w, root);
    json_decref(root);
    cla_vocab_free(&w.ids);
    if (status) {
        cla_reading_free(r);
    }
    return status;
}

cla_status cla_squad_parse(cla_reading *r, const char *path, const char *data,
                           size_t size, const cla_squad_options *options,
                           cla_squad_counts *counts)
{
    json_t *root = NULL;
    *r = (cla_reading){ 0 };
    *counts = (cla_squad_counts){ 0 };
    CLA_TRY(cla_json_text(&root, path, 1, data, size, 0));
    return take_root(r, path, root, options, counts);
}

cla_status cla_squad_read(cla_reading *r, const char *path,
                          const cla_squad_options *options, cla_squad_counts *counts)
{
    json_t *root = NULL;
    *r = (cla_reading){ 0 };
    *counts = (cla_squad_counts){ 0 };
    CLA_TRY(cla_json_file(&root, path, CLA_SOURCE_FILE, 0));
    return take_root(r, path, root, options, counts);
}
