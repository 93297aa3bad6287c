/* bench.h - the harness as the ops see it: describe a case, have it timed.
 *
 * A case is named "op direction letters": "band_attention fwd B8 H8 T512 d64 w11";
 * direction is fwd or fwd+bwd. */
#pragma once

#include "clattn/clattn.h"

typedef struct bench bench;

cla_runtime *bench_runtime(bench *b);
bool bench_quick(const bench *b); // fewer and smaller cases
bool bench_peers(const bench *b); // other libraries' cases too: not while tuning

/* Whether suite, --filter and --quick let a case through: ask before preparing it. */
bool bench_wants(bench *b, const char *suite, const char *name);

/* ---- an op: what most cases are ---------------------------------------------- */

enum { BENCH_INPUTS = 9 };

typedef struct bench_input {
    int rank;
    int64_t shape[4];
    float scale;   // deviation of the random numbers; 0 means 1
    bool constant; // no gradient
    float cancels; // how many times more its gradient may be off, as its terms cancel
} bench_input;

/* One op on random inputs, timed under both schedules (under the one that
 * CLATTN_SCHEDULE names where it is set). forward and oracle are as in op_case of
 * tests/support. */
typedef struct bench_op {
    char name[128];
    const char *suite;    // "band"
    const char *provider; // "fft"; NULL: each schedule in turn
    bench_input in[BENCH_INPUTS];
    int inputs;
    bool backward;       // time forward and backward together
    double flops, bytes; // of one run as it is timed; 0 where it makes no sense
    cla_status (*forward)(cla_tape *tape, cla_tensor **y, cla_tensor **x,
                          void *context);
    void (*oracle)(double *y, double *const *x,
                   void *context); // NULL: none, or too slow
    void *context;
} bench_op;

/* Prepares, verifies where asked, times, prints and records; frees what it made. Does
 * nothing when bench_wants says no. Errors: what forward gives. */
cla_status bench_op_run(bench *b, const bench_op *op);

/* sequences equal sequences of length tokens; the caller frees. */
cla_status bench_rows(bench *b, cla_ragged **rows, int sequences, int length);

/* ---- anything else ----------------------------------------------------------- */

/* One thing to time. */
typedef struct bench_case {
    char name[128];
    const char *suite;
    const char *provider; // "clblast", "openblas"; NULL: each schedule in turn
    double flops, bytes;
    cla_status (*run)(void *state);                 // queues (or does) the work once
    cla_status (*check)(void *state, double *nmse); // for --verify; NULL: unverified
    void *state;
    double words;       // of a run: the row gets words_per_s and peak_bytes; 0: none
    int64_t parameters; // of the model; 0: none
    bool on_host;       // run is complete when it returns: no device to wait for
} bench_case;

/* Warms up, times, prints and records. Errors: what run gives. */
cla_status bench_run(bench *b, const bench_case *c);

/* A tensor of n(0,1) numbers; want_grad as said. */
cla_status bench_tensor(bench *b, cla_tensor **t, int rank, const int64_t *shape,
                        bool want_grad);

/* ---- what suites have besides rows of bench/cases.c, listed in bench/suites.c ---- */

cla_status bench_clip(bench *b);
cla_status bench_custom_attention(bench *b);
cla_status bench_gaussian_attention(bench *b);
cla_status bench_ham(bench *b);
cla_status bench_hard_attention(bench *b);
cla_status bench_position_attention(bench *b);
cla_status bench_reinforce(bench *b);
cla_status bench_optimiser(bench *b);
cla_status bench_ema(bench *b);
cla_status bench_multinomial(bench *b);
cla_status bench_matmul(bench *b);
cla_status bench_conv_attention_2d(bench *b);
cla_status bench_top_k(bench *b);
cla_status bench_ragged(bench *b);
cla_status bench_nmt(bench *b);
cla_status bench_hard(bench *b);
cla_status bench_nmt_sizes(bench *b);
cla_status bench_tagger(bench *b);
cla_status bench_reader(bench *b);
cla_status bench_poem(bench *b);
cla_status bench_steps(bench *b);
cla_status bench_startup(bench *b);
