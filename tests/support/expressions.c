/* expressions.c - random expressions over the names of custom attention. */
#include "support/expressions.h"

#include <stdio.h>
#include <string.h>

typedef struct writer {
    expressions *x;
    char *text;
    size_t size, used;
} writer;

static void write(writer *w, cla_expr_type type, int depth);

void expression_names(cla_expr_name names[EXPRESSION_NAMES], const char *value)
{
    static const cla_expr_name all[EXPRESSION_NAMES] = {
        { NULL, CLA_EXPR_FLOAT, 0 },    { "i", CLA_EXPR_INT, 0 },
        { "j", CLA_EXPR_INT, 0 },       { "h", CLA_EXPR_INT, 0 },
        { "b", CLA_EXPR_INT, 0 },       { "rate", CLA_EXPR_FLOAT, 1 },
        { "table", CLA_EXPR_FLOAT, 2 }, { "doc", CLA_EXPR_INT, 1 },
    };
    memcpy(names, all, sizeof all);
    names[EXPRESSION_VALUE].name = value;
}

unsigned expression_draw(expressions *x, unsigned n)
{
    x->state = x->state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(x->state >> 33) % n;
}

static void put(writer *w, const char *piece)
{
    static const char *const spaces[] = { "", "", "", " ", " ", "  " };
    const char *space = spaces[expression_draw(w->x, 6)];
    const int n = snprintf(w->text + w->used, w->size - w->used, "%s%s", piece, space);
    w->used = w->used + (size_t)n < w->size ? w->used + (size_t)n : w->size - 1;
}

/* Writes a template: %f, %i and %b become operands of that type, a space becomes random
 * blanks, anything else is itself. */
static void fill(writer *w, const char *template, int depth)
{
    char piece[2] = "";
    for (; *template; template ++) {
        if (*template == '%' && template[1] != ' ') {
            template ++;
            write(w,
                  *template == 'f'   ? CLA_EXPR_FLOAT
                  : *template == 'i' ? CLA_EXPR_INT
                                     : CLA_EXPR_BOOL,
                  depth - 1);
            continue;
        }
        piece[0] = *template;
        if (*template != ' ') {
            const size_t used = w->used;
            snprintf(w->text + used, w->size - used, "%s", piece);
            w->used = used + 1 < w->size ? used + 1 : used;
        } else {
            put(w, "");
        }
    }
}

static const char *choose(expressions *x, const char *const *list)
{
    unsigned n = 0;
    while (list[n]) {
        n++;
    }
    return list[expression_draw(x, n)];
}

static void leaf(writer *w, cla_expr_type type)
{
    static const char *const ints[] = { "i", "j", "h", "b",    "0",
                                        "1", "2", "7", "0x1F", NULL };
    static const char *const floats[] = { "0.5",  "1.5", "2.",     ".25",
                                          "5e-1", "1f",  "0x1p-2", NULL };
    if (type == CLA_EXPR_INT) {
        put(w, choose(w->x, ints));
    } else if (expression_draw(w->x, 2)) {
        put(w, w->x->value);
    } else {
        put(w, choose(w->x, floats));
    }
}

static void write(writer *w, cla_expr_type type, int depth)
{
    static const char *const bounded[] = {
        "%f + %f",         "%f - %f",       "(%f * %f)",   "tanh(%f)",
        "(%b ? %f : %f)",  "abs(%f)",       "min(%f, %f)", "max( %f,%f)",
        "clip(%f, -1, 2)", "-(%f)",         "rate[%i]",    "rate[%i]",
        "table[%i][%i]",   "exp(-abs(%f))", "%i / 4",      "sqrt(1 + abs(%f))",
        "sin(%f)",         "cos(%f)",       "sigmoid(%f)", "erf(%f)",
        "exp2(-abs(%f))",  "(%f)",          NULL,
    };
    static const char *const floats[] = {
        "%f + %f",
        "%f - %f",
        "%f * %f",
        "%f / %f",
        "(%f + %f)",
        "(%f - %f)",
        "tanh(%f)",
        "(%b ? %f : %f)",
        "%b ? %f : %f",
        "abs(%f)",
        "min(%f, %f)",
        "max( %f,%f)",
        "clamp(%f, %f, %f)",
        "-%f",
        "+%f",
        "rate[%i]",
        "rate [ %i ]",
        "table[%i][%i]",
        "exp(%f)",
        "log(%f)",
        "pow(%f, %f)",
        "pow(%f, 2)",
        "sqrt(%f)",
        "floor(%f)",
        "%i / %i",
        "%i * %f",
        "(%f)",
        "sin(%f)",
        "cos(%f)",
        "sigmoid(%f)",
        "erf(%f)",
        "exp2(%f)",
        "round(%f)",
        NULL,
    };
    static const char *const ints[] = {
        "(%i + %i)",    "(%i - %i)",   "(%i * %i)",   "(%i % %i)",
        "abs(%i - %i)", "min(%i, %i)", "max(%i, %i)", "clip(%i, -3, %i)",
        "int(%f)",      "-2147483648", "doc[%i]",     "(%b ? %i : %i)",
        "-%i",          NULL,
    };
    static const char *const bools[] = {
        "(%i < %i)",  "(%f <= %f)", "(%f > %f)",  "(%i >= %i)",
        "(%i == %i)", "(%i != %i)", "(%b && %b)", "(%b || %b)",
        "!%b",        "(i < j)",    NULL,
    };
    const char *const *list = type == CLA_EXPR_INT    ? ints
                              : type == CLA_EXPR_BOOL ? bools
                              : w->x->bounded         ? bounded
                                                      : floats;
    if (depth <= 0 && type == CLA_EXPR_BOOL) {
        put(w, expression_draw(w->x, 2) ? "(i < j)" : "(i == 2)");
        return;
    }
    if (depth <= 0 || (type != CLA_EXPR_BOOL && !expression_draw(w->x, 4))) {
        leaf(w, type);
        return;
    }
    fill(w, choose(w->x, list), depth);
}

void expression_make(expressions *x, char *text, size_t size, cla_expr_type type)
{
    writer w = { x, text, size, size };
    while (w.used + 1 >= size) { // cut off: write another one
        w.used = 0;
        write(&w, type, 1 + (int)expression_draw(x, x->bounded ? 3 : 5));
    }
}

void expression_damage(expressions *x, char *text)
{
    static const char characters[] =
        "()[],?:+-*/%<>=!&|.09aijswRe;{}#\"\\@\n\t\x80\xff";
    for (unsigned n = 1 + expression_draw(x, 3); n; n--) {
        const size_t size = strlen(text);
        const size_t at = size ? expression_draw(x, (unsigned)size) : 0;
        const char one = characters[expression_draw(x, sizeof characters - 1)];
        const unsigned how = expression_draw(x, 4);
        if (how == 0 || !size) {
            memmove(text + at + 1, text + at, size - at + 1);
            text[at] = one;
        } else if (how == 1) {
            text[at] = one;
        } else if (how == 2) {
            memmove(text + at, text + at + 1, size - at);
        } else if (at) {
            const char kept = text[at];
            text[at] = text[at - 1];
            text[at - 1] = kept;
        }
    }
}
