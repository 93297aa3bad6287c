/* custom_recipes.h - the modifiers of the test custom_attention. */
#pragma once

#include <math.h>
#include <stdlib.h>

#include "oracle/oracle.h"

enum { FLOATS = 3 };

/* A modifier, as an expression and as a function of the oracle. x[3] is the first of
 * its float inputs, which all want gradients. */
typedef struct recipe {
    const char *name, *score, *mask, *weight;
    struct {
        const char *name;
        int rank;
        int64_t shape[4]; // -1: H, -2: tokens of the queries
        float scale, shift;
    } floats[FLOATS];
    oracle_modifier is;
    int window;
} recipe;

static double alibi(const oracle_pair *p, double *const *x)
{
    return p->s - x[3][p->h] * abs(p->j - p->i);
}

static double soft_cap(const oracle_pair *p, double *const *x)
{
    (void)x;
    return 2 * tanh(p->s / 2);
}

static int clip(int x, int low, int high)
{
    return x < low ? low : x > high ? high : x;
}

enum { REACH = 4 };

static double relative(const oracle_pair *p, double *const *x)
{
    return p->s +
           x[3][p->h * (2 * REACH + 1) + clip(p->j - p->i, -REACH, REACH) + REACH];
}

static double temperature(const oracle_pair *p, double *const *x)
{
    return p->s * x[3][p->h] + x[4][(p->ni % 5) * 2 + p->h % 2] * exp(-p->s * p->s);
}

static const recipe ALIBI = {
    .name = "alibi",
    .score = "s - slope[h] * abs(j - i)",
    .floats = { { "slope", 1, { -1 }, .scale = 0.2f, .shift = 0.4f } },
    .is = { .score = alibi },
};
static const recipe SOFT_CAP = { .name = "soft cap",
                                 .score = "2 * tanh(s / 2)",
                                 .is = { .score = soft_cap } };
static const recipe RELATIVE = {
    .name = "relative",
    .score = "s + table[h][clip(j - i, -4, 4) + 4]",
    .floats = { { "table", 2, { -1, 2 * REACH + 1 } } },
    .is = { .score = relative },
};
static const recipe TEMPERATURE = {
    .name = "temperature and bumps",
    .score = "s * heat[h] + bump[ni % 5][h % 2] * exp(-s * s)",
    .floats = { { "heat", 1, { -1 }, .scale = 0.2f, .shift = 1 },
                { "bump", 2, { 5, 2 }, .scale = 0.5f } },
    .is = { .score = temperature },
};

static bool dilated(const oracle_pair *p, double *const *x)
{
    (void)x;
    return abs(p->i - p->j) % 3 == 0;
}

enum { OWN_HEADS = 2, OWN_TOKENS = 44 }; // of the cases of the next two

static double bells(const oracle_pair *p, double *const *x)
{
    const int at = p->ni * OWN_HEADS + p->h;
    const double apart = (p->j - x[3][at]) / x[4][at];
    return p->s - 0.5 * apart * apart + 0.1 * x[5][p->i % 7];
}

static double heats(const oracle_pair *p, double *const *x)
{
    const double heat = x[3][p->h * OWN_TOKENS + p->ni];
    return p->s * heat * heat + x[4][p->ni * OWN_HEADS + p->h] * p->j;
}

static const recipe BELLS = {
    .name = "a bell for each query and head",
    .score = "s - ((j - center[ni][h]) / width[ni][h]) * ((j - center[ni][h]) /"
             " width[ni][h]) / 2 + 0.1 * lift[i % 7]",
    .floats = { { "center", 2, { -2, -1 }, .scale = 5, .shift = 10 },
                { "width", 2, { -2, -1 }, .shift = 6 },
                { "lift", 1, { 7 } } },
    .is = { .score = bells },
};
static const recipe HEATS = {
    .name = "a temperature for each query and head",
    .score = "s * heat[h][ni] * heat[h][ni] + slope[ni][h] * j",
    .mask = "abs(i - j) % 3 == 0",
    .floats = { { "heat", 2, { -1, -2 }, .scale = 0.2f, .shift = 1 },
                { "slope", 2, { -2, -1 }, .scale = 0.1f } },
    .is = { .score = heats, .mask = dilated },
};

static bool same_document(const oracle_pair *p, double *const *x)
{
    (void)x;
    return p->i / 20 == p->j / 20 && p->b < 5 && (p->h == 0 || p->j <= p->i);
}

static bool positive(const oracle_pair *p, double *const *x)
{
    (void)x;
    return p->s > 0 || p->i == p->j;
}

static double far_and_capped(const oracle_pair *p, double *const *x)
{
    (void)x;
    return 2 * tanh(p->s / 2) - 0.1 * (p->b + 1) * abs(p->j - p->i);
}

static bool some_of_late(const oracle_pair *p, double *const *x)
{
    (void)x;
    return (p->i + p->j) % 3 != p->b % 2 && p->i > 2;
}

static const recipe NARROW = {
    .name = "in a narrow window", // queries 0 to 2 have no keys
    .score = "2 * tanh(s / 2) - 0.1 * (b + 1) * abs(j - i)",
    .mask = "(i + j) % 3 != b % 2 && i > 2 && S == T && nj >= j",
    .is = { far_and_capped, some_of_late },
    .window = 9,
};
static const recipe WIDE = { .name = "in a wide window",
                             .score = "2 * tanh(s / 2) - 0.1 * (b + 1) * abs(j - i)",
                             .is = { .score = far_and_capped },
                             .window = 71 };
static const recipe WINDOW = { .name = "window", .window = 7 };
static const recipe DILATED = {
    .name = "dilated in a window",
    .score = "s - slope[h] * abs(j - i)",
    .mask = "abs(i - j) % 3 == 0",
    .floats = { { "slope", 1, { -1 }, .scale = 0.2f, .shift = 0.4f } },
    .is = { alibi, dilated },
    .window = 21,
};
static const recipe DOCUMENTS = {
    .name = "documents",
    .mask = "int(i / 20) == int(j / 20) && (T > 0 ? b < 5 : i < j)"
            "&& (h == 0 || j <= i)",
    .is = { .mask = same_document },
};
static const recipe POSITIVE = { .name = "positive",
                                 .mask = "s > 0 || i == j",
                                 .is = { .mask = positive } };

static double gated(double w, const oracle_pair *p, double *const *x)
{
    return w * x[3][p->h] / (1 + 0.1 * abs(p->i - p->j));
}

static double squared(double w, const oracle_pair *p, double *const *x)
{
    return w * w * x[4][p->nj % 7] + 0.1 * x[3][p->h];
}

static const recipe GATES = {
    .name = "gates",
    .weight = "w * gate[h] / (1 + 0.1 * abs(i - j))",
    .floats = { { "gate", 1, { -1 }, .shift = 1 } },
    .is = { .weight = gated },
};
static const recipe SQUARES = {
    .name = "squares",
    .score = "2 * tanh(s / 2)",
    .mask = "abs(i - j) % 3 == 0",
    .weight = "w * w * gain[nj % 7] + 0.1 * gate[h]",
    .floats = { { "gate", 1, { -1 }, .shift = 1 }, { "gain", 1, { 7 } } },
    .is = { soft_cap, dilated, squared },
};
