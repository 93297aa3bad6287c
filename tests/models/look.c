/* look.c - the log of attention in levels: maps are distributions, agree with the
 * levels that were mixed, and logging changes nothing else. */
#include "models/look.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/match_lstm.h"
#include "models/poet.h"
#include "support/reader.h"

/* Checks that shares and rows of maps sum to 1: at most a few dozen floats. */
static void check_sums(const look_site *s, int levels, int rows, int columns)
{
    double shares = 0;
    cr_assert_eq(s->levels, levels, "%s: %d levels", s->name, s->levels);
    cr_assert_eq(s->columns, columns, "%s: %d columns", s->name, s->columns);
    for (int k = 0; k < levels; k++) {
        shares += (double)s->share[k];
        cr_assert_eq(s->map[k].rows, rows, "%s: %d rows", s->name, s->map[k].rows);
        for (int i = 0; i < rows; i++) {
            double sum = 0;
            for (int j = 0; j < columns; j++) {
                const float w = s->map[k].weight[i * columns + j];
                cr_assert_geq(w, 0);
                sum += (double)w;
            }
            cr_assert_float_eq(sum, 1, 2e-6, "%s level %d row %d: %.9g", s->name, k, i,
                               sum);
        }
    }
    cr_assert_float_eq(shares, 1, 2e-6, "%s: %.9g", s->name, shares);
}

static const look_site *site_of(const look_log *l, const char *name)
{
    for (int i = 0; i < l->sites; i++) {
        if (strcmp(l->site[i]->name, name) == 0) {
            return l->site[i];
        }
    }
    cr_assert_fail("no site %s", name);
    return NULL;
}

/* ---- the log itself -------------------------------------------------------------- */

static cla_tensor *make(cla_runtime *rt, int rank, const int64_t *shape, float scale,
                        uint32_t what)
{
    cla_tensor *x = NULL;
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, rank, shape));
    float *host = test_random(cla_tensor_size(x), scale, what);
    TEST_OK(cla_tensor_upload(x, host));
    free(host);
    return x;
}

/* Computes want, the sum over levels of share times map times k. */
static void mix(const look_site *s, const float *k, int d, double *want)
{
    for (int i = 0; i < s->map[0].rows; i++) {
        for (int e = 0; e < d; e++) {
            want[i * d + e] = 0;
            for (int l = 0; l < s->levels; l++) {
                for (int j = 0; j < s->columns; j++) {
                    want[i * d + e] += (double)s->share[l] *
                                       (double)s->map[l].weight[i * s->columns + j] *
                                       (double)k[j * d + e];
                }
            }
        }
    }
}

/* Maps and shares give the result of cla_ham_v, with four levels. */
Test(look, dots_are_the_levels_of_ham_v)
{
    enum { T = 5, S = 7, D = 6, DEPTH = 4 };
    const int queries = T, keys = S;
    cla_runtime *rt = NULL;
    cla_tape *tape = NULL;
    cla_tensor *out = NULL;
    look_log seen = { .sites = 0 };
    float host[S * D], got[T * D];
    double want[T * D];
    TEST_OK(cla_runtime_new(&rt, NULL));
    cla_tensor *q = make(rt, 2, (int64_t[]){ T, D }, 1, 1);
    cla_tensor *k = make(rt, 2, (int64_t[]){ S, D }, 1, 2);
    cla_tensor *c = make(rt, 1, (int64_t[]){ DEPTH }, 1, 3);
    cla_ragged *q_rows = test_ragged(rt, 1, &queries, NULL);
    cla_ragged *k_rows = test_ragged(rt, 1, &keys, NULL);
    const cla_ham_options options = { .scale = 0.7F };
    TEST_OK(cla_tape_new(&tape, rt, false));
    TEST_OK(cla_ham_v(tape, &out, q, k, c, q_rows, k_rows, &options));
    TEST_OK(cla_look_dots(&seen, "here", c, q, k, options.scale));
    check_sums(site_of(&seen, "here"), DEPTH, T, S);
    TEST_OK(cla_tensor_download(k, host));
    mix(seen.site[0], host, D, want);
    TEST_OK(cla_tensor_download(out, got));
    check_close("out", got, want, (int64_t)T * D, 2e-6);
    cla_look_free(&seen);
    cla_tape_free(&tape);
    cla_ragged_free(&q_rows);
    cla_ragged_free(&k_rows);
    cla_tensor_free(&q);
    cla_tensor_free(&k);
    cla_tensor_free(&c);
    cla_runtime_free(&rt);
}

Test(look, adds_turns_and_names_rows)
{
    static const float rows[2][6] = { { 0.5F, 0.5F, 0.25F, 0.75F, 1, 0 },
                                      { 0, 1, NAN, 0, 0, 0 } };
    static const float turned[8] = { 0, 1, 1, 0, 0.25F, 0.75F, 0.5F, 0.5F };
    static const char *const names[] = { "a", "b", "c", "d" };
    cla_runtime *rt = NULL;
    look_log seen = { .sites = 0 };
    TEST_OK(cla_runtime_new(&rt, NULL));
    cla_tensor *c = make(rt, 1, (int64_t[]){ 1 }, 1, 3);
    cla_tensor *w = make(rt, 1, (int64_t[]){ 6 }, 1, 3);
    cla_tensor *one = make(rt, 1, (int64_t[]){ 2 }, 1, 3);
    TEST_OK(cla_look_add(NULL, "here", c, 0, w, 2)); // inspection is off
    TEST_OK(cla_tensor_upload(w, rows[0]));
    TEST_OK(cla_tensor_upload(one, rows[1]));
    TEST_OK(cla_look_add(&seen, "here", c, 0, w, 2));
    TEST_OK(cla_look_add(&seen, "here", c, 0, one, 2));
    cla_look_turn(&seen, "elsewhere");
    cla_look_turn(&seen, "here");
    cr_assert_eq(seen.sites, 1);
    cr_assert_eq(seen.site[0]->map[0].rows, 4);
    cr_assert_arr_eq(seen.site[0]->map[0].weight, turned, sizeof turned);
    TEST_OK(cla_look_label(seen.site[0], names, names + 2));
    cr_assert_str_eq(seen.site[0]->row[3], "d");
    cr_assert_str_eq(seen.site[0]->column[1], "d");
    TEST_OK(cla_tensor_upload(w, rows[1]));
    TEST_FAILS(cla_look_add(&seen, "here", c, 0, w, 2), CLA_E_NUMERIC,
               "here: weights that are not finite");
    cla_look_free(&seen);
    cr_assert_eq(seen.sites, 0);
    cla_tensor_free(&c);
    cla_tensor_free(&w);
    cla_tensor_free(&one);
    cla_runtime_free(&rt);
}

/* ---- readers --------------------------------------------------------------------- */

enum { DEPTH = 3, Q = 4, P = 11 }; // the scene's first question and its passage

static void scores_of(scene *f, look_log *seen, float out[P])
{
    reader_scores scores;
    f->r.seen = seen;
    TEST_OK(cla_reader_score(&f->r, f->tape, &scores, &f->batch));
    TEST_OK(cla_tensor_download(scores.first, out));
    f->r.seen = NULL;
}

/* Returns the largest difference between the maps of two levels. */
static float apart(const look_site *s, int a, int b)
{
    float most = 0;
    for (int i = 0; i < s->map[a].rows * s->columns; i++) {
        most = fmaxf(most, fabsf(s->map[a].weight[i] - s->map[b].weight[i]));
    }
    return most;
}

typedef struct network {
    const char *name;
    const char *site[LOOK_SITES];
    int rows[LOOK_SITES], columns[LOOK_SITES];
    int form; // of reader_config
} network;

static void check_network(const network *n, look_log *seen)
{
    int sites = 0;
    for (; sites < LOOK_SITES && n->site[sites]; sites++) {
        const look_site *s = site_of(seen, n->site[sites]);
        check_sums(s, DEPTH, n->rows[sites], n->columns[sites]);
        cr_assert_gt(apart(s, 0, 1), 1e-5F, "%s: levels are the same", s->name);
    }
    cr_assert_eq(seen->sites, sites, "%s has %d sites", n->name, seen->sites);
}

Test(look, readers_show_each_level)
{
    static const network networks[] = {
        { "bidaf", { LOOK_C2Q, LOOK_Q2C }, { P, 1 }, { Q, P }, 0 },
        { "bidaf", { LOOK_C2Q, LOOK_Q2C }, { P, 1 }, { Q, P }, 1 },
        { "match_lstm", { "forward", "backward" }, { P, P }, { Q, Q }, 0 },
        { "r_net", { "forward", "backward", LOOK_SELF }, { P, P, P }, { Q, Q, P }, 0 },
    };
    static const int question_words = Q, passage_words = P;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        scene f;
        look_log seen = { .sites = 0 };
        float plain[P], looked_at[P];
        scene_open(&f, networks[i].name,
                   (reader_config){
                       .depth = DEPTH, .ham_q2c = true, .form = networks[i].form });
        cla_ragged *question = test_ragged(f.rt, 1, &question_words, NULL);
        cla_ragged *passage = test_ragged(f.rt, 1, &passage_words, NULL);
        f.batch.question_rows = question;
        f.batch.passage_rows = passage;
        scores_of(&f, NULL, plain);
        scores_of(&f, &seen, looked_at);
        cr_assert_arr_eq(plain, looked_at, sizeof plain, "looking changes scores");
        check_network(&networks[i], &seen);
        cla_look_free(&seen);
        cla_ragged_free(&question);
        cla_ragged_free(&passage);
        scene_close(&f);
    }
}

/* Rows of the backward direction are in the order of the words: with one set of
 * weights, a passage and its reverse give each word the same map. */
Test(look, rows_of_a_walk_back_stand_where_words_do)
{
    enum { WIDTH = 4 };
    scene f;
    look_log seen = { .sites = 0 };
    const int question_words = Q, passage_words = P;
    float turned[P * WIDTH];
    cla_tensor *states = NULL;
    scene_open(&f, "match_lstm", (reader_config){ .depth = DEPTH, .tie_dir = true });
    match_lstm *m = f.r.network;
    cla_ragged *question = test_ragged(f.rt, 1, &question_words, NULL);
    cla_ragged *passage = test_ragged(f.rt, 1, &passage_words, NULL);
    cla_tensor *x = make(f.rt, 2, (int64_t[]){ P, WIDTH }, 1, 1);
    cla_tensor *keys = make(f.rt, 2, (int64_t[]){ Q, WIDTH }, 1, 2);
    match_memory memory = { keys, keys, question, "forward" };
    float *host = test_random(P * WIDTH, 1, 1);
    f.r.seen = &seen;
    TEST_OK(cla_match_lstm_walk(m, f.tape, &states, &memory, x, passage, false));
    for (int i = 0; i < P; i++) {
        memcpy(turned + (P - 1 - i) * WIDTH, host + i * WIDTH, WIDTH * sizeof *host);
    }
    TEST_OK(cla_tensor_upload(x, turned));
    memory.site = "backward";
    TEST_OK(cla_match_lstm_walk(m, f.tape, &states, &memory, x, passage, true));
    cla_look_turn(&seen, "backward");
    for (int l = 0; l < DEPTH; l++) {
        const float *a = site_of(&seen, "forward")->map[l].weight;
        const float *b = site_of(&seen, "backward")->map[l].weight;
        for (int i = 0; i < P; i++) {
            cr_assert_arr_eq(a + i * Q, b + (P - 1 - i) * Q, Q * sizeof *a);
        }
    }
    free(host);
    cla_look_free(&seen);
    cla_tensor_free(&x);
    cla_tensor_free(&keys);
    cla_ragged_free(&question);
    cla_ragged_free(&passage);
    scene_close(&f);
}

/* The maps of cla_look_best give the result of cla_max_attention at the first level,
 * and of one level of cla_ham_v at each further one. */
Test(look, best_is_the_levels_of_max_attention)
{
    enum { S = 7, T = 4, D = 6 };
    const int rows = S, keys = T, single = 1;
    static const float even[2] = { 0, 0 };
    cla_runtime *rt = NULL;
    cla_tape *tape = NULL;
    cla_tensor *level[2] = { NULL }, *out = NULL;
    look_log seen = { .sites = 0 };
    float host[S * D], got[D];
    double want[D];
    TEST_OK(cla_runtime_new(&rt, NULL));
    cla_tensor *h = make(rt, 2, (int64_t[]){ S, D }, 1, 1);
    cla_tensor *u = make(rt, 2, (int64_t[]){ T, D }, 1, 2);
    cla_tensor *c = make(rt, 1, (int64_t[]){ 2 }, 1, 3);
    cla_tensor *one = make(rt, 1, (int64_t[]){ 1 }, 1, 3);
    cla_ragged *h_rows = test_ragged(rt, 1, &rows, NULL);
    cla_ragged *u_rows = test_ragged(rt, 1, &keys, NULL);
    cla_ragged *row = test_ragged(rt, 1, &single, NULL);
    const cla_ham_options unscaled = { .scale = 1 };
    TEST_OK(cla_tensor_upload(c, even));
    TEST_OK(cla_tape_new(&tape, rt, false));
    TEST_OK(cla_max_attention(tape, &level[0], h, u, h_rows, u_rows));
    TEST_OK(cla_ham_v(tape, &level[1], level[0], h, one, row, h_rows, &unscaled));
    TEST_OK(cla_mix_levels(tape, &out, level, c));
    TEST_OK(cla_look_best(&seen, "here", c, &(look_pool){ .x = h, .q = h, .k = u }));
    check_sums(site_of(&seen, "here"), 2, 1, S);
    TEST_OK(cla_tensor_download(h, host));
    TEST_OK(cla_tensor_download(out, got));
    mix(seen.site[0], host, D, want);
    check_close("out", got, want, D, 2e-6);
    cla_look_free(&seen);
    cla_tape_free(&tape);
    cla_tensor *const tensors[] = { h, u, c, one };
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
        cla_tensor *x = tensors[i];
        cla_tensor_free(&x);
    }
    cla_ragged_free(&h_rows);
    cla_ragged_free(&u_rows);
    cla_ragged_free(&row);
    cla_runtime_free(&rt);
}

/* ---- the poet -------------------------------------------------------------------- */

enum { V = 14, L = 5 };

static float line_loss(poet *m, cla_runtime *rt, const poet_batch *line, look_log *seen)
{
    cla_tape *tape = NULL;
    cla_tensor *loss = NULL;
    float value = 0;
    TEST_OK(cla_tape_new(&tape, rt, false));
    m->seen = seen;
    TEST_OK(cla_poet_loss(m, tape, &loss, line));
    m->seen = NULL;
    TEST_OK(cla_tensor_download(loss, &value));
    cla_tape_free(&tape);
    return value;
}

static void look_at_line(poet *m, cla_runtime *rt, int before)
{
    static const int32_t keyword[] = { 3, 4 }, keyword_at[] = { 0, 2 };
    static const int32_t context[] = { 3, 5, 7, 9, 11, 13, 12, 10, 8, 6 };
    static const int32_t line[L] = { 3, 9, 4, 8, 10 };
    const int32_t context_at[] = { 0, before };
    const poet_batch batch = { 1, L, keyword, keyword_at, context, context_at, line };
    look_log seen = { .sites = 0 };
    const float plain = line_loss(m, rt, &batch, NULL);
    const float same = line_loss(m, rt, &batch, &seen);
    cr_assert(memcmp(&plain, &same, sizeof plain) == 0, "%.9g and %.9g", (double)plain,
              (double)same);
    cr_assert_eq(seen.sites, 1);
    check_sums(seen.site[0], DEPTH, L, 1 + before);
    if (before) {
        cr_assert_gt(apart(seen.site[0], 0, 1), 1e-5F, "levels are the same");
    }
    cla_look_free(&seen);
}

/* The poet logs each level, with either score; a first line attends to its keyword
 * alone. */
Test(look, poet_shows_each_level)
{
    for (int score = 0; score < 2; score++) {
        const poet_config config = {
            .characters = V, .dim = 8, .hidden = 8, .depth = DEPTH, .score = score
        };
        cla_runtime *rt = NULL;
        cla_params params = { 0 };
        poet m;
        TEST_OK(cla_runtime_new(&rt, NULL));
        TEST_OK(cla_poet_init(&m, &config, &params));
        TEST_OK(cla_params_build(&params, rt, test_seed()));
        float *table = test_random(V * 8, 2, 0);
        TEST_OK(cla_tensor_upload(m.table, table));
        free(table);
        look_at_line(&m, rt, 0);
        look_at_line(&m, rt, 10);
        cla_params_free(&params);
        cla_runtime_free(&rt);
    }
}
