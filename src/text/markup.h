/* markup.h - the texts of a document, which lie between its markup.
 *
 * A document is cut into parts: the longest stretches of text without markup. Writing
 * puts other texts into their places; every byte outside of the parts stays. */
#pragma once

#include "base/text.h"

typedef enum cla_markup { CLA_MARKUP_HTML, CLA_MARKUP_MARKDOWN } cla_markup;

/* A stretch of the source, and its text: escapes decoded, a line end or several blanks
 * as one blank, none at its ends. */
typedef struct cla_markup_text {
    size_t at, size;
    char *text;
} cla_markup_text;

typedef struct cla_document {
    cla_markup markup;
    char *source;
    size_t size;
    cla_markup_text *part; // [count] in the order of the source, apart from each other
    size_t count, cap;
} cla_document;

/* Cuts a document (UTF-8 without NUL bytes) into parts. Left alone are code, text that
 * was formatted before (pre), scripts, styles, formulas, attributes, addresses that are
 * their own text, text without a letter, and what HTML says is not to be translated
 * (translate="no", class="notranslate").
 *
 * Errors: CLA_E_USAGE (built without the library of this markup), CLA_E_INPUT (more
 * than CLA_MOST_TAGS tags, or needs too much memory), CLA_E_NOMEM. */
cla_status cla_document_read(cla_document *d, cla_markup markup, const char *source,
                             size_t size);
void cla_document_free(cla_document *d);

/* Appends the document with texts [count] in the places of its parts, escaped so that
 * no character of them is markup. Errors: CLA_E_NOMEM. */
cla_status cla_document_write(const cla_document *d, const char *const *texts,
                              cla_text *out);

/* Tags of a document: the work on nested ones grows with the square of their number. */
enum { CLA_MOST_TAGS = 30000 };

/* Returns whether the library was built with those of markup (meson option markup). */
bool cla_markup_there(void);

/* ---- for html.c and markdown.c ---- */

cla_status cla_html_parts(cla_document *d);
cla_status cla_markdown_parts(cla_document *d);

/* Adds the part at `at` with this decoded text, unless it holds no letter. Blanks at
 * the ends of its stretch and of its text are left out. Errors: CLA_E_NOMEM. */
cla_status cla_document_add(cla_document *d, size_t at, size_t size, const char *text,
                            size_t text_size);
