/* r_net_chars.c - words from their characters, as in R-NET. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/r_net.h"
#include "oracle/oracle.h"
#include "support/reader.h"

enum { CHARS = 11, DIM = 3, WIDTH = 5, SPELT = 6, LETTERS = 20, GRU = 0, SRU = 1 };
static const int lengths[SPELT] = { 2, 7, 1, 1, 5, 4 };

/* A scene with spelt words: the spellings, and the spelling of each word. */
typedef struct spelling {
    scene scene;
    cla_ragged *rows;
    int32_t *ends; // [SPELT+1]
    int32_t id[LETTERS], question[SCENE_QUESTIONS], passage[SCENE_PASSAGES];
} spelling;

static void open_spelling(spelling *s, int cell)
{
    const reader_config config = {
        .chars = CHARS, .char_dim = DIM, .char_width = WIDTH, .depth = 2, .cell = cell
    };
    scene_open(&s->scene, "r_net", config);
    s->rows = test_ragged(s->scene.rt, SPELT, lengths, &s->ends);
    for (int i = 0; i < LETTERS; i++) {
        s->id[i] = (5 * i + i / 4) % CHARS;
    }
    for (int i = 0; i < SCENE_PASSAGES; i++) {
        s->question[i % SCENE_QUESTIONS] = (2 * (i % SCENE_QUESTIONS) + 1) % SPELT;
        s->passage[i] = (5 * i + i / 3) % SPELT;
    }
    s->scene.batch.chars = (reader_chars){ s->rows, s->id, s->question, s->passage };
    float *table = test_random(CHARS * DIM, 1, 1); // far enough apart
    TEST_OK(cla_tensor_upload(s->scene.r.chars, table));
    free(table);
}

static void close_spelling(spelling *s)
{
    cla_ragged_free(&s->rows);
    free(s->ends);
    scene_close(&s->scene);
}

/* ---- against the definition ------------------------------------------------------ */

static double *wide(const cla_tensor *x)
{
    const size_t n = (size_t)cla_tensor_size(x);
    float *narrow = calloc(n, sizeof *narrow);
    double *out = calloc(n, sizeof *out);
    TEST_OK(cla_tensor_download(x, narrow));
    for (size_t i = 0; i < n; i++) {
        out[i] = (double)narrow[i];
    }
    free(narrow);
    return out;
}

/* Writes the last states [SPELT,WIDTH] of a direction to its half of want
 * [SPELT,2*WIDTH]. */
static void walk_oracle(const spelling *s, const double *x, int way, double *want)
{
    const recurrent *layer = &((const r_net *)s->scene.r.network)->chars;
    const recurrent_way *w = &layer->way[way];
    const bool gru = layer->kind == RECURRENT_GRU;
    double y[LETTERS * WIDTH], last[SPELT * WIDTH];
    double *gates = wide(w->w), *bias = wide(w->b), *other = wide(w->w_c);
    double *own = gru ? wide(w->b_c) : NULL;
    const oracle_cell cell = { .B = SPELT,
                               .in = DIM,
                               .n = WIDTH,
                               .offsets = s->ends,
                               .reverse = way,
                               .w = gru ? gates : other,
                               .b = gru ? bias : NULL,
                               .w_c = gru ? other : gates,
                               .b_c = gru ? own : bias };
    (gru ? oracle_gru : oracle_sru)(y, last, x, NULL, &cell);
    for (int i = 0; i < SPELT; i++) {
        memcpy(want + (2 * i + way) * WIDTH, last + i * WIDTH, WIDTH * sizeof *want);
    }
    free(gates);
    free(bias);
    free(other);
    free(own);
}

/* Seven steps of cells of numbers below one, each product rounded: 1e-6. */
static void compare_spelling(int cell)
{
    spelling s;
    float got[SPELT * 2 * WIDTH];
    double want[SPELT * 2 * WIDTH], x[LETTERS * DIM];
    cla_tensor *ids = NULL, *letters = NULL, *spelt = NULL;
    open_spelling(&s, cell);
    scene *f = &s.scene;
    TEST_OK(cla_tape_ids(f->tape, &ids, LETTERS, s.id));
    TEST_OK(cla_embedding(f->tape, &letters, f->r.chars, ids, 1));
    TEST_OK(f->r.kind->spell(&f->r, f->tape, &spelt, letters, s.rows));
    cr_assert(spelt->shape[0] == SPELT && spelt->shape[1] == 2 * WIDTH);
    TEST_OK(cla_tensor_download(spelt, got));
    double *table = wide(f->r.chars);
    for (int i = 0; i < LETTERS; i++) {
        memcpy(x + i * DIM, table + s.id[i] * DIM, DIM * sizeof *x);
    }
    walk_oracle(&s, x, 0, want);
    walk_oracle(&s, x, 1, want);
    check_close(cell == GRU ? "gru" : "sru", got, want, (int64_t)SPELT * 2 * WIDTH,
                1e-6);
    free(table);
    close_spelling(&s);
}

Test(r_net_chars, last_states_of_both_directions)
{
    compare_spelling(GRU);
    compare_spelling(SRU);
}

/* ---- gradients ------------------------------------------------------------------- */

Test(r_net_chars, gradients_match_finite_differences)
{
    for (int cell = GRU; cell <= SRU; cell++) {
        spelling s;
        open_spelling(&s, cell);
        scene_check_gradient(&s.scene);
        close_spelling(&s);
    }
}

/* ---- batches --------------------------------------------------------------------- */

/* Other characters make other words; a batch without characters is an error. */
Test(r_net_chars, refuses_a_batch_without_characters)
{
    float all[2][SCENE_PASSAGES], other[2][SCENE_PASSAGES];
    reader_scores scores;
    spelling s;
    open_spelling(&s, GRU);
    scene_logs(&s.scene, &s.scene.batch, all);
    s.passage[0] = (s.passage[0] + 1) % SPELT;
    scene_logs(&s.scene, &s.scene.batch, other);
    cr_assert_float_neq(all[0][0], other[0][0], 1e-6F);
    s.scene.batch.chars.rows = NULL;
    TEST_FAILS(cla_reader_score(&s.scene.r, s.scene.tape, &scores, &s.scene.batch),
               CLA_E_USAGE, "without characters");
    close_spelling(&s);
}
