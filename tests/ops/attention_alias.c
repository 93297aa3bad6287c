/* attention_alias.c - one tensor, or columns of one tensor, in several places of an
 * attention (queries and keys, keys and values ...) gets the sum of the gradients that
 * separate tensors get. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"

enum { T = 9, H = 3, WIDTH = 3, SIZE = T * H * WIDTH, PLACES = 3 };

typedef struct operands {
    cla_tensor *x[PLACES]; // q, k, v, some of them the same
    cla_tensor *table, *sigma, *w, *b, *distances;
    cla_ragged *rows;
} operands;

typedef cla_status (*attend)(cla_tape *tape, cla_tensor **o, const operands *in);

static cla_status full(cla_tape *tape, cla_tensor **o, const operands *in)
{
    return cla_attention(tape, o, in->x[0], in->x[1], in->x[2], in->rows, in->rows,
                         NULL);
}

static cla_status band(cla_tape *tape, cla_tensor **o, const operands *in)
{
    return cla_band_attention(tape, o, in->x[0], in->x[1], in->x[2], in->rows, 5, NULL);
}

static cla_status area(cla_tape *tape, cla_tensor **o, const operands *in)
{
    return cla_band_attention_2d(tape, o, in->x[0], in->x[1], in->x[2], in->rows, 5, 3,
                                 CLA_EDGE_TRUNCATE, NULL);
}

/* Here a head's keys and values come from different members of its area. */
static cla_status edges(cla_tape *tape, cla_tensor **o, const operands *in)
{
    return cla_band_attention_2d(tape, o, in->x[0], in->x[1], in->x[2], in->rows, 5, 3,
                                 CLA_EDGE_AUTHOR, NULL);
}

static cla_status position(cla_tape *tape, cla_tensor **o, const operands *in)
{
    return cla_position_attention(tape, o, in->x[0], in->x[1], in->x[2], NULL,
                                  in->table, in->rows, NULL);
}

static cla_status gaussian(cla_tape *tape, cla_tensor **o, const operands *in)
{
    const cla_gaussian shape = { NULL, in->sigma, INFINITY };
    return cla_gaussian_attention(tape, o, in->x[0], in->x[1], in->x[2], &shape,
                                  in->rows, NULL);
}

static cla_status relative(cla_tape *tape, cla_tensor **o, const operands *in)
{
    return cla_relative_attention(tape, o, in->x[0], in->x[1], in->x[2], in->distances,
                                  in->distances, in->rows, in->rows, NULL);
}

static const struct {
    const char *name;
    attend call;
} ops[] = { { "attention", full },
            { "band_attention", band },
            { "band_attention_2d", area },
            { "band_attention_2d, author's edges", edges },
            { "position_attention", position },
            { "gaussian_attention", gaussian },
            { "relative_attention", relative } };

/* The number of the tensor in each place: q, k, v. */
static const int places[][PLACES] = { { 0, 1, 1 }, { 0, 0, 0 }, { 0, 0, 1 },
                                      { 0, 1, 0 }, { 0, 1, 2 }, { 2, 0, 1 } };

/* How places share a tensor. SEPARATE: each place has its own tensor. SHARED: places
 * with the same number have one tensor. COLUMNS: all places are columns of one tensor.
 * MEMORY: all but the first are. */
typedef enum sharing { SEPARATE, SHARED, COLUMNS, MEMORY } sharing;

static const char *const sharings[] = { "separate", "shared", "columns", "memory" };

static void make(cla_tensor **t, cla_runtime *rt, int rank, const int64_t *shape,
                 float value)
{
    TEST_OK(cla_tensor_new(t, rt, CLA_F32, rank, shape));
    TEST_OK(cla_tensor_fill(*t, value));
}

enum { ROW = H * WIDTH };

/* Copies part `at` of `parts` from or to the rows of a wide matrix. */
static void copy_part(float *wide, float *narrow, int parts, int at, bool out)
{
    for (int t = 0; t < T; t++) {
        float *w = wide + (t * parts + at) * ROW;
        memcpy(out ? narrow + t * ROW : w, out ? w : narrow + t * ROW,
               ROW * sizeof(float));
    }
}

/* A matrix with the places from `first` on as columns; `least` is the number of its
 * first part. */
typedef struct wide {
    cla_tensor *x;
    int first, least, parts;
} wide;

static wide make_wide(cla_runtime *rt, const int *place, cla_tensor *const *own,
                      sharing how)
{
    wide w = { .first = how == MEMORY, .least = PLACES };
    float all[PLACES * SIZE], one[SIZE];
    int most = 0;
    for (int n = w.first; n < PLACES; n++) {
        w.least = place[n] < w.least ? place[n] : w.least;
        most = place[n] > most ? place[n] : most;
    }
    w.parts = most - w.least + 1;
    make(&w.x, rt, 2, (int64_t[]){ T, (int64_t)w.parts * ROW }, 0);
    TEST_OK(cla_tensor_download(w.x, all));
    for (int n = w.first; n < PLACES; n++) {
        TEST_OK(cla_tensor_download(own[n], one));
        copy_part(all, one, w.parts, place[n] - w.least, false);
    }
    TEST_OK(cla_tensor_upload(w.x, all));
    cla_tensor_want_grad(w.x, true);
    return w;
}

static void add_wide(float (*sum)[SIZE], const wide *w)
{
    float all[PLACES * SIZE], one[SIZE];
    TEST_OK(cla_tensor_download(cla_tensor_grad(w->x), all));
    for (int part = 0; part < w->parts; part++) {
        copy_part(all, one, w->parts, part, true);
        for (int i = 0; i < SIZE; i++) {
            sum[w->least + part][i] += one[i];
        }
    }
}

/* Computes sum[n], the gradient of all tensors with number n in `place`. */
static void gradients(cla_runtime *rt, attend call, const int *place, sharing how,
                      float (*sum)[SIZE])
{
    static const int lengths[] = { T };
    static const int64_t shape[] = { T, H, WIDTH };
    operands in = { .rows = test_ragged(rt, 1, lengths, NULL) };
    cla_tensor *own[PLACES], *o = NULL;
    cla_tape *tape = test_tape(rt, true);
    for (int n = 0; n < PLACES; n++) {
        float *x = test_random(SIZE, 1, 10 + (uint32_t)place[n]);
        make(&own[n], rt, 3, shape, 0);
        TEST_OK(cla_tensor_upload(own[n], x));
        cla_tensor_want_grad(own[n], true);
        free(x);
        in.x[n] = own[n];
        for (int first = 0; first < n && how == SHARED; first++) {
            in.x[n] =
                place[first] == place[n] && in.x[n] == own[n] ? own[first] : in.x[n];
        }
    }
    make(&in.table, rt, 2, (int64_t[]){ H, 2 * T }, 0.5f);
    make(&in.sigma, rt, 1, (int64_t[]){ H }, 3);
    make(&in.distances, rt, 2, (int64_t[]){ 5, WIDTH }, 0.25f);
    wide w = { NULL };
    if (how >= COLUMNS) {
        w = make_wide(rt, place, own, how);
    }
    for (int n = w.first; n < PLACES && w.x; n++) {
        TEST_OK(cla_tensor_columns(tape, &in.x[n], w.x, (place[n] - w.least) * ROW, H,
                                   WIDTH));
    }
    TEST_OK(call(tape, &o, &in));
    float *dy = test_random(SIZE, 1, 20);
    cla_tensor *seed = NULL;
    make(&seed, rt, 3, shape, 0);
    TEST_OK(cla_tensor_upload(seed, dy));
    TEST_OK(cla_tape_seed(tape, o, seed));
    TEST_OK(cla_tape_backward(tape));
    memset(sum, 0, PLACES * sizeof *sum);
    for (int n = 0; n < PLACES; n++) {
        float grad[SIZE];
        const cla_tensor *g = cla_tensor_grad(own[n]);
        if (g) {
            TEST_OK(cla_tensor_download(g, grad));
        }
        for (int i = 0; i < SIZE && g; i++) {
            sum[place[n]][i] += grad[i];
        }
    }
    if (w.x) {
        add_wide(sum, &w);
    }
    free(dy);
    cla_tape_free(&tape);
    cla_tensor_free(&w.x);
    cla_tensor_free(&seed);
    cla_tensor_free(&in.table);
    cla_tensor_free(&in.sigma);
    cla_tensor_free(&in.distances);
    for (int n = 0; n < PLACES; n++) {
        cla_tensor_free(&own[n]);
    }
    cla_ragged_free(&in.rows);
}

static void check(cla_runtime *rt, size_t op, const int *place, sharing how,
                  float (*want)[SIZE])
{
    static float got[PLACES][SIZE];
    gradients(rt, ops[op].call, place, how, got);
    for (int i = 0; i < PLACES * SIZE; i++) {
        const float g = got[i / SIZE][i % SIZE], w = want[i / SIZE][i % SIZE];
        cr_assert(fabsf(g - w) <= 1e-5f * fmaxf(1, fabsf(w)),
                  "%s, %s, %s, places %d%d%d: gradient %d is %g, must be %g",
                  ops[op].name,
                  cla_runtime_schedule(rt) == CLA_SCHEDULE_GROUP ? "group" : "tile",
                  sharings[how], place[0], place[1], place[2], i, (double)g, (double)w);
    }
}

DEVICE_TEST(attention_alias, adds_the_gradients_of_all_places)
{
    static float want[PLACES][SIZE];
    for (size_t n = 0; n < 2 * sizeof ops / sizeof *ops; n++) {
        cla_runtime_set_schedule(rt, n % 2 ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
            gradients(rt, ops[n / 2].call, places[p], SEPARATE, want);
            for (sharing how = SHARED; how <= MEMORY; how++) {
                check(rt, n / 2, places[p], how, want);
            }
        }
    }
}
