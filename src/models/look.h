/* look.h - a log of attention weights on the host, for inspection.
 *
 * A network whose log is set (poet.seen, reader.seen) adds the weights of each of its
 * attentions in levels, called sites. The batch must then have one sequence. */
#pragma once

#include "clattn/ham.h"

enum { LOOK_SITES = 4, LOOK_NAME = 24 };

/* Sites of a reader. Keys are the passage at the first two, else the question. */
#define LOOK_SELF "self"
#define LOOK_Q2C  "q2c"
#define LOOK_C2Q  "c2q" // all words of the passage attend at once

/* The attention weights of one level, a row for each query. */
typedef struct look_map {
    float *weight; // [rows,columns]
    size_t cap;
    int rows;
} look_map;

/* One attention of a network, with all its levels. */
typedef struct look_site {
    char name[LOOK_NAME];
    int levels, columns;
    float share[CLA_HAM_DEPTH]; // [levels] weight of each level in the result
    look_map map[CLA_HAM_DEPTH];
    char **row, **column; // names, NULL-terminated; NULL before cla_look_label
} look_site;

typedef struct look_log {
    look_site *site[LOOK_SITES];
    int sites;
} look_log;

void cla_look_free(look_log *l);

/* Frees a NULL-terminated list of names and sets it to NULL. */
void cla_look_names_free(char ***names);

/* Appends rows to the map of a level: weights [rows * columns], such as those of
 * cla_additive_attention. The site is created at its first use. Does nothing when l is
 * NULL (no log) or c is NULL (no levels).
 *
 * c  in  [depth] logits of the level weights
 *
 * Errors: CLA_E_NUMERIC (weights that are not finite), CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_look_add(look_log *l, const char *site, const cla_tensor *c, int level,
                        const cla_tensor *weights, int64_t columns);

/* Appends the rows of all levels of cla_ham_v with q [T,d] and k [S,d]. cla_ham_v does
 * not return its weights, so the host computes them again; one sequence is small.
 * scale is the factor of the dot products. Errors: those of cla_look_add. */
cla_status cla_look_dots(look_log *l, const char *site, const cla_tensor *c,
                         const cla_tensor *q, const cla_tensor *k, float scale);

/* Appends the rows of one level, softmax over j of <q_i, k_j>, for networks that make
 * the queries of each level themselves. Errors: those of cla_look_add. */
cla_status cla_look_level(look_log *l, const char *site, const cla_tensor *c, int level,
                          const cla_tensor *q, const cla_tensor *k);

/* A weighted sum of the rows of x, as in cla_max_attention. */
typedef struct look_pool {
    const cla_tensor *x;     // [S,e]
    const cla_tensor *own;   // [S,1]; NULL: 0
    const cla_tensor *q, *k; // [S,d], [T,d]
} look_pool;

/* Appends one row to every level. The first level is softmax over i of
 * own_i + max_j <q_i, k_j> (without own that of cla_max_attention). Each further level
 * is softmax over i of <x_i, g>, where g is the sum of the rows of x weighted by the
 * previous level. Errors: those of cla_look_add. */
cla_status cla_look_best(look_log *l, const char *site, const cla_tensor *c,
                         const look_pool *p);

/* Reverses the order of a site's rows, for sites that were filled from the last row to
 * the first. Does nothing when the site does not exist. */
void cla_look_turn(look_log *l, const char *site);

/* Copies the names of rows and columns into a site. Errors: CLA_E_NOMEM. */
cla_status cla_look_label(look_site *site, const char *const *row,
                          const char *const *column);
