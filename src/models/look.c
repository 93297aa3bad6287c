/* look.c - a log of attention weights, filled while a network runs. */
#include "models/look.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tensor/tensor.h"

void cla_look_names_free(char ***names)
{
    for (char **at = *names; at && *at; at++) {
        free(*at);
    }
    free(*names);
    *names = NULL;
}

void cla_look_free(look_log *l)
{
    for (int i = 0; i < l->sites; i++) {
        for (int k = 0; k < l->site[i]->levels; k++) {
            free(l->site[i]->map[k].weight);
        }
        cla_look_names_free(&l->site[i]->row);
        cla_look_names_free(&l->site[i]->column);
        free(l->site[i]);
    }
    *l = (look_log){ .sites = 0 };
}

/* ---- sites ----------------------------------------------------------------------- */

static look_site *site_named(const look_log *l, const char *name)
{
    for (int i = 0; i < l->sites; i++) {
        if (strcmp(l->site[i]->name, name) == 0) {
            return l->site[i];
        }
    }
    return NULL;
}

static cla_status check_finite(const float *x, size_t n, const char *site)
{
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(x[i])) {
            return cla_fail(CLA_E_NUMERIC, "%s: weights that are not finite", site);
        }
    }
    return CLA_OK;
}

/* Sets the shares of the levels to softmax(c). */
static cla_status weigh(look_site *s, const cla_tensor *c)
{
    double sum = 0;
    float top = -INFINITY;
    s->levels = (int)c->shape[0];
    assert(s->levels <= CLA_HAM_DEPTH);
    CLA_TRY(cla_tensor_download(c, s->share));
    CLA_TRY(check_finite(s->share, (size_t)s->levels, s->name));
    for (int i = 0; i < s->levels; i++) {
        top = fmaxf(top, s->share[i]);
    }
    for (int i = 0; i < s->levels; i++) {
        s->share[i] = expf(s->share[i] - top);
        sum += (double)s->share[i];
    }
    for (int i = 0; i < s->levels; i++) {
        s->share[i] = (float)((double)s->share[i] / sum);
    }
    return CLA_OK;
}

static cla_status find_or_add(look_log *l, const char *name, const cla_tensor *c,
                              int64_t columns, look_site **site)
{
    *site = site_named(l, name);
    if (*site) {
        assert((*site)->columns == columns);
        return CLA_OK;
    }
    assert(l->sites < LOOK_SITES);
    CLA_TRY(cla_alloc(site, 1, sizeof **site));
    l->site[l->sites++] = *site;
    snprintf((*site)->name, LOOK_NAME, "%s", name);
    (*site)->columns = (int)columns;
    return weigh(*site, c);
}

static cla_status grow(look_site *s, int level, int64_t rows, float **out)
{
    look_map *m = &s->map[level];
    const size_t at = (size_t)m->rows * (size_t)s->columns;
    const size_t more = (size_t)rows * (size_t)s->columns;
    assert(level < s->levels);
    CLA_TRY(cla_grow(&m->weight, &m->cap, at + more + 1, sizeof *m->weight));
    m->rows += (int)rows;
    *out = m->weight + at;
    return CLA_OK;
}

/* ---- maps ------------------------------------------------------------------------ */

cla_status cla_look_add(look_log *l, const char *site, const cla_tensor *c, int level,
                        const cla_tensor *weights, int64_t columns)
{
    look_site *s = NULL;
    float *out = NULL;
    if (!l || !c || !columns) {
        return CLA_OK;
    }
    const int64_t size = cla_tensor_size(weights);
    assert(site && size % columns == 0);
    CLA_TRY(find_or_add(l, site, c, columns, &s));
    CLA_TRY(grow(s, level, size / columns, &out));
    CLA_TRY(cla_tensor_download(weights, out));
    return check_finite(out, (size_t)size, site);
}

/* Computes out = softmax(out) in place and q = sum_j out_j k_j. */
static void find(double *q, const float *k, int64_t S, int64_t d, float *out)
{
    double top = -INFINITY, sum = 0;
    for (int64_t j = 0; j < S; j++) {
        top = (double)out[j] > top ? (double)out[j] : top; // gcc 12 fails at fmax
    }
    for (int64_t j = 0; j < S; j++) {
        sum += exp((double)out[j] - top);
    }
    memset(q, 0, (size_t)d * sizeof *q);
    for (int64_t j = 0; j < S; j++) {
        const double w = exp((double)out[j] - top) / sum;
        out[j] = (float)w;
        for (int64_t e = 0; e < d; e++) {
            q[e] += w * (double)k[j * d + e];
        }
    }
}

/* Computes out = softmax over j of scale <q, k_j>, then q = sum_j out_j k_j. */
static void ask(double *q, const float *k, int64_t S, int64_t d, double scale,
                float *out)
{
    for (int64_t j = 0; j < S; j++) {
        double dot = 0;
        for (int64_t e = 0; e < d; e++) {
            dot += q[e] * (double)k[j * d + e];
        }
        out[j] = (float)(scale * dot);
    }
    find(q, k, S, d, out);
}

/* The shape of queries [T,d], and the levels to compute, from `first` on. */
typedef struct asked {
    int64_t T, d;
    double scale;
    int first, levels;
} asked;

/* Appends a row for each query to each level. A query attends to k, and its context is
 * the query of the next level; row [d] is room for one query. */
static cla_status ask_all(look_site *s, const asked *a, const float *q, const float *k,
                          double *row)
{
    float *out[CLA_HAM_DEPTH];
    const int64_t S = s->columns;
    for (int l = 0; l < a->levels; l++) {
        CLA_TRY(grow(s, a->first + l, a->T, &out[l]));
    }
    for (int64_t i = 0; i < a->T; i++) {
        for (int64_t e = 0; e < a->d; e++) {
            row[e] = (double)q[i * a->d + e];
        }
        for (int l = 0; l < a->levels; l++) {
            ask(row, k, S, a->d, a->scale, out[l] + i * S);
            CLA_TRY(check_finite(out[l] + i * S, (size_t)S, s->name));
        }
    }
    return CLA_OK;
}

/* Computes out_i = own_i + max_j <q_i, k_j>; q [S,d], k [T,d], own NULL: 0. */
static void best_products(const look_pool *p, const float *q, const float *k,
                          const float *own, float *out)
{
    const int64_t S = p->q->shape[0], T = p->k->shape[0], d = p->q->shape[1];
    for (int64_t i = 0; i < S; i++) {
        double best = -INFINITY;
        for (int64_t j = 0; j < T; j++) {
            double dot = 0;
            for (int64_t e = 0; e < d; e++) {
                dot += (double)q[i * d + e] * (double)k[j * d + e];
            }
            best = fmax(best, dot);
        }
        out[i] = (float)(best + (own ? (double)own[i] : 0));
    }
}

/* Downloads n tensors into one block: at[i] is the i'th, NULL for NULL. Also allocates
 * row [width]. */
static cla_status fetch(const cla_tensor *const *x, int n, float **host,
                        const float **at, int64_t width, double **row)
{
    size_t size = 0;
    for (int i = 0; i < n; i++) {
        size += x[i] ? (size_t)cla_tensor_size(x[i]) : 0;
    }
    CLA_TRY(cla_alloc(host, size + 1, sizeof **host));
    CLA_TRY(cla_alloc(row, (size_t)width + 1, sizeof **row));
    size = 0;
    for (int i = 0; i < n; i++) {
        at[i] = x[i] ? *host + size : NULL;
        if (x[i]) {
            CLA_TRY(cla_tensor_download(x[i], *host + size));
            size += (size_t)cla_tensor_size(x[i]);
        }
    }
    return CLA_OK;
}

/* Appends one row to each level (cla_look_best). at: x, own, q, k of the pool on the
 * host; row: room for one row of x. */
static cla_status find_best(look_site *s, const look_pool *p, const float *const *at,
                            double *row)
{
    const int64_t S = s->columns, e = p->x->shape[1];
    for (int l = 0; l < s->levels; l++) {
        float *out = NULL;
        CLA_TRY(grow(s, l, 1, &out));
        if (l) {
            ask(row, at[0], S, e, 1, out);
        } else {
            best_products(p, at[2], at[3], at[1], out);
            find(row, at[0], S, e, out);
        }
        CLA_TRY(check_finite(out, (size_t)S, s->name));
    }
    return CLA_OK;
}

/* Appends the rows of levels first .. first+n-1; n 0: of all levels. */
static cla_status look_dots_of(look_log *l, const char *site, const cla_tensor *c,
                               const cla_tensor *q, const cla_tensor *k, double scale,
                               int first, int n)
{
    const cla_tensor *const both[] = { q, k };
    look_site *s = NULL;
    float *host = NULL;
    const float *at[2];
    double *row = NULL;
    if (!l || !c || !k->shape[0]) {
        return CLA_OK;
    }
    CLA_TRY(find_or_add(l, site, c, k->shape[0], &s));
    const asked what = { q->shape[0], q->shape[1], scale, first, n ? n : s->levels };
    cla_status status = fetch(both, 2, &host, at, what.d, &row);
    status = status ? status : ask_all(s, &what, at[0], at[1], row);
    free(host);
    free(row);
    return status;
}

cla_status cla_look_dots(look_log *l, const char *site, const cla_tensor *c,
                         const cla_tensor *q, const cla_tensor *k, float scale)
{
    return look_dots_of(l, site, c, q, k, (double)scale, 0, 0);
}

cla_status cla_look_level(look_log *l, const char *site, const cla_tensor *c, int level,
                          const cla_tensor *q, const cla_tensor *k)
{
    return look_dots_of(l, site, c, q, k, 1, level, 1);
}

cla_status cla_look_best(look_log *l, const char *site, const cla_tensor *c,
                         const look_pool *p)
{
    look_site *s = NULL;
    float *host = NULL;
    double *row = NULL;
    if (!l || !c || !p->q->shape[0] || !p->k->shape[0]) {
        return CLA_OK;
    }
    const cla_tensor *const all[] = { p->x, p->own, p->q, p->k };
    const float *at[4];
    CLA_TRY(find_or_add(l, site, c, p->x->shape[0], &s));
    cla_status status = fetch(all, 4, &host, at, p->x->shape[1], &row);
    status = status ? status : find_best(s, p, at, row);
    free(host);
    free(row);
    return status;
}

void cla_look_turn(look_log *l, const char *site)
{
    look_site *s = l ? site_named(l, site) : NULL;
    for (int k = 0; s && k < s->levels; k++) {
        look_map *m = &s->map[k];
        for (int i = 0; i < m->rows / 2; i++) {
            float *a = m->weight + (ptrdiff_t)i * s->columns;
            float *b = m->weight + (ptrdiff_t)(m->rows - 1 - i) * s->columns;
            for (int j = 0; j < s->columns; j++) {
                const float kept = a[j];
                a[j] = b[j];
                b[j] = kept;
            }
        }
    }
}

/* ---- names ----------------------------------------------------------------------- */

static cla_status copy_names(char ***out, const char *const *names, int n)
{
    cla_look_names_free(out);
    CLA_TRY(cla_alloc(out, (size_t)n + 1, sizeof **out));
    for (int i = 0; i < n; i++) {
        CLA_TRY(cla_strdup(&(*out)[i], names[i]));
    }
    return CLA_OK;
}

cla_status cla_look_label(look_site *site, const char *const *row,
                          const char *const *column)
{
    CLA_TRY(copy_names(&site->row, row, site->map[0].rows));
    return copy_names(&site->column, column, site->columns);
}
