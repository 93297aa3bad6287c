/* custom_parts.h - the expressions of a modifier, parsed and differentiated. */
#pragma once

#include "expr/expr.h"
#include "ops/custom_code.h"

/* What expressions can name: variables, then inputs. VALUE is the score or weight that
 * an expression turns into another. */
enum { VALUE, I, J, HEAD, SAMPLE, QUERIES, KEYS, ROW_I, ROW_J, VARIABLES };
enum { NAMES = VARIABLES + CLA_CUSTOM_INPUTS };

/* A function of a value: the score's or the weight's. */
typedef struct custom_part {
    cla_expr *e; // NULL: none
    cla_expr_gradient slope;
    int uniforms; // reads that come first: one place for a head of a sequence
} custom_part;

typedef struct custom_parts {
    cla_expr_name names[NAMES], weight_names[NAMES];
    int names_count;
    custom_part score, weight;
    cla_expr *mask; // NULL: none
} custom_parts;

/* Parses a modifier, and differentiates it with respect to inputs that are wanted. It
 * must be freed after a failure too. Errors: as cla_custom_code_get. */
cla_status cla_custom_parts_make(custom_parts *p, const cla_attention_mod *mod,
                                 const bool wanted[CLA_CUSTOM_INPUTS]);
void cla_custom_parts_free(custom_parts *p);

/* Whether a node depends on a name. */
bool cla_custom_reads(const cla_expr *e, int node, int name);

/* Whether the weight's expression is w times something without w: then a pass need not
 * know the weight to apply it. */
bool cla_custom_is_factor(const custom_part *weight);
