/* expr.h - expressions that modify attention scores: parsed, typed, differentiated and
 * written as OpenCL C. Text never reaches a compiler as it was given.
 *
 * An expression is a list of nodes in which children stand before their parents, so
 * evaluation, differentiation and code generation are loops over the list.
 *
 * Grammar, loosest first:  c ? x : y,  ||,  &&,  == !=,  < <= > >=,  + -,  * / %,
 * unary - + !,  calls f(x, y),  reads table[x][y],  numbers, names, parentheses.
 *
 * Types: bool, int, float. Integers become floats where the other operand is one. x / y
 * is always a float. x % y takes integers and has the sign of y; x % 0 is 0. */
#pragma once

#include "base/base.h"
#include "base/text.h"

typedef enum cla_expr_type {
    CLA_EXPR_BOOL,
    CLA_EXPR_INT,
    CLA_EXPR_FLOAT
} cla_expr_type;

/* A name that an expression may use: a variable has rank 0, an input is read with as
 * many indices as its rank. type is the type of the value. */
typedef struct cla_expr_name {
    const char *name;
    cla_expr_type type; // int or float
    int rank;           // 0 to 4
} cla_expr_name;

typedef enum cla_expr_kind {
    CLA_EXPR_NUMBER, // value
    CLA_EXPR_NAME,   // which
    CLA_EXPR_READ,   // which, indices in child
    CLA_EXPR_NEGATE,
    CLA_EXPR_NOT,
    CLA_EXPR_ADD,
    CLA_EXPR_SUBTRACT,
    CLA_EXPR_MULTIPLY,
    CLA_EXPR_DIVIDE,
    CLA_EXPR_MODULO,
    CLA_EXPR_LESS,
    CLA_EXPR_LESS_EQUAL,
    CLA_EXPR_GREATER,
    CLA_EXPR_GREATER_EQUAL,
    CLA_EXPR_EQUAL,
    CLA_EXPR_NOT_EQUAL,
    CLA_EXPR_AND,
    CLA_EXPR_OR,
    CLA_EXPR_SELECT,   // child[0] ? child[1] : child[2]
    CLA_EXPR_CALL,     // which = cla_expr_function
    CLA_EXPR_FLOAT_OF, // an int as a float
} cla_expr_kind;

typedef enum cla_expr_function {
    CLA_EXPR_EXP,
    CLA_EXPR_LOG,
    CLA_EXPR_TANH,
    CLA_EXPR_SQRT,
    CLA_EXPR_ABS,
    CLA_EXPR_MIN,
    CLA_EXPR_MAX,
    CLA_EXPR_CLAMP,
    CLA_EXPR_POW,
    CLA_EXPR_FLOOR,
    CLA_EXPR_TO_INT,
} cla_expr_function;

enum { CLA_EXPR_CHILDREN = 4, CLA_EXPR_LONGEST = 1000, CLA_EXPR_DEEPEST = 200 };

typedef struct cla_expr_node {
    cla_expr_kind kind;
    cla_expr_type type;
    int which; // index of a name, or a function
    int count; // of children
    int child[CLA_EXPR_CHILDREN];
    double value;
    int column; // in the text, from 0
} cla_expr_node;

typedef struct cla_expr {
    char *what, *text; // "score", and the expression as it was given
    const cla_expr_name *names;
    int names_count;
    cla_expr_node *nodes;
    size_t count, cap;
    int root;
} cla_expr;

/* Parses text, which errors call `what`, into *out. The names must outlive it.
 *
 * Errors: CLA_E_USAGE with the text, and a caret under the place, for anything that is
 * no expression over the names: characters, names, calls and operators that are not
 * known, types that do not fit, a wrong number of indices or arguments, more than
 * CLA_EXPR_LONGEST characters. */
cla_status cla_expr_parse(cla_expr **out, const char *what, const char *text,
                          const cla_expr_name *names, int names_count);
void cla_expr_free(cla_expr **e);

/* Fails with the expression's text and a caret under a column. */
cla_status cla_expr_fail(const cla_expr *e, int column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds a node over children that are in the list, and converts their types; *out is its
 * index. Fails where types do not fit. */
cla_status cla_expr_add(cla_expr *e, int *out, cla_expr_node node);

/* Converts a node of the list to float. */
cla_status cla_expr_to_float(cla_expr *e, int *node);

/* The name of a function, its number of arguments and the one a text names; -1:
 * none. */
const char *cla_expr_function_name(int function);
int cla_expr_function_arity(int function);
int cla_expr_function_find(const char *name, size_t size);

/* ---- values ---------------------------------------------------------------------- */

/* Where names take their values from. read gives element index[0..rank-1] of input
 * `which`, with indices outside clamped into the tensor. */
typedef struct cla_expr_values {
    const double *variable; // one a name; inputs' are ignored
    double (*read)(void *context, int which, const int *index);
    void *context;
} cla_expr_values;

/* The value of a node in double precision: the definition that kernels are held to. */
cla_status cla_expr_evaluate(const cla_expr *e, int node, const cla_expr_values *values,
                             double *out);

/* ---- derivatives ----------------------------------------------------------------- */

/* What one read of a float input adds to that input's gradient: value, a node, at the
 * indices of `read`, a node of kind CLA_EXPR_READ. */
typedef struct cla_expr_contribution {
    int read, value;
} cla_expr_contribution;

typedef struct cla_expr_gradient {
    int variable; // node of d expression / d variable, or -1 where it is 0
    cla_expr_contribution *reads;
    size_t count, cap;
} cla_expr_gradient;

/* Differentiates the root with respect to the float variable `variable` and to each
 * read of a float input in wanted[0..names_count-1] (NULL: none). Nodes are added to e.
 *
 * Conventions where a function has no derivative: abs(0) has slope 0; min and max give
 * all of it to their first argument when both are equal; clamp gives it to x at its
 * ends; conditions are constants.
 *
 * Errors: CLA_E_USAGE where a wanted input reaches int(), floor() or only conditions,
 * so that its gradient would be zero everywhere. */
cla_status cla_expr_differentiate(cla_expr *e, cla_expr_gradient *out, int variable,
                                  const bool *wanted);
void cla_expr_gradient_free(cla_expr_gradient *g);

/* ---- code ------------------------------------------------------------------------ */

/* Writes the statements that compute `roots` as OpenCL C: `const float t12 = ...;` for
 * each node they need, t<index>. Nodes that depend on a name in varying[] are vectors
 * (floatx, intx), others are scalars; a bool is an int, all bits set in a true lane. A
 * variable appears as v_<name>. Reading name n, an input, calls input_<n>(e, i, j),
 * or input_<n>_x where an index varies. cl/custom.clh has the functions called. */
cla_status cla_expr_emit(const cla_expr *e, const int *roots, int count,
                         const bool *varying, cla_text *code);

/* Whether a node depends on a name of varying[]. */
bool cla_expr_varies(const cla_expr *e, int node, const bool *varying);
