/* way.c - a fixture: one kind of attention, chosen by settings, and its batch. */
#include "support/way.h"

#include <stdlib.h>

void way_settings(cla_config *s, const char *const *assignments)
{
    *s = (cla_config){ .values = json_object(), .known = json_object() };
    TEST_OK(cla_strdup(&s->path, "test"));
    for (; *assignments; assignments++) {
        TEST_OK(cla_config_set(s, *assignments));
    }
}

void way_open(way_case *w, int heads, int width, const char *const *keys)
{
    way_open_tied(w, heads, width, 0, keys);
}

void way_open_tied(way_case *w, int heads, int width, int length,
                   const char *const *keys)
{
    *w = (way_case){ .layer.config = { .model = heads * width,
                                       .heads = heads,
                                       .width = width,
                                       .length = length } };
    attn_config *c = &w->layer.config;
    way_settings(&w->settings, keys);
    TEST_OK(cla_attn_configure(c, &w->settings));
    TEST_OK(cla_config_check(&w->settings));
    TEST_OK(c->way->init ? c->way->init(&w->layer, &w->params, "layer") : CLA_OK);
}

void way_rows(way_case *w, cla_runtime *rt, int sequences, const int *lengths)
{
    w->rows = test_ragged(rt, sequences, lengths, &w->offsets);
}

void way_close(way_case *w)
{
    cla_params_free(&w->params);
    cla_config_fini(&w->settings);
    cla_ragged_free(&w->rows);
    free(w->offsets);
}

void way_finish(way_case *w, cla_tape *tape, cla_tensor **x, int n, float *o)
{
    cla_tensor *y = NULL;
    TEST_OK(way_device(tape, &y, x, w));
    TEST_OK(cla_tensor_download(y, o));
    cla_tape_free(&tape);
    for (int i = 0; i < n; i++) {
        cla_tensor_free(&x[i]);
    }
    way_close(w);
}

cla_status way_attend(way_case *w, cla_tape *tape, cla_tensor **o, cla_tensor *qkv)
{
    const attn_config *c = &w->layer.config;
    const int64_t H = c->heads, d = c->width;
    attn_input in = { .q_rows = w->rows,
                      .k_rows = w->rows,
                      .options = { .map = w->map } };
    CLA_TRY(cla_tensor_columns(tape, &in.q, qkv, 0, H, d));
    CLA_TRY(cla_tensor_columns(tape, &in.k, qkv, H * d, H, d));
    CLA_TRY(cla_tensor_columns(tape, &in.v, qkv, 2 * H * d, H, d));
    return c->way->forward(&w->layer, tape, o, &in);
}

cla_status way_device(cla_tape *tape, cla_tensor **o, cla_tensor **x, void *context)
{
    way_case *w = context;
    for (size_t i = 0; i < w->params.count; i++) {
        *w->params.list[i].home = x[1 + i];
    }
    return way_attend(w, tape, o, x[0]);
}

double *way_split(const double *qkv, int N, int D)
{
    double *x = calloc((size_t)3 * (size_t)N * (size_t)D + 1, sizeof *x);
    cr_assert_not_null(x);
    for (int n = 0; n < N; n++) {
        for (int c = 0; c < 3 * D; c++) {
            x[(c / D * N + n) * D + c % D] = qkv[n * 3 * D + c];
        }
    }
    return x;
}
