/* look.c - the attention of a reader, level by level, with words as labels. */
#include <string.h>

#include "tasks/reading/reading.h"

/* Gives the words of a text in their original case; cla_look_names_free frees them. */
static cla_status cut(const cla_reading *r, const cla_reading_text *text, char ***words)
{
    const char *bytes = cla_reading_string(r, text->at);
    CLA_TRY(cla_alloc(words, text->count + 1, sizeof **words));
    for (size_t i = 0; i < text->count; i++) {
        cla_text form = { 0 };
        CLA_TRY(cla_words_form(bytes, &r->words.word[text->first + i], false, &form));
        (*words)[i] = form.data;
    }
    return CLA_OK;
}

/* Labels the rows of s with the words of the passage (LOOK_Q2C: one row, the question)
 * and the columns with those of the question (LOOK_Q2C, LOOK_SELF: of the passage). */
static cla_status name_site(look_site *s, char **passage, char **question)
{
    static const char *const whole[] = { "question" };
    const bool once = strcmp(s->name, LOOK_Q2C) == 0;
    const bool within = once || strcmp(s->name, LOOK_SELF) == 0;
    return cla_look_label(s, once ? whole : (const char *const *)passage,
                          (const char *const *)(within ? passage : question));
}

static cla_status name_sites(const cla_reading *r, look_log *seen)
{
    char **passage = NULL, **question = NULL;
    cla_status status = cut(r, &r->passages[0], &passage);
    status = status ? status : cut(r, &r->questions[0].text, &question);
    for (int i = 0; i < seen->sites && !status; i++) {
        status = name_site(seen->site[i], passage, question);
    }
    cla_look_names_free(&passage);
    cla_look_names_free(&question);
    return status;
}

static cla_status run(reading *t, const reading_split *s, look_log *seen)
{
    const int64_t only = 0;
    reader_scores logs = { NULL, NULL };
    reading_batch b;
    cla_tape *tape = NULL;
    CLA_TRY(cla_reading_batch_make(t, s, &only, 1, &b));
    cla_status status = cla_tape_new(&tape, t->task.rt, false);
    t->model.seen = seen;
    status = status ? status : cla_reader_logs(&t->model, tape, &logs, &b.ids);
    t->model.seen = NULL;
    cla_tape_free(&tape);
    cla_reading_batch_free(&b);
    return status ? status : name_sites(&s->text, seen);
}

cla_status cla_reading_look(reading *t, const char *passage, const char *question,
                            look_log *seen)
{
    reading_split s = { .forms = 0 };
    reading_asked a = { .passage = NULL };
    const cla_question asked = { question, &passage, 1 };
    *seen = (look_log){ .sites = 0 };
    if (!t->config.depth) {
        return cla_fail(CLA_E_USAGE,
                        "inspect: the model has no levels (its depth is 0)");
    }
    cla_status status = cla_reading_put(&a, t, &asked, 1, 0);
    status = status ? cla_fail_within(status, "inspect") : CLA_OK;
    if (!status && !a.text.question_count) {
        status = cla_fail(CLA_E_INPUT, "inspect: the %s has no word",
                          a.text.passage_count ? "question" : "passage");
    }
    status = status ? status : cla_reading_split_build(t, &s, &a.text);
    status = status ? status : run(t, &s, seen);
    cla_reading_asked_free(&a);
    cla_reading_split_free(&s);
    return status;
}
