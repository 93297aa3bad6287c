/* squad_data.c - scores answers to a data set by the rules of SQuAD 1.1 or 2.0. */
#include <string.h>

#include "metrics/reading.h"
#include "text/reading.h"

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

/* ---- walking ----------------------------------------------------------------- */

typedef cla_status take_question(const reader *r, const json_t *question);

static cla_status each_of_article(const reader *r, const json_t *article,
                                  take_question *take)
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
            CLA_TRY(take(r, json_array_get(questions, k)));
        }
    }
    return CLA_OK;
}

static cla_status each_question(const reader *r, const json_t *data,
                                take_question *take)
{
    const json_t *articles = json_object_get(data, "data");
    if (!json_is_array(articles)) {
        return missing(r, "holds no list 'data'");
    }
    for (size_t i = 0; i < json_array_size(articles); i++) {
        CLA_TRY(each_of_article(r, json_array_get(articles, i), take));
    }
    return CLA_OK;
}

/* ---- the version ------------------------------------------------------------- */

/* A question of 2.0 says whether it is impossible, or has no right answer. */
static cla_status note_version(const reader *r, const json_t *question)
{
    const json_t *golds = json_object_get(question, "answers");
    r->scores->version_2 = r->scores->version_2 ||
                           json_object_get(question, "is_impossible") ||
                           (json_is_array(golds) && !json_array_size(golds));
    return CLA_OK;
}

static bool names_version_2(const json_t *data)
{
    const char *version = json_string_value(json_object_get(data, "version"));
    return version && version[*version == 'v'] == '2';
}

/* ---- scores ------------------------------------------------------------------ */

static void add(cla_squad_share *to, double exact, double f1)
{
    to->questions++;
    to->exact += exact;
    to->f1 += f1;
}

/* Compares with one right answer and keeps the best scores. */
static cla_status compare(const reader *r, const char *answer, const char *gold,
                          double *exact, double *f1)
{
    double one_exact = 0, one_f1 = 0;
    CLA_TRY(r->scores->version_2
                ? cla_squad_compare_2(r->squad, answer, gold, &one_exact, &one_f1)
                : cla_squad_compare(r->squad, answer, gold, &one_exact, &one_f1));
    *exact = one_exact > *exact ? one_exact : *exact;
    *f1 = one_f1 > *f1 ? one_f1 : *f1;
    return CLA_OK;
}

/* Tells whether a right answer counts: 2.0 leaves out those that are articles and
 * punctuation alone. */
static cla_status counts(const reader *r, const char *gold, bool *does)
{
    cla_text normal = { 0 };
    *does = true;
    if (!r->scores->version_2) {
        return CLA_OK;
    }
    const cla_status status = cla_squad_normalise(r->squad, gold, &normal);
    *does = normal.size > 0;
    cla_text_free(&normal);
    return status;
}

static cla_status best_of(const reader *r, const char *answer, const json_t *golds,
                          double *exact, double *f1)
{
    bool any = false;
    for (size_t i = 0; i < json_array_size(golds); i++) {
        const json_t *gold = json_array_get(golds, i);
        const char *text = json_string_value(json_object_get(gold, "text"));
        bool does = false;
        if (!text) {
            return missing(r, "an answer has no 'text'");
        }
        CLA_TRY(counts(r, text, &does));
        any = any || does;
        CLA_TRY(does ? compare(r, answer, text, exact, f1) : CLA_OK);
    }
    return any ? CLA_OK : compare(r, answer, "", exact, f1);
}

static cla_status score_question(const reader *r, const json_t *question)
{
    char digits[CLA_READING_DIGITS];
    const char *id = cla_reading_id(json_object_get(question, "id"), digits);
    const json_t *golds = json_object_get(question, "answers");
    double exact = 0, f1 = 0;
    if (!id || !json_is_array(golds)) {
        return missing(r, "a question lacks 'id' or 'answers'");
    }
    const json_t *answer = json_object_get(r->answers, id);
    if (answer && !json_is_string(answer)) {
        return cla_fail(CLA_E_INPUT, "%s: the answer to '%.40s' is no string",
                        r->answers_path, id);
    }
    r->scores->unanswered += !answer;
    CLA_TRY(answer ? best_of(r, json_string_value(answer), golds, &exact, &f1)
                   : CLA_OK);
    add(&r->scores->all, exact, f1);
    add(json_array_size(golds) ? &r->scores->has_answer : &r->scores->no_answer, exact,
        f1);
    return CLA_OK;
}

static void finish(cla_squad_share *share)
{
    const double percent = share->questions ? 100.0 / (double)share->questions : 0;
    share->exact *= percent;
    share->f1 *= percent;
}

cla_status cla_squad_score(cla_squad *s, const json_t *data, const char *data_path,
                           const json_t *answers, const char *answers_path,
                           cla_squad_scores *scores)
{
    const reader r = { s, data_path, answers_path, answers, scores };
    *scores = (cla_squad_scores){ .version_2 = names_version_2(data) };
    CLA_TRY(each_question(&r, data, note_version));
    if (!json_is_object(answers)) {
        return cla_fail(CLA_E_INPUT, "%s: must be an object of ids and answers",
                        answers_path);
    }
    CLA_TRY(each_question(&r, data, score_question));
    if (!scores->all.questions) {
        return missing(&r, "holds no question");
    }
    finish(&scores->all);
    finish(&scores->has_answer);
    finish(&scores->no_answer);
    return CLA_OK;
}
