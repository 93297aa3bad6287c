/* bench.h - the benchmark's interface for cases: describes a case and times it.
 *
 * The name of a case is "op direction letters", with fwd or fwd+bwd for the direction:
 * "band_attention fwd B8 H8 T512 d64 w11". */
#pragma once

#include "clattn/clattn.h"

typedef struct bench bench;

cla_runtime *bench_runtime(bench *b);
bool bench_quick(const bench *b); // --quick: fewer and smaller cases
bool bench_peers(const bench *b); // time other libraries, too: not while tuning

/* Returns whether to run a case, by --suite and --filter; while tuning, whether it is
 * the tuned case. False while the harness counts its cases. Call it before preparing a
 * case. */
bool bench_wants(bench *b, const char *suite, const char *name);

/* ---- cases of one op --------------------------------------------------------- */

enum { BENCH_INPUTS = 9 };

typedef struct bench_input {
    int rank;
    int64_t shape[4];
    float scale;   // standard deviation of the random numbers; 0 means 1
    bool constant; // no gradient
    float cancels; // factor on its gradient's tolerance, as terms cancel; 0 means 1
} bench_input;

/* One op on random inputs. It is timed under both schedules; with --quick, while tuning
 * or when CLATTN_SCHEDULE is set, under the schedule in force alone. forward and oracle
 * are those of op_case in tests/support. */
typedef struct bench_op {
    char name[128];
    const char *suite;    // "band"
    const char *provider; // "fft"; NULL: clattn's schedules
    bench_input in[BENCH_INPUTS];
    int inputs;
    bool backward;       // time forward and backward together
    double flops, bytes; // of one timed run; 0 where there is no such figure
    cla_status (*forward)(cla_tape *tape, cla_tensor **y, cla_tensor **x,
                          void *context);
    void (*oracle)(double *y, double *const *x,
                   void *context); // NULL: none, or too slow
    void *context;
} bench_op;

/* Prepares, verifies (with --verify), times, prints and records a case, and frees its
 * tensors. Does nothing when bench_wants returns false. Errors: those of forward. */
cla_status bench_op_run(bench *b, const bench_op *op);

/* Makes a batch of `sequences` sequences of `length` tokens each. The caller frees it.
 */
cla_status bench_rows(bench *b, cla_ragged **rows, int sequences, int length);

/* ---- other cases ------------------------------------------------------------- */

/* A case with a run function of its own. */
typedef struct bench_case {
    char name[128];
    const char *suite;
    const char *provider;           // "clblast", "openblas"; NULL: clattn's schedules
    double flops, bytes;            // as in bench_op
    cla_status (*run)(void *state); // queues (or does) the work once
    cla_status (*check)(void *state, double *nmse); // for --verify; NULL: unverified
    void *state;
    double words;       // of a run; adds words_per_s and peak_bytes to the row; 0: none
    int64_t parameters; // of the model; 0: none
    bool on_host;       // run finishes before it returns: no device to wait for
} bench_case;

/* Verifies (with --verify), warms up, times, prints and records a case. Errors: those
 * of run and check. */
cla_status bench_run(bench *b, const bench_case *c);

/* Makes a tensor of n(0,1) numbers, with a gradient when want_grad. The caller frees
 * it. */
cla_status bench_tensor(bench *b, cla_tensor **t, int rank, const int64_t *shape,
                        bool want_grad);

/* ---- suites besides the rows of bench/cases.c; listed in bench/suites.c ------- */

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
cla_status bench_weights(bench *b);
cla_status bench_ragged(bench *b);
cla_status bench_nmt(bench *b);
cla_status bench_hard(bench *b);
cla_status bench_nmt_sizes(bench *b);
cla_status bench_tagger(bench *b);
cla_status bench_reader(bench *b);
cla_status bench_poem(bench *b);
cla_status bench_steps(bench *b);
cla_status bench_startup(bench *b);
