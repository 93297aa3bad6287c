/* expr.h - expressions that modify attention scores: parser, types, derivatives and
 * OpenCL C code. The user's text itself never reaches a compiler.
 *
 * An expression is a list of nodes in which children come before their parents, so
 * evaluation, differentiation and code generation are loops over the list.
 *
 * Grammar, loosest first:  c ? x : y,  ||,  &&,  == !=,  < <= > >=,  + -,  * / %,
 * unary - + !,  calls f(x, y),  reads table[x][y],  numbers, names, parentheses.
 *
 * Types: bool, int, float. An int operand is converted when the other one is a float.
 * x / y is always a float. x % y takes ints and has the sign of y; x % 0 is 0.
 *
 * Numbers: all that a float holds (1e-45 to 3.4028235e38, 0x1.8p-3) and all integers of
 * 32 bits (0x7fffffff, -2147483648). A literal is rounded to a float.
 *
 * NaN: min, max and clamp are NaN where an argument is; comparisons with NaN are false,
 * != is true; int(NaN) is 0; pow(NaN, 0) and pow(1, NaN) are 1, as in C. */
#pragma once

#include "base/base.h"
#include "base/text.h"

typedef enum cla_expr_type {
    CLA_EXPR_BOOL,
    CLA_EXPR_INT,
    CLA_EXPR_FLOAT
} cla_expr_type;

/* A name that an expression may use. A variable has rank 0; an input takes as many
 * indices as its rank. type is the type of the value or element. */
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
    CLA_EXPR_FLOAT_OF, // an int converted to float
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
    CLA_EXPR_EXP2,
    CLA_EXPR_SIN,
    CLA_EXPR_COS,
    CLA_EXPR_SIGMOID,
    CLA_EXPR_ERF,
    CLA_EXPR_ROUND, // ties away from zero, as in C
    CLA_EXPR_FUNCTIONS
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
    char *what, *text; // "score", and the source text
    const cla_expr_name *names;
    int names_count;
    cla_expr_node *nodes;
    size_t count, cap;
    int root;
} cla_expr;

/* Parses text into *out. Messages call the expression `what`. names must outlive *out.
 *
 * Errors: CLA_E_USAGE with the text and a caret under the place: unknown characters,
 * names, functions or operators, types that do not fit, a wrong number of indices or
 * arguments, more than CLA_EXPR_DEEPEST open operators; CLA_E_USAGE for more than
 * CLA_EXPR_LONGEST characters; CLA_E_NOMEM. */
cla_status cla_expr_parse(cla_expr **out, const char *what, const char *text,
                          const cla_expr_name *names, int names_count);
void cla_expr_free(cla_expr **e);

/* Fails with CLA_E_USAGE, the expression's text and a caret under a column. */
cla_status cla_expr_fail(const cla_expr *e, int column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds a node whose children are in the list and inserts type conversions. *out is its
 * index. Errors: CLA_E_USAGE (types that do not fit), CLA_E_NOMEM. */
cla_status cla_expr_add(cla_expr *e, int *out, cla_expr_node node);

/* Converts a node to float: *node becomes the index of the conversion. */
cla_status cla_expr_to_float(cla_expr *e, int *node);

/* Return the name of a cla_expr_function, its number of arguments, and the function
 * with a name, or -1. */
const char *cla_expr_function_name(int function);
int cla_expr_function_arity(int function);
int cla_expr_function_find(const char *name, size_t size);

/* ---- values ---------------------------------------------------------------------- */

/* The values of the names. read returns element index[0..rank-1] of input `which`, with
 * indices clamped to the tensor. */
typedef struct cla_expr_values {
    const double *variable; // [names_count]; ignored for inputs
    double (*read)(void *context, int which, const int *index);
    void *context;
} cla_expr_values;

/* Computes the value of a node in double precision: the oracle of the kernels. Errors:
 * CLA_E_NOMEM. */
cla_status cla_expr_evaluate(const cla_expr *e, int node, const cla_expr_values *values,
                             double *out);

/* ---- derivatives ----------------------------------------------------------------- */

/* The contribution of one read to the gradient of a float input: node `value` is added
 * at the indices of node `read`, which is of kind CLA_EXPR_READ. */
typedef struct cla_expr_contribution {
    int read, value;
} cla_expr_contribution;

typedef struct cla_expr_gradient {
    int variable; // node of d expression / d variable, or -1 where it is 0
    cla_expr_contribution *reads;
    size_t count, cap;
} cla_expr_gradient;

/* Differentiates the root with respect to the float variable `variable` and to each
 * read of a float input in wanted[0..names_count-1] (NULL: none). Adds nodes to e.
 *
 * Conventions where a function has no derivative: abs(0) has slope 0; min and max give
 * the whole slope to their first argument when both are equal; clamp gives it to x at
 * the bounds; conditions are constants. pow(a, b) has slope 0 by a where b is 0, by b
 * where a and b are 0, and NaN by b where a is negative. Where min, max, clamp or abs
 * are NaN, so are the slopes of their arguments.
 *
 * Errors: CLA_E_USAGE (the root is no float; a wanted input is read only in conditions,
 * int(), floor(), round() or indices, so that its gradient would be zero everywhere),
 * CLA_E_NOMEM. */
cla_status cla_expr_differentiate(cla_expr *e, cla_expr_gradient *out, int variable,
                                  const bool *wanted);
void cla_expr_gradient_free(cla_expr_gradient *g);

/* ---- code ------------------------------------------------------------------------ */

/* Appends OpenCL C statements that compute `roots`: `const float t12 = ...;` for each
 * node that they need, named t<index>. Nodes that depend on a name in varying[] are
 * vectors (floatx, intx), others are scalars. A bool is an int; a true lane of a vector
 * has all bits set. A variable appears as v_<name>. A read of input n calls
 * input_<n>(e, i, j), or input_<n>_x where an index varies. cl/custom.clh defines the
 * functions expr_<name>. Errors: CLA_E_NOMEM. */
cla_status cla_expr_emit(const cla_expr *e, const int *roots, int count,
                         const bool *varying, cla_text *code);

/* Returns whether a node depends on a name in varying[]; true when out of memory. */
bool cla_expr_varies(const cla_expr *e, int node, const bool *varying);
