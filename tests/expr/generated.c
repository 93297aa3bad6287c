/* generated.c - runs random expressions, valid and not, through the parser, the
 * derivatives and the emitter.
 *
 * usage: expressions COUNT [SEED]
 *
 * A third of the texts are expressions, a third are expressions with a few characters
 * changed, a third are pieces in any order. A text that the parser refuses has a
 * message with a caret; an accepted one has derivatives that agree with finite
 * differences in its value and in every element of its inputs. Otherwise the program
 * prints the text and exits with 1. Sanitizers check the rest. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/expressions.h"

enum { TABLE = EXPRESSION_ROWS * EXPRESSION_COLUMNS, PLACES = 6 };
enum { UNKNOWN, AGREES, DIFFERS, NO_NUMBER };

/* The values that an expression reads. */
typedef struct world {
    double variable[EXPRESSION_NAMES];
    double rate[EXPRESSION_ROWS], table[TABLE];
} world;

typedef struct counts {
    long texts, refused, bools, floats; // ints count as floats
    long slopes, unknown, without;      // without: gradients that are zero everywhere
    long poles; // the derivative has no number where differences do: sqrt(s - s)
} counts;

static int bounded(int x, int size)
{
    return x < 0 ? 0 : x >= size ? size - 1 : x;
}

/* Returns the index of a read in its input. */
static int place(int which, const int *index)
{
    const int row = bounded(index[0], EXPRESSION_ROWS);
    return which == EXPRESSION_TABLE
               ? row * EXPRESSION_COLUMNS + bounded(index[1], EXPRESSION_COLUMNS)
               : row;
}

static double read_input(void *context, int which, const int *index)
{
    const world *w = context;
    if (which == EXPRESSION_DOC) {
        return bounded(index[0], EXPRESSION_DOCS) / 2;
    }
    return which == EXPRESSION_RATE ? w->rate[place(which, index)]
                                    : w->table[place(which, index)];
}

/* Draws numbers that no constant of the generator equals, so that few kinks lie
 * there. */
static world make_world(expressions *x)
{
    world w = { .variable = { [EXPRESSION_I] = expression_draw(x, 6),
                              [EXPRESSION_J] = expression_draw(x, 6),
                              [EXPRESSION_H] = expression_draw(x, 3),
                              [EXPRESSION_B] = expression_draw(x, 3) } };
    const double value = (expression_draw(x, 4000) - 1999.5) / 997;
    w.variable[EXPRESSION_VALUE] = value + copysign(0.05, value);
    for (int n = 0; n < EXPRESSION_ROWS; n++) {
        w.rate[n] = 0.101 + expression_draw(x, 1000) / 611.0;
    }
    for (int n = 0; n < TABLE; n++) {
        w.table[n] = (expression_draw(x, 2000) - 1000.0) / 613;
    }
    return w;
}

static double evaluate(const cla_expr *e, int node, world *w)
{
    const cla_expr_values values = { w->variable, read_input, w };
    double value = NAN;
    if (cla_expr_evaluate(e, node, &values, &value)) {
        fprintf(stderr, "expressions: %s\n", cla_error());
        exit(1);
    }
    return value;
}

/* Returns whether floor() or int() has so large an argument that its steps look
 * smooth. */
static bool hides_steps(const cla_expr *e, world *w)
{
    for (int n = 0; n <= e->root; n++) {
        const cla_expr_node *node = &e->nodes[n];
        if (node->kind == CLA_EXPR_CALL &&
            (node->which == CLA_EXPR_FLOOR || node->which == CLA_EXPR_TO_INT ||
             node->which == CLA_EXPR_ROUND) &&
            fabs(evaluate(e, node->child[0], w)) > 1e3) {
            return true;
        }
    }
    return false;
}

/* Compares a derivative with differences of four widths. UNKNOWN unless all four agree
 * on both sides: the place may be a kink, a step, a pole or lost in rounding. Otherwise
 * one that agrees with none of them is wrong. */
static int check_slope(const cla_expr *e, world *w, double *x, double got)
{
    static const double widths[] = { 1e-6, 1e-5, 1e-4, 1e-7 };
    const double kept = *x;
    int smooth = 0;
    for (int n = 0; n < 4; n++) {
        const double step = widths[n] * fmax(1, fabs(kept));
        double y[5];
        for (int k = 0; k < 5; k++) {
            *x = kept + (k - 2) * step;
            y[k] = evaluate(e, e->root, w);
        }
        *x = kept;
        const double left = (y[2] - y[0]) / (2 * step);
        const double right = (y[4] - y[2]) / (2 * step);
        const double want = (8 * (y[3] - y[1]) - (y[4] - y[0])) / (12 * step);
        const double bar = 1e-3 * fmax(1, fabs(want)) + 1e-14 / step * fabs(y[2]);
        if (!isfinite(want) || fabs(left - right) > 1e-2 * fmax(1, fabs(want))) {
            continue;
        }
        smooth++;
        if (fabs(got - want) <= bar) {
            return AGREES;
        }
    }
    if (smooth < 4 || hides_steps(e, w)) {
        return UNKNOWN; // a kink hides from some widths
    }
    return isfinite(got) ? DIFFERS : NO_NUMBER;
}

/* Returns d e / d element n of input `which`, from the derivatives of its reads. */
static double slope_of(const cla_expr *e, const cla_expr_gradient *g, world *w,
                       int which, int n)
{
    double sum = 0;
    for (size_t r = 0; r < g->count; r++) {
        const cla_expr_node *read = &e->nodes[g->reads[r].read];
        int index[2] = { 0, 0 };
        for (int c = 0; c < read->count; c++) {
            index[c] = (int)evaluate(e, read->child[c], w);
        }
        if (read->which == which && place(which, index) == n) {
            sum += evaluate(e, g->reads[r].value, w);
        }
    }
    return sum;
}

static int worse(int a, int b)
{
    return a > b ? a : b;
}

/* Checks all derivatives at one place. Returns the worst outcome. */
static int check_place(const cla_expr *e, const cla_expr_gradient *g,
                       const bool *wanted, world *w)
{
    const double got = g->variable < 0 ? 0 : evaluate(e, g->variable, w);
    int found = check_slope(e, w, &w->variable[EXPRESSION_VALUE], got);
    for (int n = 0; wanted[EXPRESSION_RATE] && n < EXPRESSION_ROWS; n++) {
        found = worse(found, check_slope(e, w, &w->rate[n],
                                         slope_of(e, g, w, EXPRESSION_RATE, n)));
    }
    for (int n = 0; wanted[EXPRESSION_TABLE] && n < TABLE; n++) {
        found = worse(found, check_slope(e, w, &w->table[n],
                                         slope_of(e, g, w, EXPRESSION_TABLE, n)));
    }
    return found;
}

static bool reads(const cla_expr *e, int which)
{
    for (size_t n = 0; n < e->count; n++) {
        if (e->nodes[n].kind == CLA_EXPR_READ && e->nodes[n].which == which) {
            return true;
        }
    }
    return false;
}

/* Differentiates with respect to all inputs that have a gradient. */
static bool differentiate(cla_expr *e, cla_expr_gradient *g, bool *wanted, counts *c)
{
    wanted[EXPRESSION_RATE] = reads(e, EXPRESSION_RATE);
    wanted[EXPRESSION_TABLE] = reads(e, EXPRESSION_TABLE);
    while (cla_expr_differentiate(e, g, EXPRESSION_VALUE, wanted)) {
        const bool rate = strstr(cla_error(), "no gradient of 'rate'") != NULL;
        const int which = rate ? EXPRESSION_RATE : EXPRESSION_TABLE;
        if (!wanted[which] || (!rate && !strstr(cla_error(), "of 'table'"))) {
            printf("not differentiated: %s\n%s\n", e->text, cla_error());
            return false;
        }
        wanted[which] = false;
        c->without++;
    }
    return true;
}

static bool check_derivatives(expressions *x, cla_expr *e, counts *c)
{
    cla_expr_gradient g;
    bool wanted[EXPRESSION_NAMES] = { false };
    int found = UNKNOWN;
    if (!differentiate(e, &g, wanted, c)) {
        return false;
    }
    for (int n = 0; n < PLACES && found != DIFFERS; n++) {
        world w = make_world(x);
        const int here = isfinite(evaluate(e, e->root, &w))
                             ? check_place(e, &g, wanted, &w)
                             : UNKNOWN;
        c->slopes += here == AGREES;
        found = worse(found, here);
    }
    c->unknown += found == UNKNOWN;
    c->poles += found == NO_NUMBER;
    cla_expr_gradient_free(&g);
    if (found == DIFFERS) {
        printf("a derivative differs: %s\n", e->text);
    }
    return found != DIFFERS;
}

/* Checks the code of a kernel, with the value in no lanes, and in lanes of keys. */
static bool check_code(const cla_expr *e)
{
    static const bool none[EXPRESSION_NAMES] = { false };
    const bool lanes[EXPRESSION_NAMES] = {
        [EXPRESSION_VALUE] = true, [EXPRESSION_J] = true
    };
    cla_text code = { 0 };
    const cla_status status = cla_expr_emit(e, &e->root, 1, none, &code) ||
                              cla_expr_emit(e, &e->root, 1, lanes, &code);
    // names and numbers alone come through, never the text
    const bool clean = !status && !strpbrk(code.data, "#\"\\@{}`$\x80\xff");
    if (!clean) {
        printf("code: %s\n%s\n", e->text, status ? cla_error() : code.data);
    }
    cla_text_free(&code);
    return clean;
}

/* Checks that a refusal shows the text up to the place and a caret. */
static bool check_refusal(const char *text)
{
    if (!strstr(cla_error(), "score: ") ||
        (!strchr(cla_error(), '^') && strlen(text) <= CLA_EXPR_LONGEST)) {
        printf("refused without a caret: %s\n%s\n", text, cla_error());
        return false;
    }
    return true;
}

static bool check(expressions *x, const cla_expr_name *names, const char *text,
                  counts *c)
{
    cla_expr *e = NULL;
    c->texts++;
    if (cla_expr_parse(&e, "score", text, names, EXPRESSION_NAMES)) {
        c->refused++;
        return !e && check_refusal(text);
    }
    const bool number = e->nodes[e->root].type == CLA_EXPR_FLOAT;
    c->bools += e->nodes[e->root].type == CLA_EXPR_BOOL;
    c->floats += number;
    const bool good = check_code(e) && (!number || check_derivatives(x, e, c));
    cla_expr_free(&e);
    return good;
}

/* Writes pieces that often fit together. */
static void jumble(expressions *x, char *text, size_t size)
{
    static const char *const pieces[] = {
        "s",      "i",     "j",      "h",          "1",     "2.5",    "+",
        "-",      "*",     "/",      "%",          "(",     ")",      "abs(",
        ",",      "exp(",  "tanh(",  "pow(",       "doc[",  "]",      "rate[",
        "table[", "][",    "?",      ":",          "<",     "==",     "&&",
        "!",      "max(",  "clamp(", "0",          "s *",   "floor(", "s / 2",
        "=",      "s +",   "- s",    "(s)",        "i < j", ";",      "}",
        "sqrt(",  "int(",  "i - j",  "sin(",       "cos(",  "erf(",   "sigmoid(",
        "round(", "exp2(", "0x",     "2147483648", "1e-45",
    };
    size_t used = 0;
    text[0] = '\0';
    for (unsigned n = 1 + expression_draw(x, 14); n; n--) {
        const char *piece = pieces[expression_draw(x, sizeof pieces / sizeof *pieces)];
        used += (size_t)snprintf(text + used, size - used, "%s ", piece);
    }
}

static void next_text(expressions *x, long n, char *text, size_t size)
{
    if (n % 3 == 2) {
        jumble(x, text, size);
        return;
    }
    const cla_expr_type types[] = { CLA_EXPR_FLOAT, CLA_EXPR_FLOAT, CLA_EXPR_FLOAT,
                                    CLA_EXPR_BOOL, CLA_EXPR_INT };
    expression_make(x, text, size - 3, types[expression_draw(x, 5)]);
    if (n % 3 == 1) {
        expression_damage(x, text);
    }
}

int main(int argc, char **argv)
{
    const long count = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 42;
    expressions x = { seed, "s", false };
    cla_expr_name names[EXPRESSION_NAMES];
    counts c = { 0 };
    long failed = 0;
    if (count < 1) {
        fprintf(stderr, "usage: %s COUNT [SEED]\n", argv[0]);
        return 2;
    }
    expression_names(names, "s");
    for (long n = 0; n < count; n++) {
        char text[700];
        next_text(&x, n, text, sizeof text);
        failed += !check(&x, names, text, &c);
    }
    printf("%ld texts, seed %llu: %ld refused, %ld conditions, %ld numbers; %ld places "
           "with all slopes checked, %ld numbers without any; %ld gradients that are "
           "zero everywhere, %ld at a pole; %ld failed\n",
           c.texts, (unsigned long long)seed, c.refused, c.bools, c.floats, c.slopes,
           c.unknown, c.without, c.poles, failed);
    // more than a few poles would be NaN from elsewhere; little compared is no check
    const bool few = c.floats < count / 10 || c.slopes < c.floats;
    return failed || few || c.poles > 2 + c.floats / 100 ? 1 : 0;
}
