/* predict.c - composes a quatrain from any text. */
#include <stdio.h>
#include <string.h>

#include "tasks/poetry/poetry.h"

enum { NEIGHBOURS = 20 }; // candidates near the text's words

void cla_poetry_poem_free(poetry_poem *poem)
{
    for (int i = 0; i < CLA_POEM_LINES; i++) {
        cla_text_free(&poem->line[i]);
    }
    *poem = (poetry_poem){ 0 };
}

cla_status cla_poetry_plan(const poetry *t, const char *text, size_t size,
                           uint32_t seed, cla_plan *words)
{
    const cla_planner planner = {
        .ranking = &t->ranking,
        .lexicon = &t->words,
        .vectors = t->word_vectors.words.count ? &t->word_vectors : NULL,
        .neighbours = NEIGHBOURS,
        .themes = t->themes.count ? &t->themes : NULL,
    };
    return cla_plan_make(&planner, text, size, seed, words);
}

/* Gives the ids of a keyword's characters, CLA_UNK for unknown ones. Free *ids in any
 * case. */
static cla_status keyword_ids(const poetry *t, const char *keyword, int32_t **ids,
                              int32_t *count)
{
    const size_t most = strlen(keyword) + 1;
    CLA_TRY(cla_alloc(ids, most, sizeof **ids));
    *count = (int32_t)cla_poems_ids(keyword, &t->characters, *ids, most);
    return CLA_OK;
}

/* A batch of one line. */
typedef struct line_batch {
    poet_batch view;
    int32_t *keyword, keyword_at[2], context_at[2];
} line_batch;

/* Makes the batch of line i, after the previous lines in ids. Free b->keyword in any
 * case. */
static cla_status begin_line(const poetry *t, const poetry_poem *poem, int i,
                             int length, const int32_t *ids, line_batch *b)
{
    *b = (line_batch){ .context_at = { 0, i * length } };
    CLA_TRY(keyword_ids(t, poem->keyword[i], &b->keyword, &b->keyword_at[1]));
    b->view = (poet_batch){
        .lines = 1,
        .length = length,
        .keyword = b->keyword,
        .keyword_at = b->keyword_at,
        .context = ids,
        .context_at = b->context_at,
        .line = ids + b->context_at[1],
    };
    return CLA_OK;
}

static cla_status write_line(poetry *t, int i, const cla_compose_options *o,
                             poetry_poem *poem, int32_t *written)
{
    line_batch b;
    double logp = 0;
    int32_t *line = written + (ptrdiff_t)i * o->characters;
    cla_status status = begin_line(t, poem, i, o->characters, written, &b);
    status = status ? status
                    : cla_poet_write(&t->model, t->task.rt, &b.view, o->beam,
                                     CLA_SPECIALS, line, &logp);
    free(b.keyword);
    for (int k = 0; k < o->characters && !status; k++) {
        status = cla_text_add(&poem->line[i], "%s", t->characters.tokens[line[k]]);
    }
    poem->logp += logp;
    return status;
}

static cla_status write_poem(poetry *t, const cla_compose_options *o, poetry_poem *poem)
{
    int32_t written[CLA_POEM_LINES * CLA_POEM_LONGEST];
    cla_status status = CLA_OK;
    for (int i = 0; i < CLA_POEM_LINES && !status; i++) {
        poem->keyword[i] = t->ranking.words.tokens[poem->plan.word[i]];
        status = write_line(t, i, o, poem, written);
        status =
            status ? status : cla_task_tell(&t->task, (size_t)i + 1, CLA_POEM_LINES);
    }
    if (status) {
        cla_poetry_poem_free(poem);
    }
    return status;
}

cla_status cla_poetry_write(poetry *t, const cla_plan *words,
                            const cla_compose_options *options, poetry_poem *poem)
{
    *poem = (poetry_poem){ .plan = *words };
    return write_poem(t, options, poem);
}

cla_status cla_poetry_compose(poetry *t, const char *text, size_t size,
                              const cla_compose_options *options, poetry_poem *poem)
{
    *poem = (poetry_poem){ 0 };
    CLA_TRY(cla_poetry_plan(t, text, size, options->seed, &poem->plan));
    return write_poem(t, options, poem);
}

/* ---- attention of lines ---------------------------------------------------------- */

/* Labels the rows with the characters of line i, the columns with its keyword and all
 * characters of the previous lines. */
static cla_status name_line(const poetry *t, const poetry_poem *poem, int i,
                            const poet_batch *b, look_site *site)
{
    const char *row[CLA_POEM_LONGEST];
    const char *column[1 + CLA_POEM_LINES * CLA_POEM_LONGEST] = { poem->keyword[i] };
    for (int k = 0; k < b->length; k++) {
        row[k] = t->characters.tokens[b->line[k]];
    }
    for (int k = 0; k < b->context_at[1]; k++) {
        column[k + 1] = t->characters.tokens[b->context[k]];
    }
    snprintf(site->name, LOOK_NAME, "line%d", i + 1);
    return cla_look_label(site, row, column);
}

/* Records the attention of a written line: computing its loss repeats the steps of the
 * network that wrote it. */
static cla_status read_line(poetry *t, cla_tape *tape, const poet_batch *b,
                            look_log *seen)
{
    cla_tensor *loss = NULL;
    t->model.seen = seen;
    const cla_status status = cla_poet_loss(&t->model, tape, &loss, b);
    t->model.seen = NULL;
    return status;
}

cla_status cla_poetry_look(poetry *t, const poetry_poem *poem, look_log *seen)
{
    int32_t ids[CLA_POEM_LINES * CLA_POEM_LONGEST];
    cla_tape *tape = NULL;
    int length = 0;
    *seen = (look_log){ .sites = 0 };
    CLA_TRY(cla_tape_new(&tape, t->task.rt, false));
    cla_status status = CLA_OK;
    for (int i = 0; i < CLA_POEM_LINES && !status; i++) {
        line_batch b;
        length = (int)cla_poems_ids(poem->line[i].data, &t->characters,
                                    ids + (ptrdiff_t)i * length, CLA_POEM_LONGEST);
        status = begin_line(t, poem, i, length, ids, &b);
        status = status ? status : read_line(t, tape, &b.view, seen);
        status = status ? status : name_line(t, poem, i, &b.view, seen->site[i]);
        free(b.keyword);
        cla_tape_reset(tape);
    }
    cla_tape_free(&tape);
    return status;
}
