/* import_card.h - reads the model card of a source, and writes the README of the
 * imported folder. */
#pragma once

#include "exchange/import_marian.h"
#include "train/publish.h"

/* The model card of the source, its README.md; empty without such a file. */
typedef struct import_card {
    json_t *front; // its front matter: strings and lists of strings; NULL: none
    char *title;   // its first heading; NULL: none
} import_card;

/* Reads README.md of the source. Front matter that is no flat YAML counts as none, and
 * so does all of it where clattn was built without libyaml. Errors: CLA_E_INPUT (a link
 * out of the folder; damage of an archive), CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_card_read(import_card *card, const import_package *package);
void cla_card_free(import_card *card);

/* Writes README.md: the model's name, its licence as the source says it, and its
 * settings. The same model, imported from what export wrote, gets the same bits.
 * Errors: CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_card_write(const import_card *card, const marian *m, cla_publish *p);

/* import_front.c, or import_front_none.c without libyaml: parses front matter; *front
 * is NULL where it is none. Errors: CLA_E_NOMEM. */
cla_status cla_card_front(json_t **front, const char *path, const char *text,
                          size_t size);
