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

cla_status cla_squad_compare_2(cla_squad *s, const char *answer, const char *gold,
                               double *exact, double *f1)
{
    CLA_TRY(cla_squad_compare(s, answer, gold, exact, f1));
    if (!*s->answer.data || !*s->gold.data) {
        *f1 = *exact;
    }
    return CLA_OK;
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
