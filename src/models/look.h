/* look.h - what attention in levels looks at, on the host: for whoever wants to see it.
 *
 * A network that finds a log in its place (poet.seen, reader.seen) adds to it wherever
 * it looks in levels; the batch has one sequence then. */
#pragma once

#include "clattn/ham.h"

enum { LOOK_SITES = 4, LOOK_NAME = 24 };

/* Sites where a passage looks at itself; at all others it looks at its question. */
#define LOOK_SELF "self"
#define LOOK_Q2C  "q2c"
#define LOOK_C2Q  "c2q" // a passage at its question, in one go

/* One level: a row for each query, a distribution over what it looked at. */
typedef struct look_map {
    float *weight; // [rows,columns]
    size_t cap;
    int rows;
} look_map;

/* A place of a network that looks in levels. */
typedef struct look_site {
    char name[LOOK_NAME];
    int levels, columns;
    float share[CLA_HAM_DEPTH]; // [levels] how much of the result is each one's
    look_map map[CLA_HAM_DEPTH];
    char **row, **column; // names, once there are any; a NULL behind the last
} look_site;

typedef struct look_log {
    look_site *site[LOOK_SITES];
    int sites;
} look_log;

void look_free(look_log *l);

/* Frees names up to the NULL behind the last. */
void look_names_free(char ***names);

/* Rows more of a level's map, of weights [rows * columns] such as
 * cla_additive_attention gives them. A site is there once it is named. Without a log,
 * or without levels (c NULL), nothing is done.
 *
 * c  [depth], of which the softmax weighs levels
 *
 * Errors: CLA_E_NUMERIC (weights that are not finite), CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status look_add(look_log *l, const char *site, const cla_tensor *c, int level,
                    const cla_tensor *weights, int64_t columns);

/* Rows of all levels at once, those of cla_ham_v with q [T,d] and k [S,d], which keeps
 * them to itself: computed again, since one sequence is small. scale: of dot products.
 * Errors: as above. */
cla_status look_dots(look_log *l, const char *site, const cla_tensor *c,
                     const cla_tensor *q, const cla_tensor *k, float scale);

/* Rows of one level: softmax over j of <q_i, k_j>, for networks that make their queries
 * of the next level themselves. Errors: as above. */
cla_status look_level(look_log *l, const char *site, const cla_tensor *c, int level,
                      const cla_tensor *q, const cla_tensor *k);

/* How each row of x competes for a sum of them. */
typedef struct look_pool {
    const cla_tensor *x;     // [S,e]
    const cla_tensor *own;   // [S,1]; NULL: 0
    const cla_tensor *q, *k; // [S,d], [T,d]
} look_pool;

/* One row of all levels: the first is softmax over i of own_i + max_j <q_i, k_j> (that
 * of cla_max_attention without own), the others ask x with the sum that the one before
 * made, by dot products. Errors: as above. */
cla_status look_best(look_log *l, const char *site, const cla_tensor *c,
                     const look_pool *p);

/* A site's rows came last first: turns them round. Nothing for a site that is not
 * there. */
void look_turn(look_log *l, const char *site);

/* Gives rows and columns of a site their names, of which copies are kept.
 * Errors: CLA_E_NOMEM. */
cla_status look_label(look_site *site, const char *const *row,
                      const char *const *column);
