/* squad.c - exact match and F1 of answers. */
#include <string.h>

#include "base/utf8.h"
#include "metrics/reading.h"
#include "metrics/rules.h"
#include "text/vocab.h"

struct cla_squad {
    cla_rules *rules;
    cla_tokenizer *words, *characters; // both convert to lower case
    cla_text answer, gold;
};

static const cla_rule normal_rules[] = {
    { "[!-\\/:-@\\[-`\\{-~]", "" },
    { "\\b(a|an|the)\\b", " " },
    { NULL, NULL },
};

static cla_status build(cla_squad *s)
{
    CLA_TRY(cla_rules_new(&s->rules, normal_rules));
    CLA_TRY(cla_tokenizer_new(&s->words, CLA_TOKENS_NONE, true));
    return cla_tokenizer_new(&s->characters, CLA_TOKENS_CHAR, true);
}

cla_status cla_squad_new(cla_squad **out)
{
    CLA_TRY(cla_alloc(out, 1, sizeof **out));
    const cla_status status = build(*out);
    if (status) {
        cla_squad_free(out);
    }
    return status;
}

void cla_squad_free(cla_squad **s)
{
    if (*s) {
        cla_rules_free(&(*s)->rules);
        cla_tokenizer_free(&(*s)->words);
        cla_tokenizer_free(&(*s)->characters);
        cla_text_free(&(*s)->answer);
        cla_text_free(&(*s)->gold);
    }
    free(*s);
    *s = NULL;
}

/* The first pass converts to lower case, which the rules need; its changes of blanks do
 * not affect them. The second pass tidies up the blanks that the rules leave. */
cla_status cla_squad_normalise(cla_squad *s, const char *answer, cla_text *out)
{
    cla_text text = { 0 };
    const size_t size = strlen(answer);
    if (cla_utf8_check(answer, size) < size) {
        return cla_fail(CLA_E_INPUT, "an answer is not UTF-8");
    }
    cla_status status = cla_tokenize(s->words, answer, size, &text);
    status = status ? status : cla_rules_apply(s->rules, &text);
    status = status ? status : cla_tokenize(s->words, text.data, text.size, out);
    cla_text_free(&text);
    return status;
}

/* Adds `by` to the count of each word of a text. *words is the number of words, *same
 * the number of those that were subtracted from a count above 0. */
static cla_status count_words(cla_vocab *counts, const char *text, int by,
                              int64_t *words, int64_t *same)
{
    cla_text word = { 0 };
    cla_status status = CLA_OK;
    for (*words = *same = 0; *text && !status; ++*words) {
        const size_t size = strcspn(text, " ");
        int id = 0;
        word.size = 0;
        status = cla_text_append(&word, text, size);
        status = status ? status : cla_vocab_add(counts, word.data, 0, &id);
        if (!status) {
            *same += by < 0 && counts->counts[id] > 0;
            counts->counts[id] += by;
        }
        text += size + (text[size] == ' ');
    }
    cla_text_free(&word);
    return status;
}

static cla_status overlap(const char *answer, const char *gold, double *f1)
{
    cla_vocab counts = { 0 };
    int64_t answered = 0, wanted = 0, same = 0;
    cla_status status = count_words(&counts, answer, 1, &answered, &same);
    status = status ? status : count_words(&counts, gold, -1, &wanted, &same);
    cla_vocab_free(&counts);
    *f1 = same ? 2.0 * (double)same / (double)(answered + wanted) : 0.0;
    return status;
}

cla_status cla_squad_compare(cla_squad *s, const char *answer, const char *gold,
                             double *exact, double *f1)
{
    CLA_TRY(cla_squad_normalise(s, answer, &s->answer));
    CLA_TRY(cla_squad_normalise(s, gold, &s->gold));
    *exact = strcmp(s->answer.data, s->gold.data) == 0;
    return overlap(s->answer.data, s->gold.data, f1);
}

/* Normalises an answer and puts a blank between its characters. */
static cla_status part(cla_squad *s, const char *answer, cla_text *out)
{
    cla_text normal = { 0 };
    cla_status status = cla_squad_normalise(s, answer, &normal);
    status =
        status ? status : cla_tokenize(s->characters, normal.data, normal.size, out);
    cla_text_free(&normal);
    return status;
}

cla_status cla_squad_characters(cla_squad *s, const char *answer, const char *gold,
                                double *f1)
{
    CLA_TRY(part(s, answer, &s->answer));
    CLA_TRY(part(s, gold, &s->gold));
    return overlap(s->answer.data, s->gold.data, f1);
}

/* ---- a data set -------------------------------------------------------------- */

/* The data set, the answers, and the scores so far. */
typedef struct reader {
    cla_squad *squad;
    const char *path, *answers_path;
    const json_t *answers;
    cla_squad_scores *scores;
} reader;

static cla_status missing(const reader *r, const char *what)
{
    return cla_fail(CLA_E_INPUT, "%s: %s", r->path, what);
}

static cla_status best_of(const reader *r, const char *answer, const json_t *golds)
{
    double exact = 0, f1 = 0;
    for (size_t i = 0; i < json_array_size(golds); i++) {
        const json_t *gold = json_array_get(golds, i);
        const char *text = json_string_value(json_object_get(gold, "text"));
        double one_exact = 0, one_f1 = 0;
        if (!text) {
            return missing(r, "an answer has no 'text'");
        }
        CLA_TRY(cla_squad_compare(r->squad, answer, text, &one_exact, &one_f1));
        exact = one_exact > exact ? one_exact : exact;
        f1 = one_f1 > f1 ? one_f1 : f1;
    }
    r->scores->exact += exact;
    r->scores->f1 += f1;
    return CLA_OK;
}

static cla_status score_question(const reader *r, const json_t *question)
{
    const char *id = json_string_value(json_object_get(question, "id"));
    const json_t *golds = json_object_get(question, "answers");
    if (!id || !json_is_array(golds)) {
        return missing(r, "a question lacks 'id' or 'answers'");
    }
    const json_t *answer = json_object_get(r->answers, id);
    r->scores->questions++;
    if (!answer) {
        r->scores->unanswered++;
        return CLA_OK;
    }
    if (!json_is_string(answer)) {
        return cla_fail(CLA_E_INPUT, "%s: the answer to '%.40s' is no string",
                        r->answers_path, id);
    }
    return best_of(r, json_string_value(answer), golds);
}

static cla_status score_article(const reader *r, const json_t *article)
{
    const json_t *paragraphs = json_object_get(article, "paragraphs");
    if (!json_is_array(paragraphs)) {
        return missing(r, "an article has no list 'paragraphs'");
    }
    for (size_t i = 0; i < json_array_size(paragraphs); i++) {
        const json_t *questions = json_object_get(json_array_get(paragraphs, i), "qas");
        if (!json_is_array(questions)) {
            return missing(r, "a paragraph has no list 'qas'");
        }
        for (size_t k = 0; k < json_array_size(questions); k++) {
            CLA_TRY(score_question(r, json_array_get(questions, k)));
        }
    }
    return CLA_OK;
}

cla_status cla_squad_score(cla_squad *s, const json_t *data, const char *data_path,
                           const json_t *answers, const char *answers_path,
                           cla_squad_scores *scores)
{
    const json_t *articles = json_object_get(data, "data");
    const reader r = { s, data_path, answers_path, answers, scores };
    *scores = (cla_squad_scores){ 0 };
    if (!json_is_array(articles)) {
        return missing(&r, "holds no list 'data'");
    }
    if (!json_is_object(answers)) {
        return cla_fail(CLA_E_INPUT, "%s: must be an object of ids and answers",
                        answers_path);
    }
    for (size_t i = 0; i < json_array_size(articles); i++) {
        CLA_TRY(score_article(&r, json_array_get(articles, i)));
    }
    if (!scores->questions) {
        return missing(&r, "holds no question");
    }
    scores->exact *= 100.0 / (double)scores->questions;
    scores->f1 *= 100.0 / (double)scores->questions;
    return CLA_OK;
}
