/* bands.h - cases of band attention in one and two dimensions. */
#pragma once

#include "support/support.h"

enum { BAND_SEQUENCES = 8 };

/* A call of cla_band_attention_2d, or with area 0 of cla_band_attention. */
typedef struct band_case {
    int sequences, lengths[BAND_SEQUENCES];
    int H, d, window, area;
    cla_edge edge;
    bool causal;
    bool columns; // q, k, v are columns of wider projections
    float dropout;
} band_case;

/* Runs check_op on random inputs. */
void check_band(cla_runtime *rt, const band_case *c);

/* The results of a call. */
typedef struct band_result {
    float *o, *dq, *dk, *dv; // [N,H,d]; zeros without a gradient
    float *map;              // [B,H,Tmax,area*Tmax]
} band_result;

/* Runs a case on inputs [N,H,d]; also backward from dy unless that is NULL. Free *out
 * with band_result_fini. */
void band_run(cla_runtime *rt, const band_case *c, const float *q, const float *k,
              const float *v, const float *dy, band_result *out);
void band_result_fini(band_result *out);

/* Return the number of tokens N and of elements N H d of a case. */
int band_tokens(const band_case *c);
int64_t band_size(const band_case *c);

/* Makes four random inputs (q, k, v, dy) of a case. */
void band_inputs(const band_case *c, float *x[4]);
void band_inputs_free(float *x[4]);

/* Known results of an independent implementation, printed to six digits. The input is
 * one sequence with four heads of width 3: the first tokens of a fixed one of five. */
typedef struct band_answer {
    int tokens, area;
    cla_edge edge;
    double first[3], other[3]; // O[0,0,0] and O[0,3,row]
    int row;
    double sum, dq, dk, dv; // sums of O, |dQ|, |dK|, |dV|; dq 0: no gradients known
} band_answer;
void check_band_answer(cla_runtime *rt, const band_answer *a);

/* Checks |got - want| <= bar max(1, |want|). */
void band_close(const char *what, double got, double want, double bar);

/* Runs the body once under each schedule. */
#define EACH_SCHEDULE(rt)                                                             \
    for (int each_ = 0; each_ < 2; each_++)                                           \
        if (cla_runtime_set_schedule((rt),                                            \
                                     each_ ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE), \
            true)
