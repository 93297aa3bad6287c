/* import_card.c - the card of a source, and the README of the folder made of it. */
#include "exchange/import_card.h"

#include <string.h>

#include "base/file.h"
#include "base/json.h"

static const char name[] = "README.md";

/* ---- reading ------------------------------------------------------------------- */

/* Returns the next line of a text, or NULL. */
static const char *next_line(const char *at)
{
    const char *end = strchr(at, '\n');
    return end ? end + 1 : NULL;
}

/* Returns the text behind a line of three hyphens at the start of a text, or NULL. */
static const char *behind_rule(const char *text)
{
    const size_t rule = strncmp(text, "---", 3) == 0 ? 3 : 0;
    const char *at = text + rule + strspn(text + rule, "\r");
    return rule && *at == '\n' ? at + 1 : NULL;
}

/* Finds the front matter, of *size bytes; returns the text behind it. */
static const char *find_front(const char *text, const char **front, size_t *size)
{
    *front = behind_rule(text);
    for (const char *at = *front; at; at = next_line(at)) {
        const char *rest = behind_rule(at);
        if (rest) {
            *size = (size_t)(at - *front);
            return rest;
        }
    }
    *front = NULL;
    return text;
}

/* Copies the first heading of a text, if there is one. */
static cla_status find_title(const char *text, char **title)
{
    enum { LONGEST = 200 };
    for (const char *at = text; at; at = next_line(at)) {
        const size_t size = strcspn(at, "\r\n");
        if (strncmp(at, "# ", 2) == 0 && size > 2 && size < LONGEST) {
            cla_text copy = { 0 };
            CLA_TRY(cla_text_append(&copy, at + 2, size - 2));
            *title = copy.data;
            return CLA_OK;
        }
    }
    return CLA_OK;
}

static cla_status read_text(import_card *card, const char *path, const char *text)
{
    const char *front = NULL;
    size_t size = 0;
    const char *rest = find_front(text, &front, &size);
    CLA_TRY(front ? cla_card_front(&card->front, path, front, size) : CLA_OK);
    return find_title(rest, &card->title);
}

cla_status cla_card_read(import_card *card, const import_package *package)
{
    cla_text path = { 0 };
    char *bytes = NULL;
    size_t size = 0;
    *card = (import_card){ 0 };
    if (!cla_package_holds(package, name)) {
        return CLA_OK;
    }
    cla_status status = cla_package_read(package, name, &path, &bytes, &size);
    status = status ? status : read_text(card, path.data, bytes);
    free(bytes);
    cla_text_free(&path);
    return status;
}

void cla_card_free(import_card *card)
{
    json_decref(card->front);
    free(card->title);
    *card = (import_card){ 0 };
}

/* ---- writing ------------------------------------------------------------------- */

/* The keys of a card that the new one keeps. */
static const char *const kept[] = { "license",  "license_name", "license_link",
                                    "language", "base_model",   NULL };

/* Writes a string as YAML; JSON's is one. */
static cla_status add_string(cla_text *out, const char *before, const json_t *value)
{
    char *text = cla_json_write(value, JSON_ENCODE_ANY, CLA_JSON_EXACT);
    const cla_status status = text ? cla_text_add(out, "%s%s\n", before, text)
                                   : cla_fail(CLA_E_NOMEM, "import: out of memory");
    free(text);
    return status;
}

static cla_status add_front(cla_text *out, const import_card *card)
{
    CLA_TRY(cla_text_add(out, "---\n"));
    for (int i = 0; kept[i]; i++) {
        const json_t *value = json_object_get(card->front, kept[i]);
        if (!value) continue;
        CLA_TRY(cla_text_add(out, "%s:", kept[i]));
        if (json_is_string(value)) {
            CLA_TRY(add_string(out, " ", value));
            continue;
        }
        CLA_TRY(cla_text_add(out, "\n"));
        for (size_t k = 0; k < json_array_size(value); k++) {
            CLA_TRY(add_string(out, "- ", json_array_get(value, k)));
        }
    }
    return cla_text_add(out, "library_name: clattn\n---\n\n");
}

static const char *family_name(const marian *m)
{
    static const char *const names[] = { [FAMILY_MARIAN] = "Marian",
                                         [FAMILY_M2M100] = "M2M-100",
                                         [FAMILY_NLLB] = "NLLB",
                                         [FAMILY_MBART] = "mBART-50",
                                         [FAMILY_T5] = "T5" };
    return names[m->family];
}

static size_t count_languages(const marian *m)
{
    const cla_vocab *v = &m->source.vocab;
    size_t count = 0, size = 0;
    for (size_t i = 0; i < v->count; i++) {
        count += cla_translation_language_in(m->family, v->tokens[i], &size) != NULL;
    }
    return count;
}

static cla_status add_licence(cla_text *out, const import_card *card)
{
    const char *licence = json_string_value(json_object_get(card->front, "license"));
    const char *other = json_string_value(json_object_get(card->front, "license_name"));
    licence = licence && other && strcmp(licence, "other") == 0 ? other : licence;
    return licence ? cla_text_add(out, "| licence | %s, as the source's card says |\n",
                                  licence)
                   : cla_text_add(out, "| licence | not in the source's card: ask "
                                       "those who made the model |\n");
}

static cla_status add_settings(cla_text *out, const marian *m)
{
    const size_t languages = count_languages(m);
    CLA_TRY(cla_text_add(out,
                         "| network | %s: %d and %d layers, %d wide, %d heads, "
                         "feed-forward %d |\n",
                         family_name(m), m->layers, m->decoder_layers, m->model,
                         m->heads, m->inner));
    CLA_TRY(cla_text_add(out, "| pieces | %zu", m->source.vocab.count));
    CLA_TRY(m->separate ? cla_text_add(out, ", %zu", m->target.vocab.count) : CLA_OK);
    CLA_TRY(cla_text_add(out, " |\n"));
    CLA_TRY(languages ? cla_text_add(out, "| languages | %zu: `clattn languages` |\n",
                                     languages)
                      : CLA_OK);
    CLA_TRY(cla_text_add(out, "| search | beam %d, length penalty %g", m->search.beam,
                         m->search.alpha));
    CLA_TRY(m->search.most ? cla_text_add(out, ", at most %d pieces", m->search.most)
                           : CLA_OK);
    return cla_text_add(out, " |\n\n`config.json` holds all settings.\n");
}

static cla_status make(cla_text *out, const import_card *card, const marian *m)
{
    CLA_TRY(add_front(out, card));
    CLA_TRY(cla_text_add(out, "# %s\n\n", card->title ? card->title : family_name(m)));
    CLA_TRY(cla_text_add(out, "A translation model.\n\n| | |\n|---|---|\n"));
    CLA_TRY(add_licence(out, card));
    return add_settings(out, m);
}

cla_status cla_card_write(const import_card *card, const marian *m, cla_publish *p)
{
    cla_text text = { 0 };
    char *path = NULL;
    cla_status status = make(&text, card, m);
    status = status ? status : cla_publish_file(p, name, &path);
    status = status ? status : cla_file_write(path, text.data, text.size);
    free(path);
    cla_text_free(&text);
    return status;
}
