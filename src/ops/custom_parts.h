/* custom_parts.h - parses and differentiates the expressions of a modifier. */
#pragma once

#include "expr/expr.h"
#include "ops/custom_code.h"

/* The names in expressions: variables, then inputs. VALUE is the score or the weight
 * that the expression modifies. */
enum { VALUE, I, J, HEAD, SAMPLE, QUERIES, KEYS, ROW_I, ROW_J, VARIABLES };
enum { NAMES = VARIABLES + CLA_CUSTOM_INPUTS };

/* The expression for the score or for the weight, with its derivatives. */
typedef struct custom_part {
    cla_expr *e; // NULL: none
    cla_expr_gradient slope;
    int uniforms; // leading reads, whose place is the same for a head of a sequence
    int rows;     // of a score: the next ones, whose place is the same for a query
    bool steep;   // the derivative by the value is not 1
    bool keeps;   // derivatives need the value
    bool factor;  // of a weight: w times a factor without w, so no pass needs w itself
} custom_part;

typedef struct custom_parts {
    cla_expr_name names[NAMES], weight_names[NAMES];
    int names_count;
    custom_part score, weight;
    cla_expr *mask; // NULL: none
} custom_parts;

/* Parses a modifier and differentiates it with respect to the wanted inputs. p must be
 * freed even after a failure. Errors: those of cla_custom_code_get. */
cla_status cla_custom_parts_make(custom_parts *p, const cla_attention_mod *mod,
                                 const bool wanted[CLA_CUSTOM_INPUTS]);
void cla_custom_parts_free(custom_parts *p);

/* Returns whether a node depends on a name. */
bool cla_custom_reads(const cla_expr *e, int node, int name);

/* Tells whether each pair of a query and a head has an element of its own of an input
 * that gets a gradient: only the score reads it, at [ni][h] or at [h][ni]. Returns
 * which index is ni, or -1. */
int cla_custom_own(const custom_parts *p, int input);
