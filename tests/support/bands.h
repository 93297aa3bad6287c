/* bands.h - cases of band attention, in one dimension and in two. */
#pragma once

#include "support/support.h"

enum { BAND_SEQUENCES = 8 };

/* One call. area 0 is cla_band_attention. */
typedef struct band_case {
    int sequences, lengths[BAND_SEQUENCES];
    int H, d, window, area;
    cla_edge edge;
    bool causal;
    bool columns; // q, k, v cut out of wider projections
    float dropout;
} band_case;

/* check_op on random inputs. */
void check_band(cla_runtime *rt, const band_case *c);

/* What a call gives for these inputs [N,H,d]; gradients where dy is not NULL. */
typedef struct band_result {
    float *o, *dq, *dk, *dv; // [N,H,d]; zeros where nothing flowed back
    float *map;              // [B,H,Tmax,area*Tmax]
} band_result;

void band_run(cla_runtime *rt, const band_case *c, const float *q, const float *k,
              const float *v, const float *dy, band_result *out);
void band_result_fini(band_result *out);

/* Tokens and elements of a case. */
int band_tokens(const band_case *c);
int64_t band_size(const band_case *c);

/* Four random inputs (q, k, v, dy) of a case. */
void band_inputs(const band_case *c, float *x[4]);
void band_inputs_free(float *x[4]);

/* Known answers of an independent transcription, printed to six digits: one sequence of
 * four heads of width 3, the first tokens of five. */
typedef struct band_answer {
    int tokens, area;
    cla_edge edge;
    double first[3], other[3]; // O[0,0,0] and O[0,3,row]
    int row;
    double sum, dq, dk, dv; // of O, of |dQ| ...; dq 0: the gradients are not given
} band_answer;
void check_band_answer(cla_runtime *rt, const band_answer *a);

/* |got - want| <= bar, relative above 1. */
void band_close(const char *what, double got, double want, double bar);

/* Runs the body once under each schedule. */
#define EACH_SCHEDULE(rt)                                                             \
    for (int each_ = 0; each_ < 2; each_++)                                           \
        if (cla_runtime_set_schedule((rt),                                            \
                                     each_ ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE), \
            true)
