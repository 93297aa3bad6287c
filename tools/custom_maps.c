/* custom_maps.c - draws the maps of the recipes of docs/custom.md.
 *
 * usage: custom_maps FILE.svg
 *
 * One head over 16 tokens; all recipes see the same queries and keys. */
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "clattn/custom.h"
#include "cli/svg.h"

enum { TOKENS = 16, WIDTH = 8, RECIPES = 12, ROW = 4 };

/* A recipe with the numbers that show it at this size. */
typedef struct recipe {
    const char *name;
    cla_attention_mod mod;
    int count, dim[2]; // of the numbers of its input; 0: none
    float number[16];  // i32 where whole
    bool whole;
    float loud; // factor of the scores; 0: 1
} recipe;

static const recipe LIST[RECIPES] = {
    { "ALiBi", { .score = "s - x[h] * abs(j - i)" }, 1, { 1 }, { 0.4f }, false, 0 },
    { "T5 buckets",
      { .score = "s + x[h][int(abs(j - i) / 2) + (j > i ? 5 : 0)]" },
      2,
      { 1, 13 },
      { 1, 2, 0, -1, -2, 1, 0.5f, -1, -2, 0, 1, 2, 3 },
      false,
      0 },
    { "soft cap (3)", { .score = "3 * tanh(s / 3)" }, 0, { 0 }, { 0 }, false, 6 },
    { "sliding window", { .window = 5 }, 0, { 0 }, { 0 }, false, 0 },
    { "dilated window",
      { .mask = "abs(i - j) % 2 == 0", .window = 9 },
      0,
      { 0 },
      { 0 },
      false,
      0 },
    { "prefix", { .mask = "j <= i || j < x[b]" }, 1, { 1 }, { 5 }, true, 0 },
    { "documents in a row",
      { .mask = "x[ni] == x[nj]" },
      1,
      { TOKENS },
      { 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3 },
      true,
      0 },
    { "relative Gaussian",
      { .score = "s - (j - i) * (j - i) / (2 * x[h] * x[h])" },
      1,
      { 1 },
      { 2 },
      false,
      0 },
    { "head gates (0.5)", { .weight = "w * x[h]" }, 1, { 1 }, { 0.5f }, false, 0 },
    { "temperature (4)", { .score = "s * x[h]" }, 1, { 1 }, { 4 }, false, 0 },
    { "distance decay",
      { .weight = "w * exp(-x[h] * abs(j - i))" },
      1,
      { 1 },
      { 0.3f },
      false,
      0 },
    { "block diagonal",
      { .mask = "int(i / 4) == int(j / 4)" },
      0,
      { 0 },
      { 0 },
      false,
      0 },
};

static cla_status take_input(cla_tensor **x, cla_runtime *rt, const recipe *r)
{
    const int64_t shape[] = { r->dim[0], r->dim[1] };
    int32_t whole[16];
    for (int n = 0; n < 16; n++) {
        whole[n] = (int32_t)r->number[n];
    }
    CLA_TRY(cla_tensor_new(x, rt, r->whole ? CLA_I32 : CLA_F32, r->count, shape));
    return cla_tensor_upload(*x, r->whole ? (const void *)whole : r->number);
}

/* Random numbers that do not change. */
static void fill(float *x, int count, unsigned state, float scale)
{
    for (int n = 0; n < count; n++) {
        state = state * 1664525u + 1013904223u;
        x[n] = scale * ((float)(state >> 8) * 0x1p-23f - 1);
    }
}

static cla_status run(cla_tape *tape, cla_tensor **map, const recipe *r,
                      const cla_ragged *rows, cla_tensor *const qk[2])
{
    cla_runtime *rt = cla_tape_runtime(tape);
    cla_tensor *x = NULL, *o = NULL;
    cla_attention_mod mod = r->mod;
    const cla_attention_options options = { .map = map };
    if (r->count) {
        CLA_TRY(take_input(&x, rt, r));
        mod.inputs[0] = (cla_custom_input){ "x", x };
    }
    float q[TOKENS * WIDTH];
    fill(q, TOKENS * WIDTH, 7, r->loud > 0 ? 2 * r->loud : 2);
    cla_status status = cla_tensor_upload(qk[0], q);
    status = status ? status
                    : cla_custom_attention(tape, &o, qk[0], qk[1], qk[1], rows, rows,
                                           &mod, &options);
    cla_tensor_free(&x);
    return status;
}

static float largest(const float *x)
{
    float top = 0;
    for (int n = 0; n < TOKENS * TOKENS; n++) {
        top = x[n] > top ? x[n] : top;
    }
    return top;
}

static cla_status make_maps(cla_runtime *rt, float weight[RECIPES][TOKENS * TOKENS])
{
    static const int32_t offsets[] = { 0, TOKENS };
    const int64_t shape[] = { TOKENS, 1, WIDTH };
    float k[TOKENS * WIDTH];
    cla_tensor *qk[2] = { NULL };
    cla_ragged *rows = NULL;
    cla_tape *tape = NULL;
    fill(k, TOKENS * WIDTH, 11, 1);
    cla_status status = cla_tape_new(&tape, rt, false);
    status = status ? status : cla_ragged_new(&rows, rt, 1, offsets);
    for (int n = 0; n < 2 && !status; n++) {
        status = cla_tensor_new(&qk[n], rt, CLA_F32, 3, shape);
    }
    status = status ? status : cla_tensor_upload(qk[1], k);
    for (int n = 0; n < RECIPES && !status; n++) {
        cla_tensor *map = NULL;
        status = run(tape, &map, &LIST[n], rows, qk);
        status = status ? status : cla_tensor_download(map, weight[n]);
    }
    cla_tensor_free(&qk[0]);
    cla_tensor_free(&qk[1]);
    cla_ragged_free(&rows);
    cla_tape_free(&tape);
    return status;
}

static cla_status draw(const char *path, float weight[RECIPES][TOKENS * TOKENS])
{
    static char label[TOKENS][16];
    const char *labels[TOKENS], *name[RECIPES];
    const float *maps[RECIPES];
    float top[RECIPES];
    svg_grids grids[RECIPES / ROW];
    cla_text out = { 0 };
    for (int n = 0; n < TOKENS; n++) {
        snprintf(label[n], sizeof label[n], "%d", n);
        labels[n] = label[n];
    }
    for (int n = 0; n < RECIPES; n++) {
        name[n] = LIST[n].name;
        maps[n] = weight[n];
        top[n] = largest(weight[n]) * (n == 8 ? 2 : 1); // gates: half as dark
    }
    for (int n = 0; n < RECIPES / ROW; n++) {
        grids[n] = (svg_grids){ ROW,    TOKENS,         TOKENS,         labels,
                                labels, name + n * ROW, maps + n * ROW, top + n * ROW };
    }
    cla_status status = cli_svg_grids(&out, grids, RECIPES / ROW, "custom attention",
                                      "queries are rows, keys are columns");
    status = status ? status : cla_file_write(path, out.data, out.size);
    cla_text_free(&out);
    return status;
}

int main(int argc, char **argv)
{
    static float weight[RECIPES][TOKENS * TOKENS];
    cla_runtime *rt = NULL;
    if (argc != 2) {
        fprintf(stderr, "usage: %s FILE.svg\n", argv[0]);
        return 2;
    }
    cla_status status = cla_runtime_new(&rt, NULL);
    status = status ? status : make_maps(rt, weight);
    status = status ? status : draw(argv[1], weight);
    if (status) {
        fprintf(stderr, "custom_maps: %s\n", cla_error());
    }
    cla_runtime_free(&rt);
    return status ? 1 : 0;
}
