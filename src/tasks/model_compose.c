/* model_compose.c - a poem generator inside an application. */
#include <string.h>

#include "base/utf8.h"
#include "tasks/model.h"
#include "tasks/poetry/poetry.h"

/* Returns the caller's options for poems with zeros replaced by defaults. */
static cla_compose_options filled_compose(const cla_compose_options *options)
{
    cla_compose_options o = { 0 };
    o = options ? *options : o;
    o.characters = o.characters ? o.characters : CLA_POEM_LONGEST;
    o.beam = o.beam ? o.beam : 1;
    return o;
}

static cla_status check_compose(const cla_compose_options *o)
{
    CLA_TRY(cla_reserved("compose", o->reserved));
    if (o->characters != 5 && o->characters != CLA_POEM_LONGEST) {
        return cla_fail(CLA_E_USAGE, "compose: characters is %d, must be 5 or 7",
                        o->characters);
    }
    return cla_model_option("compose", "beam", o->beam, 1, POET_MAX_BEAM);
}

static const char *put_text(char **at, const char *text)
{
    char *to = *at;
    const size_t size = strlen(text) + 1;
    memcpy(to, text, size);
    *at += size;
    return to;
}

/* Copies a poem into one allocation, its texts after the struct. */
static cla_status pack(cla_quatrain **out, const poetry_poem *p)
{
    size_t size = sizeof **out;
    for (int i = 0; i < CLA_QUATRAIN_LINES; i++) {
        size += strlen(p->line[i].data) + strlen(p->keyword[i]) + 2;
    }
    CLA_TRY(cla_alloc(out, 1, size));
    char *at = (char *)(*out + 1);
    for (int i = 0; i < CLA_QUATRAIN_LINES; i++) {
        (*out)->line[i] = put_text(&at, p->line[i].data);
        (*out)->keyword[i] = put_text(&at, p->keyword[i]);
    }
    (*out)->from_text = p->plan.from_text;
    (*out)->from_themes = p->plan.from_themes;
    (*out)->from_vectors = p->plan.from_vectors;
    (*out)->logp = p->logp;
    return CLA_OK;
}

cla_status cla_model_compose(cla_model *model, cla_quatrain **poem, const char *text,
                             const cla_compose_options *options)
{
    CLA_NEED(model, poem, text);
    CLA_HOLD(model->rt);
    *poem = NULL;
    const cla_compose_options o = filled_compose(options);
    const size_t size = strlen(text), good = cla_utf8_check(text, size);
    poetry_poem written = { 0 };
    CLA_TRY(cla_model_must_be(model, "compose", &cla_poetry_kind));
    if (good < size) {
        return cla_fail(CLA_E_INPUT, "compose: text is not UTF-8 (byte %zu)", good);
    }
    CLA_TRY(check_compose(&o));
    cla_status status =
        cla_poetry_compose((poetry *)model->task, text, size, &o, &written);
    status = status ? status : pack(poem, &written);
    cla_poetry_poem_free(&written);
    return status;
}

void cla_quatrain_free(cla_quatrain **poem)
{
    if (poem) {
        free(*poem);
        *poem = NULL;
    }
}
