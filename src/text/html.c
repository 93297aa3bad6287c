/* html.c - the texts of HTML, by Gumbo, which parses as the standard (HTML5) says and
 * tells where in the source each text stands. The only file that includes it. */
#include <gumbo.h>
#include <setjmp.h>
#include <string.h>

#include "text/markup.h"

/* Memory of a parse, freed at once. Gumbo asks for it without a way to say that there
 * is none, and frees a tree by recursion, which deep nesting would not survive. */
typedef struct arena {
    void **block;
    size_t count, cap;
    size_t left; // bytes that may still be taken
    jmp_buf full;
    cla_status status;
} arena;

static void *take(void *arena_, size_t size)
{
    arena *a = arena_;
    void *made = NULL;
    a->status = size > a->left
                    ? cla_fail(CLA_E_INPUT, "HTML: too deeply nested to be parsed")
                    : cla_grow(&a->block, &a->cap, a->count + 1, sizeof *a->block);
    a->status = a->status ? a->status : cla_alloc(&made, size + 1, 1);
    if (a->status) {
        longjmp(a->full, 1);
    }
    a->left -= size;
    a->block[a->count++] = made;
    return made;
}

static void keep(void *arena_, void *memory)
{
    (void)arena_, (void)memory; // until the arena is freed
}

static void free_arena(arena *a)
{
    for (size_t i = 0; i < a->count; i++) {
        free(a->block[i]);
    }
    free(a->block);
}

/* ---- elements -------------------------------------------------------------------- */

static bool is_attribute(const GumboElement *e, const char *name, const char *value)
{
    const GumboAttribute *found = gumbo_get_attribute(&e->attributes, name);
    return found && cla_equals_nocase(found->value, value);
}

/* Returns whether class has the word notranslate. */
static bool is_marked(const GumboElement *e)
{
    static const char mark[] = "notranslate";
    const GumboAttribute *names = gumbo_get_attribute(&e->attributes, "class");
    const char *at = names ? strstr(names->value, mark) : NULL;
    return at && (at == names->value || at[-1] == ' ') &&
           (!at[sizeof mark - 1] || at[sizeof mark - 1] == ' ');
}

static bool is_left_alone(const GumboNode *node)
{
    static const GumboTag tags[] = {
        GUMBO_TAG_SCRIPT,   GUMBO_TAG_STYLE,   GUMBO_TAG_CODE,      GUMBO_TAG_PRE,
        GUMBO_TAG_KBD,      GUMBO_TAG_SAMP,    GUMBO_TAG_VAR,       GUMBO_TAG_TEXTAREA,
        GUMBO_TAG_SVG,      GUMBO_TAG_MATH,    GUMBO_TAG_IFRAME,    GUMBO_TAG_NOSCRIPT,
        GUMBO_TAG_XMP,      GUMBO_TAG_LISTING, GUMBO_TAG_PLAINTEXT, GUMBO_TAG_NOEMBED,
        GUMBO_TAG_NOFRAMES,
    };
    const GumboElement *e = &node->v.element;
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        if (e->tag == tags[i]) {
            return true;
        }
    }
    return is_attribute(e, "translate", "no") || is_marked(e);
}

static bool has_children(const GumboNode *node)
{
    return node->type == GUMBO_NODE_ELEMENT || node->type == GUMBO_NODE_TEMPLATE ||
           node->type == GUMBO_NODE_DOCUMENT;
}

static const GumboVector *children_of(const GumboNode *node)
{
    return node->type == GUMBO_NODE_DOCUMENT ? &node->v.document.children
                                             : &node->v.element.children;
}

/* Returns the node behind this one and its children, NULL at the end. */
static const GumboNode *next_beside(const GumboNode *node)
{
    while (node->parent) {
        const GumboVector *all = children_of(node->parent);
        if (node->index_within_parent + 1 < all->length) {
            return all->data[node->index_within_parent + 1];
        }
        node = node->parent;
    }
    return NULL;
}

static const GumboNode *next(const GumboNode *node)
{
    const bool inside = has_children(node) && children_of(node)->length &&
                        (node->type == GUMBO_NODE_DOCUMENT || !is_left_alone(node));
    return inside ? children_of(node)->data[0] : next_beside(node);
}

/* ---- parts ----------------------------------------------------------------------- */

/* A stretch of the source to parse. */
typedef struct stretch {
    const char *at;
    size_t size;
} stretch;

typedef struct stretches {
    stretch *item;
    size_t count, cap;
} stretches;

static cla_status push(stretches *to, const char *at, size_t size)
{
    CLA_TRY(cla_grow(&to->item, &to->cap, to->count + 1, sizeof *to->item));
    to->item[to->count++] = (stretch){ at, size };
    return CLA_OK;
}

/* Returns where a tag begins, or the end. */
static const char *find_tag(const char *at, const char *end)
{
    for (; at + 1 < end; at++) {
        const char c = at[1] | 0x20;
        if (*at == '<' && ((c >= 'a' && c <= 'z') || strchr("/!?", at[1]))) {
            return at;
        }
    }
    return end;
}

/* Notes what lies between tags that the parser dropped, such as an end without a
 * beginning: it makes one text of both sides. */
static cla_status push_between(stretches *to, const char *at, const char *end)
{
    while (at < end) {
        const char *tag = find_tag(at, end);
        CLA_TRY(push(to, at, (size_t)(tag - at)));
        const char *close = memchr(tag, '>', (size_t)(end - tag));
        at = close ? close + 1 : end;
    }
    return CLA_OK;
}

static cla_status add(cla_document *d, const GumboText *text, stretches *later)
{
    const GumboStringPiece *place = &text->original_text;
    const char *end = d->source + d->size;
    if (place->data < d->source || place->data > end ||
        place->length > (size_t)(end - place->data)) {
        return CLA_OK; // not of the source
    }
    end = place->data + place->length;
    return find_tag(place->data, end) < end
               ? push_between(later, place->data, end)
               : cla_document_add(d, (size_t)(place->data - d->source), place->length,
                                  text->text, strlen(text->text));
}

static cla_status add_all(cla_document *d, const GumboNode *node, stretches *later)
{
    for (; node; node = next(node)) {
        if (node->type == GUMBO_NODE_TEXT) {
            CLA_TRY(add(d, &node->v.text, later));
        }
    }
    return CLA_OK;
}

static cla_status parse(cla_document *d, arena *a, stretches *todo)
{
    GumboOptions options = kGumboDefaultOptions;
    options.allocator = take;
    options.deallocator = keep;
    options.userdata = a;
    options.max_errors = 0;
    if (setjmp(a->full)) {
        return a->status;
    }
    for (size_t i = 0; i < todo->count; i++) {
        const stretch part = todo->item[i];
        const GumboOutput *tree =
            gumbo_parse_with_options(&options, part.at, part.size);
        CLA_TRY(add_all(d, tree->document, todo));
    }
    return CLA_OK;
}

static size_t count_tags(const cla_document *d)
{
    size_t count = 0;
    for (size_t i = 0; i < d->size; i++) {
        count += d->source[i] == '<';
    }
    return count;
}

cla_status cla_html_parts(cla_document *d)
{
    const size_t tags = count_tags(d);
    if (tags > CLA_MOST_TAGS) {
        return cla_fail(CLA_E_INPUT, "HTML: %zu tags, more than %d", tags,
                        CLA_MOST_TAGS);
    }
    arena a = { .left = ((size_t)64 << 20) + d->size * 64 };
    stretches todo = { 0 };
    cla_status status = push(&todo, d->source, d->size);
    status = status ? status : parse(d, &a, &todo);
    free(todo.item);
    free_arena(&a);
    return status;
}

bool cla_markup_there(void)
{
    return true;
}
