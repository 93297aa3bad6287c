/* recurrent.c - layers of recurrent cells: initial values, directions, steps. */
#include "nn/recurrent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"
#include "support/support.h"

enum { IN = 3, N = 5, TOKENS = 9, KINDS = 3 };

static const int lengths[] = { 4, 0, 3, 2 };

/* A layer with parameters and its input. */
typedef struct bed {
    cla_runtime *rt;
    cla_params params;
    recurrent layer;
    cla_ragged *rows;
    int32_t *offsets;
    cla_tensor *x;
    float *host;
    cla_tape *tape;
} bed;

static void make(bed *t, recurrent layer)
{
    *t = (bed){ .rt = test_runtime(), .layer = layer };
    cla_memory_guard(t->rt, false); // parameters are parts of a block
    TEST_OK(cla_recurrent_init(&t->layer, &t->params, "cell"));
    TEST_OK(cla_params_build(&t->params, t->rt, 7));
    t->rows = test_ragged(t->rt, 4, lengths, &t->offsets);
    t->host = test_random((int64_t)TOKENS * IN, 1, 1);
    TEST_OK(cla_tensor_new(&t->x, t->rt, CLA_F32, 2, (int64_t[]){ TOKENS, IN }));
    TEST_OK(cla_tensor_upload(t->x, t->host));
    TEST_OK(cla_tape_new(&t->tape, t->rt, false));
}

static void fini(bed *t)
{
    cla_tape_free(&t->tape);
    cla_tensor_free(&t->x);
    free(t->host);
    free(t->offsets);
    cla_ragged_free(&t->rows);
    cla_params_free(&t->params);
    cla_runtime_free(&t->rt);
}

/* Checks that all numbers of a parameter are within limit and at least one is beyond
 * half of it; limit <= 0: that all are -limit. */
static void check_values(const bed *t, const char *name, int64_t size, float limit)
{
    const cla_param *p = cla_params_find(&t->params, name);
    float x[512], largest = 0;
    cr_assert_not_null(p, "%s is missing", name);
    cr_assert_eq(cla_tensor_size(p->tensor), size, "%s", name);
    TEST_OK(cla_tensor_download(p->tensor, x));
    for (int64_t i = 0; i < size; i++) {
        largest = fmaxf(largest, fabsf(x[i]));
        cr_assert(limit > 0 ? fabsf(x[i]) <= limit : x[i] == -limit, "%s[%lld] is %g",
                  name, (long long)i, (double)x[i]);
    }
    cr_assert(limit <= 0 || largest > limit / 2, "%s: largest is %g", name,
              (double)largest);
}

static float glorot(int rows, int columns)
{
    return sqrtf(6.0f / (float)(rows + columns));
}

Test(recurrent, initial_values)
{
    bed t;
    make(&t, (recurrent){ .kind = RECURRENT_LSTM, .in = IN, .width = N, .both = true });
    cr_assert_eq(t.params.count, 4);
    check_values(&t, "cell.forward.w", (IN + N) * 4 * N, glorot(IN + N, 4 * N));
    check_values(&t, "cell.backward.w", (IN + N) * 4 * N, glorot(IN + N, 4 * N));
    check_values(&t, "cell.forward.b", 4 * N, 0);
    fini(&t);
    make(&t, (recurrent){ .kind = RECURRENT_GRU, .in = IN, .width = N });
    cr_assert_eq(t.params.count, 4);
    check_values(&t, "cell.forward.gates.w", (IN + N) * 2 * N, glorot(IN + N, 2 * N));
    check_values(&t, "cell.forward.gates.b", 2 * N, -1);
    check_values(&t, "cell.forward.candidate.w", (IN + N) * N, glorot(IN + N, N));
    check_values(&t, "cell.forward.candidate.b", N, 0);
    fini(&t);
    make(&t,
         (recurrent){ .kind = RECURRENT_SRU, .in = IN, .width = N, .reverse = true });
    cr_assert_eq(t.params.count, 3);
    check_values(&t, "cell.backward.input.w", IN * N, glorot(IN, N));
    check_values(&t, "cell.backward.gates.w", IN * 2 * N, glorot(IN, 2 * N));
    check_values(&t, "cell.backward.gates.b", 2 * N, 0);
    fini(&t);
}

/* Computes y of a layer of one direction that has the weights of direction `way` of
 * t. */
static void run_way(const bed *t, int way, bool reverse, float *y)
{
    recurrent one = t->layer;
    cla_tensor *out = NULL;
    one.both = false;
    one.reverse = reverse;
    one.way[0] = t->layer.way[way];
    TEST_OK(cla_recurrent_forward(&one, t->tape, &out, t->x, t->rows, NULL));
    TEST_OK(cla_tensor_download(out, y));
}

/* Reverses each sequence's rows. */
static void turn(const bed *t, float *to, const float *from, int columns)
{
    for (int b = 0; b < 4; b++) {
        for (int i = t->offsets[b]; i < t->offsets[b + 1]; i++) {
            const int other = t->offsets[b] + t->offsets[b + 1] - 1 - i;
            memcpy(to + (ptrdiff_t)i * columns, from + (ptrdiff_t)other * columns,
                   (size_t)columns * sizeof *to);
        }
    }
}

/* Halves of y and of the states are those of single directions. Running backward equals
 * running forward along reversed sequences. */
Test(recurrent, both_directions)
{
    for (int kind = 0; kind < KINDS; kind++) {
        bed t;
        make(&t,
             (recurrent){
                 .kind = (recurrent_kind)kind, .in = IN, .width = N, .both = true });
        cla_tensor *y = NULL;
        recurrent_state last = { NULL };
        float got[TOKENS * 2 * N], ways[2][TOKENS * N], state[4 * 2 * N];
        TEST_OK(cla_recurrent_forward(&t.layer, t.tape, &y, t.x, t.rows, &last));
        TEST_OK(cla_tensor_download(y, got));
        run_way(&t, 0, false, ways[0]);
        run_way(&t, 1, true, ways[1]);
        for (int i = 0; i < TOKENS * N; i++) {
            const int at = i / N * 2 * N + i % N;
            cr_assert(got[at] == ways[0][i] && got[at + N] == ways[1][i], "%s, %d",
                      cla_recurrent_kinds[kind], i);
        }
        cr_assert_eq(last.c == NULL, kind == RECURRENT_GRU);
        cr_assert_eq(last.h == NULL, kind == RECURRENT_SRU);
        TEST_OK(cla_tensor_download(last.h ? last.h : last.c, state));
        for (int j = 0; j < 2 * N; j++) {
            cr_assert(state[2 * N + j] == 0); // the empty sequence
            const float end = j < N ? ways[0][3 * N + j] : ways[1][j - N];
            cr_assert(kind == RECURRENT_SRU || state[j] == end);
        }
        float turned[TOKENS * IN], back[TOKENS * N], forward[TOKENS * N];
        turn(&t, turned, t.host, IN);
        TEST_OK(cla_tensor_upload(t.x, turned));
        run_way(&t, 1, false, forward);
        turn(&t, back, forward, N);
        cr_assert(memcmp(back, ways[1], sizeof back) == 0, "%s",
                  cla_recurrent_kinds[kind]);
        fini(&t);
    }
}

/* Checks the outputs of the first sequence, token by token. */
static void check_steps(bed *t, const float *whole)
{
    static const int one[] = { 1 };
    cla_ragged *ones = test_ragged(t->rt, 1, one, NULL);
    recurrent_state state = { NULL };
    for (int i = 0; i < lengths[0]; i++) {
        cla_tensor *x = NULL, *y = NULL;
        float got[N];
        double want[N];
        TEST_OK(cla_tape_tensor(t->tape, &x, CLA_F32, 2, (int64_t[]){ 1, IN }));
        TEST_OK(cla_tensor_upload(x, t->host + (ptrdiff_t)i * IN));
        TEST_OK(cla_recurrent_step(&t->layer, t->tape, &y, x, ones, &state));
        TEST_OK(cla_tensor_download(y, got));
        for (int j = 0; j < N; j++) {
            want[j] = (double)whole[i * N + j];
        }
        check_close(cla_recurrent_kinds[t->layer.kind], got, want, N, 1e-6);
    }
    cla_ragged_free(&ones);
}

Test(recurrent, steps_are_the_walk)
{
    for (int kind = 0; kind < KINDS; kind++) {
        bed t;
        make(&t, (recurrent){ .kind = (recurrent_kind)kind, .in = IN, .width = N });
        float whole[TOKENS * N];
        cla_tensor *y = NULL;
        recurrent_state state = { NULL };
        run_way(&t, 0, false, whole);
        check_steps(&t, whole);
        TEST_FAILS(cla_recurrent_step(&t.layer, t.tape, &y, t.x, t.rows, &state),
                   CLA_E_SHAPE, "a step of 9 tokens in 4 sequences");
        t.layer.both = true;
        TEST_FAILS(cla_recurrent_step(&t.layer, t.tape, &y, t.x, t.rows, &state),
                   CLA_E_USAGE, "both directions");
        fini(&t);
    }
}
