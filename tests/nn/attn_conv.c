/* attn_conv.c - the convolved maps that the host shows, against the weights that the
 * device gives the values. */
#include <stdlib.h>

#include "support/way.h"

enum { B = 2, H = 2, WIDTH = 9, D = H * WIDTH, T = 8, TOKENS = T + 5, FILTER = 11 };
static const int lengths[B] = { T, 5 };

/* Gives each token of a sequence a value of its own, a column of the identity matrix:
 * the result of a query is then its row of the map. */
static void mark_values(float *qkv)
{
    for (int token = 0; token < TOKENS; token++) {
        for (int at = 0; at < D; at++) {
            const int place = token < T ? token : token - T;
            qkv[token * 3 * D + 2 * D + at] = at % WIDTH == place;
        }
    }
}

static void check_shown(way_case *w, const float *o, const float *map, int b, int h)
{
    const int length = lengths[b], first = b ? T : 0;
    float p[T * T], shown[T * T];
    for (int i = 0; i < length; i++) {
        for (int j = 0; j < length; j++) {
            p[i * length + j] = map[((b * H + h) * T + i) * T + j];
        }
    }
    TEST_OK(w->layer.config.way->show(&w->layer, p, h, length, shown));
    for (int i = 0; i < length; i++) {
        for (int j = 0; j < length; j++) {
            cr_assert_float_eq(shown[i * length + j],
                               o[((first + i) * H + h) * WIDTH + j], 1e-5);
        }
    }
}

static void check(cla_runtime *rt, const char *const *keys)
{
    static float o[TOKENS * D], map[B * H * T * T];
    way_case w;
    cla_tape *tape = test_tape(rt, false);
    cla_tensor *qkv = NULL, *y = NULL, *p = NULL;
    float *random = test_random((int64_t)TOKENS * 3 * D, 1, 5);
    mark_values(random);
    way_open_tied(&w, H, WIDTH, FILTER, keys);
    way_rows(&w, rt, B, lengths);
    TEST_OK(cla_params_build(&w.params, rt, 3));
    TEST_OK(cla_tensor_fill(w.params.list[1].tensor, 0.25f)); // the biases
    w.map = &p;
    TEST_OK(cla_tensor_new(&qkv, rt, CLA_F32, 2, (int64_t[]){ TOKENS, 3 * D }));
    TEST_OK(cla_tensor_upload(qkv, random));
    TEST_OK(way_attend(&w, tape, &y, qkv));
    TEST_OK(cla_tensor_download(y, o));
    TEST_OK(cla_tensor_download(p, map));
    for (int at = 0; at < B * H; at++) {
        check_shown(&w, o, map, at / H, at % H);
    }
    cla_tape_free(&tape);
    cla_tensor_free(&qkv);
    way_close(&w);
    free(random);
}

DEVICE_TEST(attn_conv, shows_the_map_that_weights_the_values)
{
    cla_memory_guard(rt, false); // parameters are parts of a block
    check(rt, (const char *const[]){ "attention=conv", NULL });
    check(rt, (const char *const[]){ "attention=conv2d", NULL });
    check(rt, (const char *const[]){ "attention=conv2d", "map_filter=1", NULL });
    check(rt, (const char *const[]){ "attention=conv2d", "map_filter=7",
                                     "map_activation=tanh", NULL });
}
