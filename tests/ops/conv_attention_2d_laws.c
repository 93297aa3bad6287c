/* conv_attention_2d_laws.c - properties of any filter, and a known answer. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/oracle.h"
#include "runtime/runtime.h"
#include "support/support.h"

enum { H = 2, D = 8 };

/* A forward and a backward pass on chosen numbers. */
typedef struct bed {
    cla_runtime *rt;
    cla_ragged *rows;
    cla_tape *tape;
    cla_tensor *q, *k, *v, *w, *b, *dy;
    int N, side;
    float *o, *grad[5];
} bed;

static cla_tensor *upload(cla_runtime *rt, int rank, const int64_t *shape,
                          const float *x)
{
    cla_tensor *t = NULL;
    TEST_OK(cla_tensor_new(&t, rt, CLA_F32, rank, shape));
    TEST_OK(cla_tensor_upload(t, x));
    cla_tensor_want_grad(t, true);
    return t;
}

static void make(bed *t, const float *w, const float *b, int side, int length)
{
    const int lengths[] = { length, 3 };
    float *x[4];
    *t = (bed){ .rt = test_runtime(), .N = length + 3, .side = side };
    t->rows = test_ragged(t->rt, 2, lengths, NULL);
    const int64_t shape[] = { t->N, H, D }, filter[] = { H, side, side };
    for (uint32_t i = 0; i < 4; i++) {
        x[i] = test_random((int64_t)t->N * H * D, 1, 40 + i);
    }
    t->q = upload(t->rt, 3, shape, x[0]);
    t->k = upload(t->rt, 3, shape, x[1]);
    t->v = upload(t->rt, 3, shape, x[2]);
    t->dy = upload(t->rt, 3, shape, x[3]);
    t->w = upload(t->rt, 3, filter, w);
    t->b = upload(t->rt, 1, filter, b);
    TEST_OK(cla_tape_new(&t->tape, t->rt, true));
    for (int i = 0; i < 4; i++) {
        free(x[i]);
    }
}

static float *fetch(const cla_tensor *t)
{
    cr_assert_not_null(t);
    float *host = malloc((size_t)cla_tensor_size(t) * sizeof *host);
    TEST_OK(cla_tensor_download(t, host));
    return host;
}

static void forget(bed *t)
{
    free(t->o);
    for (int i = 0; i < 5; i++) {
        free(t->grad[i]);
        t->grad[i] = NULL;
    }
}

static void run(bed *t, cla_schedule schedule, cla_activation activation)
{
    cla_tensor *o = NULL, *x[] = { t->q, t->k, t->v, t->w, t->b };
    forget(t);
    for (int i = 0; i < 5; i++) {
        cla_tensor_clear_grad(x[i]);
    }
    cla_tape_reset(t->tape);
    cla_runtime_set_schedule(t->rt, schedule);
    TEST_OK(cla_conv_attention_2d(t->tape, &o, t->q, t->k, t->v, t->w, t->b, t->rows,
                                  activation, CLA_CONV_DIRECT, NULL));
    TEST_OK(cla_tape_seed(t->tape, o, t->dy));
    TEST_OK(cla_tape_backward(t->tape));
    t->o = fetch(o);
    for (int i = 0; i < 5; i++) {
        t->grad[i] = fetch(cla_tensor_grad(x[i]));
    }
}

static void fini(bed *t)
{
    forget(t);
    cla_tape_free(&t->tape);
    cla_tensor_free(&t->q);
    cla_tensor_free(&t->k);
    cla_tensor_free(&t->v);
    cla_tensor_free(&t->w);
    cla_tensor_free(&t->b);
    cla_tensor_free(&t->dy);
    cla_ragged_free(&t->rows);
    cla_runtime_free(&t->rt);
}

static const cla_schedule schedules[] = { CLA_SCHEDULE_TILE, CLA_SCHEDULE_GROUP };

/* Plain attention of the two sequences; map is [2,H,13,13]. */
static void plain(const bed *t, double *o, double *map)
{
    const int32_t offsets[] = { 0, 13, 16 };
    double exact[3][16 * H * D];
    const cla_tensor *x[] = { t->q, t->k, t->v };
    for (int i = 0; i < 3; i++) {
        float *host = fetch(x[i]);
        for (int n = 0; n < 16 * H * D; n++) {
            exact[i][n] = (double)host[n];
        }
        free(host);
    }
    const oracle_attention_shape shape = {
        .B = 2, .H = H, .d = D, .q_offsets = offsets, .k_offsets = offsets, .Smax = 13
    };
    oracle_attention(o, map, exact[0], exact[1], exact[2], &shape);
}

/* A filter with its centre alone gives plain attention. */
Test(conv_attention_2d_laws, centre_alone_is_attention)
{
    const float w[H * 9] = { [4] = 1, [9 + 4] = 1 }, b[H] = { 0 };
    bed t;
    double want[16 * H * D];
    make(&t, w, b, 3, 13);
    plain(&t, want, NULL);
    for (int i = 0; i < 2; i++) {
        run(&t, schedules[i], CLA_RELU);
        check_close("plain attention", t.o, want, (int64_t)t.N * H * D, 2e-6);
    }
    fini(&t);
}

/* The map that is asked for is that of plain attention, whatever the filter and the
 * method, with and without gradients. */
Test(conv_attention_2d_laws, map_is_the_one_before_the_filter)
{
    enum { MAP = 2 * H * 13 * 13 };
    const float b[H] = { 0.1f, 0 };
    float *w = test_random((int64_t)H * 9, 1, 50);
    bed t;
    double o[16 * H * D], want[MAP];
    make(&t, w, b, 3, 13);
    plain(&t, o, want);
    for (int i = 0; i < 8; i++) {
        cla_tensor *y = NULL, *map = NULL;
        cla_tape *tape = test_tape(t.rt, i & 1);
        const bool fft = i & 2 && test_fft();
        const cla_conv_method method = fft ? CLA_CONV_FFT : CLA_CONV_DIRECT;
        const cla_attention_options options = { .map = &map };
        cla_runtime_set_schedule(t.rt, schedules[i / 4]);
        TEST_OK(cla_conv_attention_2d(tape, &y, t.q, t.k, t.v, t.w, t.b, t.rows,
                                      CLA_RELU, method, &options));
        check_tensor("map", map, want, MAP, 1e-6);
        cla_tape_free(&tape);
    }
    free(w);
    fini(&t);
}

/* With all taps 1/9 and v all ones, each row of the result is the mean of three row
 * sums of the map, 1 each, less the parts that the borders cut off. */
Test(conv_attention_2d_laws, equal_taps_blur)
{
    float w[H * 9], b[H] = { 0 };
    for (int i = 0; i < H * 9; i++) {
        w[i] = 1.0f / 9;
    }
    bed t;
    make(&t, w, b, 3, 13);
    const float zero[16 * H * D] = { 0 };
    float one[16 * H * D];
    for (int i = 0; i < 16 * H * D; i++) {
        one[i] = 1;
    }
    TEST_OK(cla_tensor_upload(t.q, zero)); // every row of the map is 1/T
    TEST_OK(cla_tensor_upload(t.v, one));
    for (int i = 0; i < 2; i++) {
        run(&t, schedules[i], CLA_RELU);
        double want[16 * H * D];
        for (int n = 0; n < t.N; n++) {
            const int T = n < 13 ? 13 : 3, row = n < 13 ? n : n - 13;
            const double rows = 3 - (row == 0) - (row == T - 1), columns = 3 * T - 2;
            for (int c = 0; c < H * D; c++) {
                want[n * H * D + c] = rows * columns / (9.0 * T);
            }
        }
        check_close("blur", t.o, want, (int64_t)t.N * H * D, 1e-6);
    }
    fini(&t);
}

Test(conv_attention_2d_laws, low_bias_kills_the_head)
{
    const float b[H] = { -100, 0 };
    float *w = test_random((int64_t)H * 25, 1, 50);
    bed t;
    make(&t, w, b, 5, 13);
    for (int i = 0; i < 2; i++) {
        run(&t, schedules[i], CLA_RELU);
        float other = 0;
        for (int n = 0; n < t.N; n++) {
            for (int c = 0; c < D; c++) {
                const int at = n * H * D + c; // head 0
                cr_assert_eq(t.o[at], 0);
                cr_assert_eq(t.grad[0][at], 0);
                cr_assert_eq(t.grad[1][at], 0);
                cr_assert_eq(t.grad[2][at], 0);
                other += fabsf(t.o[at + D]); // head 1 is not zero
            }
        }
        cr_assert(other > 0);
        for (int n = 0; n < 25; n++) {
            cr_assert_eq(t.grad[3][n], 0);
        }
        cr_assert_eq(t.grad[4][0], 0);
    }
    free(w);
    fini(&t);
}

/* dK sums to 0 over a sequence: adding one vector to all keys shifts every score of a
 * row alike, and changes nothing. */
Test(conv_attention_2d_laws, gradient_of_keys_sums_to_zero)
{
    const float b[H] = { 0.1f, -0.01f };
    float *w = test_random((int64_t)H * 9, 1, 51);
    bed t;
    make(&t, w, b, 3, 13);
    for (int i = 0; i < 2; i++) {
        run(&t, schedules[i], CLA_TANH);
        for (int c = 0; c < H * D; c++) {
            double first = 0, second = 0;
            for (int n = 0; n < t.N; n++) {
                *(n < 13 ? &first : &second) += (double)t.grad[1][n * H * D + c];
            }
            cr_assert(fabs(first) < 1e-5 && fabs(second) < 1e-5, "dK sums to %g and %g",
                      first, second);
        }
    }
    free(w);
    fini(&t);
}

/* Without an activation the result is linear in the filter and the bias. */
Test(conv_attention_2d_laws, linear_without_activation)
{
    const float b[H] = { 0.5f, -0.25f };
    float *w = test_random((int64_t)H * 9, 1, 52), twice[H * 9], b_twice[H];
    for (int i = 0; i < H * 9; i++) {
        twice[i] = -2 * w[i];
    }
    for (int i = 0; i < H; i++) {
        b_twice[i] = -2 * b[i];
    }
    bed t;
    make(&t, w, b, 3, 13);
    for (int i = 0; i < 2; i++) {
        double want[16 * H * D];
        TEST_OK(cla_tensor_upload(t.w, w));
        TEST_OK(cla_tensor_upload(t.b, b));
        run(&t, schedules[i], CLA_NONE);
        for (int n = 0; n < t.N * H * D; n++) {
            want[n] = -2 * (double)t.o[n];
        }
        TEST_OK(cla_tensor_upload(t.w, twice));
        TEST_OK(cla_tensor_upload(t.b, b_twice));
        run(&t, schedules[i], CLA_NONE);
        check_close("twice the filter", t.o, want, (int64_t)t.N * H * D, 0);
    }
    free(w);
    fini(&t);
}

/* ---- launches ------------------------------------------------------------------ */

/* Four maps of a megabyte: all, some or rows of them at once, in the memory to spare, a
 * sixteenth, or less where tensors fill the device. */
Test(conv_attention_2d_laws, memory_decides_the_launches)
{
    static const struct {
        const char *as;
        size_t spare;
        int least, most;
        int64_t full;
    } cases[] = { { "", (size_t)1 << 30, 9, 9, 0 },
                  { "memory_bytes=134217728", 8 << 20, 13, 13, 0 },
                  { "memory_bytes=134217728", 8 << 20, 25, 25, 122 << 18 },
                  { "memory_bytes=33554432", 2 << 20, 60, 250, 0 } };
    char folder[] = "/tmp/clattn-test-XXXXXX", command[64];
    const float w[H * 9] = { 1 }, b[H] = { 0 };
    cr_assert_not_null(mkdtemp(folder));
    setenv("CLATTN_RECORD", folder, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bed t;
        int count = 0, launches = 0;
        setenv("CLATTN_RECORD_AS", cases[i].as, 1);
        make(&t, w, b, 3, 512);
        cla_tensor *full = NULL;
        TEST_OK(cla_tensor_new(&full, t.rt, CLA_F32, 1, &cases[i].full));
        const uint64_t before = cla_runtime_peak_bytes(t.rt);
        cla_profile_enable(t.rt, true);
        run(&t, CLA_SCHEDULE_GROUP, CLA_RELU);
        const cla_profile_row *rows = cla_profile_rows(t.rt, &count);
        for (int n = 0; n < count; n++) {
            launches += strncmp(rows[n].kernel, "conv_", 5) ? 0 : (int)rows[n].launches;
        }
        cr_assert(launches >= cases[i].least && launches <= cases[i].most,
                  "case %d: %d launches", (int)i, launches);
        cr_assert_leq(cla_runtime_peak_bytes(t.rt) - before, 2 * cases[i].spare);
        cla_tensor_free(&full);
        fini(&t);
    }
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_assert_eq(system(command), 0);
}

/* ---- known answer -------------------------------------------------------------- */

/* Returns F(shape, s)[k] = sin(0.9 k + 0.37 s). */
static double fill(int k, int s)
{
    return sin(0.9 * k + 0.37 * s);
}

/* Computes gamma times x [5,4] w [4,3]. */
static void project(float *y, int s, double gamma)
{
    for (int i = 0; i < 5; i++) {
        for (int c = 0; c < 3; c++) {
            double sum = 0;
            for (int e = 0; e < 4; e++) {
                sum += fill(i * 4 + e, 1) * fill(e * 3 + c, s);
            }
            y[i * 3 + c] = (float)(gamma * sum);
        }
    }
}

/* Compares with an independent transcription of the equations in Python. */
Test(conv_attention_2d_laws, known_answer)
{
    static const double want[15] = { 0.047957855,  0.049963712,  0.014158029, 0, 0, 0,
                                     0.08612652,   0.10744394,   0.047449935, 0, 0, 0,
                                     0.0040105939, 0.0050032677, 0.0022095682 };
    const int length = 5;
    float q[15], k[15], v[15], w[9];
    const float b = 0.05f;
    const int64_t shape[] = { 5, 1, 3 }, filter[] = { 1, 3, 3 };
    project(q, 2, 1.1);
    project(k, 3, 0.9);
    project(v, 4, 1.2);
    for (int i = 0; i < 9; i++) {
        w[i] = (float)fill(i, 9);
    }
    cla_runtime *rt = test_runtime();
    cla_ragged *rows = test_ragged(rt, 1, &length, NULL);
    cla_tensor *x[] = { upload(rt, 3, shape, q), upload(rt, 3, shape, k),
                        upload(rt, 3, shape, v), upload(rt, 3, filter, w),
                        upload(rt, 1, filter, &b) };
    cla_tape *tape = test_tape(rt, false);
    for (int i = 0; i < 2; i++) {
        cla_tensor *o = NULL;
        cla_runtime_set_schedule(rt, schedules[i]);
        TEST_OK(cla_conv_attention_2d(tape, &o, x[0], x[1], x[2], x[3], x[4], rows,
                                      CLA_RELU, CLA_CONV_DIRECT, NULL));
        check_tensor("known answer", o, want, 15, 2e-6);
    }
    cla_tape_free(&tape);
    for (int i = 0; i < 5; i++) {
        cla_tensor_free(&x[i]);
    }
    cla_ragged_free(&rows);
    cla_runtime_free(&rt);
}
