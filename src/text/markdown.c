/* markdown.c - the texts of Markdown, by MD4C: CommonMark with GitHub's tables and task
 * lists. The only file that includes it. */
#include <limits.h>
#include <md4c.h>
#include <string.h>

#include "text/markup.h"

/* A stretch of text between two marks, from one call of the parser to the next. */
typedef struct reader {
    cla_document *d;
    bool open;        // there is a stretch
    size_t from, to;  // its place
    size_t behind;    // the end of the last one
    cla_text text;    // decoded
    int pictures;     // around the text, which is their description
    cla_text address; // of the link around the text
    cla_status status;
} reader;

/* Ends the stretch. The text of a link that is its own address stays. */
static int end(reader *r)
{
    if (r->open) {
        const bool own = r->address.size && r->text.size &&
                         cla_ends_in(r->address.data, r->text.data);
        r->status = own || r->pictures
                        ? CLA_OK
                        : cla_document_add(r->d, r->from, r->to - r->from, r->text.data,
                                           r->text.size);
        r->behind = r->to;
    }
    r->open = false;
    r->text.size = 0;
    return r->status != CLA_OK;
}

static int enter_block(MD_BLOCKTYPE type, void *detail, void *reader_)
{
    (void)type, (void)detail;
    return end(reader_);
}

static int enter_span(MD_SPANTYPE type, void *detail, void *reader_)
{
    reader *r = reader_;
    const int failed = end(r);
    r->pictures += type == MD_SPAN_IMG;
    if (type == MD_SPAN_A && !failed) {
        const MD_ATTRIBUTE *href = &((const MD_SPAN_A_DETAIL *)detail)->href;
        r->address.size = 0;
        r->status = cla_text_append(&r->address, href->text ? href->text : "",
                                    href->text ? href->size : 0);
    }
    return r->status != CLA_OK;
}

static int leave_span(MD_SPANTYPE type, void *detail, void *reader_)
{
    (void)detail;
    reader *r = reader_;
    const int failed = end(r);
    r->pictures -= type == MD_SPAN_IMG;
    r->address.size = type == MD_SPAN_A ? 0 : r->address.size;
    return failed;
}

/* Returns the text of an escape such as "&amp;", or NULL for one that stays. */
static const char *entity(const char *name, size_t size)
{
    static const char *const known[][2] = {
        { "&amp;", "&" },   { "&lt;", "<" },          { "&gt;", ">" },
        { "&quot;", "\"" }, { "&nbsp;", "\xC2\xA0" },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strlen(known[i][0]) == size && memcmp(name, known[i][0], size) == 0) {
            return known[i][1];
        }
    }
    return NULL;
}

/* Adds text that stands at `at` in the source. A backslash in front of the first
 * character belongs to the stretch. */
static void add(reader *r, const char *at, size_t size, const char *text,
                size_t text_size)
{
    const size_t place = (size_t)(at - r->d->source);
    if (!r->open) {
        r->from = place - (place > r->behind && at[-1] == '\\');
        r->open = true;
    }
    r->to = place + size;
    r->status = cla_text_append(&r->text, text, text_size);
}

static int take_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE size, void *reader_)
{
    reader *r = reader_;
    const bool inside =
        text >= r->d->source && text + size <= r->d->source + r->d->size;
    const char *decoded = type == MD_TEXT_ENTITY ? entity(text, size) : text;
    if (type == MD_TEXT_SOFTBR && r->open) {
        r->status = cla_text_append(&r->text, "\n", 1);
    } else if (inside && decoded &&
               (type == MD_TEXT_NORMAL || type == MD_TEXT_ENTITY)) {
        add(r, text, size, decoded, decoded == text ? size : strlen(decoded));
    } else {
        end(r);
    }
    return r->status != CLA_OK;
}

cla_status cla_markdown_parts(cla_document *d)
{
    static const MD_PARSER parser = {
        .flags = MD_DIALECT_GITHUB,
        .enter_block = enter_block,
        .leave_block = enter_block,
        .enter_span = enter_span,
        .leave_span = leave_span,
        .text = take_text,
    };
    reader r = { .d = d };
    if (d->size > UINT_MAX / 2) {
        return cla_fail(CLA_E_INPUT, "Markdown: %zu bytes are too many", d->size);
    }
    const int failed = md_parse(d->source, (MD_SIZE)d->size, &parser, &r);
    cla_text_free(&r.text);
    cla_text_free(&r.address);
    return failed && !r.status ? cla_fail(CLA_E_NOMEM, "Markdown: out of memory")
                               : r.status;
}
