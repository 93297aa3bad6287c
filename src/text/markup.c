/* markup.c - parts of documents, and documents with other texts in their places. */
#include "text/markup.h"

#include <string.h>

#include "base/utf8.h"

#define BLANKS " \t\r\n\f"

static bool is_blank(char c)
{
    return c && strchr(BLANKS, c);
}

/* ---- parts ----------------------------------------------------------------------- */

static bool has_letter(const char *text, size_t size)
{
    for (size_t at = 0; at < size;) {
        int32_t code = 0;
        at += (size_t)cla_utf8_step(text + at, size - at, &code);
        if (cla_utf8_is_letter(code) && !(code >= '0' && code <= '9')) {
            return true;
        }
    }
    return false;
}

/* Moves *from and *to towards each other past blanks. */
static void trim(const char *text, size_t *from, size_t *to)
{
    while (*from < *to && is_blank(text[*from])) {
        ++*from;
    }
    while (*from < *to && is_blank(text[*to - 1])) {
        --*to;
    }
}

/* Copies text with each run of blanks as one blank. */
static cla_status copy_text(char **out, const char *text, size_t size)
{
    CLA_TRY(cla_alloc(out, size + 1, 1));
    char *to = *out;
    for (size_t i = 0; i < size; i++) {
        const bool blank = is_blank(text[i]);
        if (!blank || !is_blank(text[i - 1])) { // the first one is no blank
            *to++ = text[i];
            to[-1] = blank ? ' ' : to[-1];
        }
    }
    return CLA_OK;
}

cla_status cla_document_add(cla_document *d, size_t at, size_t size, const char *text,
                            size_t text_size)
{
    size_t from = at, to = at + size, first = 0, last = text_size;
    trim(d->source, &from, &to);
    trim(text, &first, &last);
    if (from == to || !has_letter(text + first, last - first)) {
        return CLA_OK;
    }
    CLA_TRY(cla_grow(&d->part, &d->cap, d->count + 1, sizeof *d->part));
    cla_markup_text *part = &d->part[d->count];
    *part = (cla_markup_text){ .at = from, .size = to - from };
    CLA_TRY(copy_text(&part->text, text + first, last - first));
    d->count++;
    return CLA_OK;
}

static int by_place(const void *a_, const void *b_)
{
    const cla_markup_text *a = a_, *b = b_;
    return a->at < b->at ? -1 : a->at > b->at;
}

/* Puts the parts into the order of the source: a parser moves text that stands where
 * none may be. Drops parts that reach into the one before. */
static void order(cla_document *d)
{
    size_t kept = 0, end = 0;
    if (d->count) {
        qsort(d->part, d->count, sizeof *d->part, by_place);
    }
    for (size_t i = 0; i < d->count; i++) {
        if (d->part[i].at >= end) {
            end = d->part[i].at + d->part[i].size;
            d->part[kept++] = d->part[i];
        } else {
            free(d->part[i].text);
        }
    }
    d->count = kept;
}

cla_status cla_document_read(cla_document *d, cla_markup markup, const char *source,
                             size_t size)
{
    *d = (cla_document){ .markup = markup, .size = size };
    cla_status status = cla_alloc(&d->source, size + 1, 1);
    if (!status) {
        memcpy(d->source, source, size);
        status = markup == CLA_MARKUP_HTML ? cla_html_parts(d) : cla_markdown_parts(d);
    }
    if (status) {
        cla_document_free(d);
        return status;
    }
    order(d);
    return CLA_OK;
}

void cla_document_free(cla_document *d)
{
    for (size_t i = 0; i < d->count; i++) {
        free(d->part[i].text);
    }
    free(d->part);
    free(d->source);
    *d = (cla_document){ 0 };
}

/* ---- writing --------------------------------------------------------------------- */

static cla_status write_html(const char *text, cla_text *out)
{
    while (*text) {
        const size_t plain = strcspn(text, "&<>");
        CLA_TRY(cla_text_append(out, text, plain));
        text += plain;
        const char *escape = *text == '&'   ? "&amp;"
                             : *text == '<' ? "&lt;"
                             : *text == '>' ? "&gt;"
                                            : "";
        CLA_TRY(cla_text_append(out, escape, strlen(escape)));
        text += *text != 0;
    }
    return CLA_OK;
}

/* Returns whether a text begins as a list, a heading, a quotation or a line does. */
static bool begins_block(const char *text)
{
    const size_t digits = strspn(text, "0123456789");
    return (*text && strchr("#+->=~", *text)) ||
           (digits && digits < 10 && text[digits] && strchr(".)", text[digits]));
}

/* A part never begins with a number and a full stop that are not text: those of a list
 * are markup. */
static cla_status write_markdown(const char *text, cla_text *out)
{
    if (begins_block(text)) {
        const size_t digits = strspn(text, "0123456789");
        CLA_TRY(cla_text_append(out, text, digits));
        CLA_TRY(cla_text_append(out, "\\", 1));
        CLA_TRY(cla_text_append(out, text + digits, 1));
        text += digits + 1;
    }
    while (*text) {
        const size_t plain = strcspn(text, "\\`*_[]<&|~");
        CLA_TRY(cla_text_append(out, text, plain));
        text += plain;
        if (*text) {
            const char escaped[2] = { '\\', *text++ };
            CLA_TRY(cla_text_append(out, escaped, 2));
        }
    }
    return CLA_OK;
}

cla_status cla_document_write(const cla_document *d, const char *const *texts,
                              cla_text *out)
{
    size_t at = 0;
    for (size_t i = 0; i < d->count; i++) {
        CLA_TRY(cla_text_append(out, d->source + at, d->part[i].at - at));
        CLA_TRY(d->markup == CLA_MARKUP_HTML ? write_html(texts[i], out)
                                             : write_markdown(texts[i], out));
        at = d->part[i].at + d->part[i].size;
    }
    return cla_text_append(out, d->source + at, d->size - at);
}
