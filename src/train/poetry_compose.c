/* poetry_compose.c - a quatrain from any text. */
#include <string.h>

#include "train/poetry.h"

enum { NEIGHBOURS = 20 }; // of words near to the text's that are looked at

void poetry_poem_free(poetry_poem *poem)
{
    for (int i = 0; i < CLA_POEM_LINES; i++) {
        cla_text_free(&poem->line[i]);
    }
    *poem = (poetry_poem){ 0 };
}

static cla_status plan(poetry *t, const char *text, size_t size, uint32_t seed,
                       poetry_poem *poem)
{
    const cla_planner planner = {
        .ranking = &t->ranking,
        .lexicon = &t->words,
        .vectors = t->word_vectors.words.count ? &t->word_vectors : NULL,
        .neighbours = NEIGHBOURS,
    };
    return cla_plan_make(&planner, text, size, seed, &poem->plan);
}

/* Characters that are no words of the poems have no numbers: one has CLA_UNK. */
static cla_status keyword_ids(const poetry *t, const char *keyword, int32_t **ids,
                              int32_t *count)
{
    const size_t most = strlen(keyword) + 1;
    CLA_TRY(cla_alloc(ids, most, sizeof **ids));
    *count = (int32_t)cla_poems_ids(keyword, &t->characters, *ids, most);
    return CLA_OK;
}

/* Line i behind those before it in written. */
static cla_status write_line(poetry *t, int i, const poetry_options *o,
                             poetry_poem *poem, int32_t *written)
{
    int32_t keyword_at[2] = { 0 };
    const int32_t context_at[2] = { 0, i * o->characters };
    int32_t *keyword = NULL;
    double logp = 0;
    CLA_TRY(keyword_ids(t, poem->keyword[i], &keyword, &keyword_at[1]));
    const poet_batch batch = {
        .lines = 1,
        .length = o->characters,
        .keyword = keyword,
        .keyword_at = keyword_at,
        .context = written,
        .context_at = context_at,
    };
    int32_t *line = written + context_at[1];
    cla_status status =
        poet_write(&t->model, t->task.rt, &batch, o->beam, CLA_SPECIALS, line, &logp);
    free(keyword);
    for (int k = 0; k < o->characters && !status; k++) {
        status = cla_text_add(&poem->line[i], "%s", t->characters.tokens[line[k]]);
    }
    poem->logp += logp;
    return status;
}

static cla_status write_poem(poetry *t, const poetry_options *o, poetry_poem *poem)
{
    int32_t written[CLA_POEM_LINES * CLA_POEM_LONGEST];
    cla_status status = CLA_OK;
    for (int i = 0; i < CLA_POEM_LINES && !status; i++) {
        poem->keyword[i] = t->ranking.words.tokens[poem->plan.word[i]];
        status = write_line(t, i, o, poem, written);
    }
    if (status) {
        poetry_poem_free(poem);
    }
    return status;
}

cla_status poetry_write(poetry *t, const cla_plan *words, const poetry_options *options,
                        poetry_poem *poem)
{
    *poem = (poetry_poem){ .plan = *words };
    return write_poem(t, options, poem);
}

cla_status poetry_compose(poetry *t, const char *text, size_t size,
                          const poetry_options *options, poetry_poem *poem)
{
    *poem = (poetry_poem){ 0 };
    CLA_TRY(plan(t, text, size, options->seed, poem));
    return write_poem(t, options, poem);
}
