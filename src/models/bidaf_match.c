/* bidaf_match.c - attention between passage and question in both directions. */
#include "clattn/ham.h"
#include "clattn/ops.h"
#include "models/bidaf.h"
#include "tensor/tensor.h"

cla_status cla_bidaf_equal_parts(cla_tape *tape, cla_tensor **c, int64_t n)
{
    CLA_TRY(cla_tape_tensor(tape, c, CLA_F32, 1, &n));
    return cla_tensor_fill(*c, 0);
}

cla_status cla_bidaf_spread(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                            const cla_ragged *rows)
{
    cla_tensor *ids = NULL;
    int32_t *sequence = NULL;
    CLA_TRY(cla_alloc(&sequence, (size_t)rows->tokens + 1, sizeof *sequence));
    for (int32_t b = 0; b < rows->sequences; b++) {
        for (int32_t i = rows->offsets[b]; i < rows->offsets[b + 1]; i++) {
            sequence[i] = x->shape[0] == 1 ? 0 : b;
        }
    }
    const cla_status status = cla_tape_ids(tape, &ids, rows->tokens, sequence);
    free(sequence);
    CLA_TRY(status);
    return cla_embedding(tape, y, x, ids, 1);
}

/* Lists the copies of the questions: their offsets [P+1], and for each row the row of
 * the question that it copies. */
static void copy_rows(const reader_batch *b, int32_t *offsets, int32_t *ids)
{
    int32_t n = 0;
    offsets[0] = 0;
    for (int64_t p = 0; p < b->passage_rows->sequences; p++) {
        const int32_t *range = b->question_rows->offsets + b->asker[p];
        for (int32_t i = range[0]; i < range[1]; i++) {
            ids[n++] = i;
        }
        offsets[p + 1] = n;
    }
}

cla_status cla_bidaf_question_of(cla_tape *tape, cla_tensor **out,
                                 const cla_ragged **rows, cla_tensor *u,
                                 const reader_batch *b)
{
    const int64_t P = b->passage_rows->sequences;
    const size_t most = (size_t)(P * b->question_rows->longest);
    cla_tensor *ids = NULL;
    cla_ragged *copies = NULL;
    int32_t *offsets = NULL;
    *out = u;
    *rows = b->question_rows;
    if (!b->asked_rows) {
        return CLA_OK;
    }
    CLA_TRY(cla_alloc(&offsets, (size_t)P + 1 + most, sizeof *offsets));
    copy_rows(b, offsets, offsets + P + 1);
    cla_status status = cla_ragged_new(&copies, cla_tape_runtime(tape), P, offsets);
    if (!status) {
        cla_tape_keep(tape, copies);
        *rows = copies;
        status = cla_tape_ids(tape, &ids, offsets[P], offsets + P + 1);
    }
    free(offsets);
    CLA_TRY(status);
    return cla_embedding(tape, out, u, ids, 1);
}

/* Mixes g with further levels, each of which attends to the passage with the previous
 * level as its query. */
static cla_status ask_again(cla_tape *tape, cla_tensor **g, cla_tensor *passage,
                            cla_tensor *levels, const cla_ragged *rows)
{
    const cla_ham_options unscaled = { .scale = 1 };
    const int64_t depth = levels->shape[0];
    const cla_ragged *single = NULL;
    cla_tensor *level[CLA_HAM_DEPTH] = { *g }, *one = NULL;
    CLA_TRY(cla_reader_single_rows(tape, &single, rows->sequences, rows->sequences));
    CLA_TRY(cla_bidaf_equal_parts(tape, &one, 1));
    for (int64_t k = 1; k < depth; k++) {
        CLA_TRY(cla_ham_v(tape, &level[k], level[k - 1], passage, one, single, rows,
                          &unscaled));
    }
    return cla_mix_levels(tape, g, level, levels);
}

/* Computes [H, B, H * B, H * g] from B (found) and g [P,d] (about). levels of g may be
 * NULL. */
static cla_status join(cla_tape *tape, cla_tensor **out, cla_tensor *passage,
                       cla_tensor *found, cla_tensor *about, cla_tensor *levels,
                       const cla_ragged *rows)
{
    cla_tensor *both = NULL, *left = NULL, *right = NULL;
    if (levels) {
        CLA_TRY(ask_again(tape, &about, passage, levels, rows));
    }
    CLA_TRY(cla_bidaf_spread(tape, &about, about, rows));
    CLA_TRY(cla_multiply(tape, &both, passage, found));
    CLA_TRY(cla_multiply(tape, &about, passage, about));
    CLA_TRY(cla_concat(tape, &left, passage, found));
    CLA_TRY(cla_concat(tape, &right, both, about));
    return cla_concat(tape, out, left, right);
}

cla_status cla_bidaf_match(cla_tape *tape, cla_tensor **out, cla_tensor *passage,
                           cla_tensor *question, const bidaf_levels *levels,
                           const cla_ragged *passage_rows,
                           const cla_ragged *question_rows)
{
    const cla_ham_options unscaled = { .scale = 1 };
    cla_tensor *found = NULL, *about = NULL, *numbers = levels->found;
    const look_pool pool = { .x = passage, .q = passage, .k = question };
    *out = NULL;
    CLA_TRY(cla_look_dots(levels->seen, LOOK_C2Q, numbers, passage, question, 1));
    CLA_TRY(cla_look_best(levels->seen, LOOK_Q2C, levels->about, &pool));
    if (!numbers) {
        CLA_TRY(cla_bidaf_equal_parts(tape, &numbers, 1));
    }
    CLA_TRY(cla_ham_v(tape, &found, passage, question, numbers, passage_rows,
                      question_rows, &unscaled));
    CLA_TRY(cla_max_attention(tape, &about, passage, question, passage_rows,
                              question_rows));
    return join(tape, out, passage, found, about, levels->about, passage_rows);
}

/* ---- trilinear scores ------------------------------------------------------------ */

/* Computes the query y = x * both + other: <y, u_j> is the part of a score that depends
 * on the word u_j of the question. */
static cla_status ask(const bidaf_similarity *w, cla_tape *tape, cla_tensor **y,
                      cla_tensor *x, const cla_ragged *rows)
{
    cla_tensor *other = NULL;
    CLA_TRY(cla_depthwise_conv1d(tape, y, x, w->both, rows));
    CLA_TRY(cla_bidaf_spread(tape, &other, w->other, rows));
    return cla_add(tape, y, *y, other);
}

/* Attends from the passage, whose query is given, to the question. Each level after the
 * first computes its query from the previous level. */
static cla_status find(const bidaf_similarity *w, cla_tape *tape, cla_tensor **found,
                       cla_tensor *query, cla_tensor *question,
                       const bidaf_levels *levels, const cla_ragged *rows,
                       const cla_ragged *question_rows)
{
    const cla_ham_options unscaled = { .scale = 1 };
    const int64_t depth = levels->found ? levels->found->shape[0] : 1;
    cla_tensor *level[CLA_HAM_DEPTH] = { NULL }, *one = NULL;
    CLA_TRY(cla_bidaf_equal_parts(tape, &one, 1));
    for (int64_t k = 0; k < depth; k++) {
        if (k) {
            CLA_TRY(ask(w, tape, &query, level[k - 1], rows));
        }
        CLA_TRY(cla_look_level(levels->seen, LOOK_C2Q, levels->found, (int)k, query,
                               question));
        CLA_TRY(cla_ham_v(tape, &level[k], query, question, one, rows, question_rows,
                          &unscaled));
    }
    *found = level[0];
    return levels->found ? cla_mix_levels(tape, found, level, levels->found) : CLA_OK;
}

/* Makes n rows [1, 0, 0 ...]. */
static cla_status units(cla_tape *tape, cla_tensor **out, int64_t n, int64_t width)
{
    float *x = NULL;
    const size_t size = (size_t)(n * width);
    CLA_TRY(cla_alloc(&x, size + 1, sizeof *x));
    for (size_t i = 0; i < size; i += (size_t)width) {
        x[i] = 1;
    }
    cla_status status = cla_tape_tensor(tape, out, CLA_F32, 2, (int64_t[]){ n, width });
    status = status ? status : cla_tensor_upload(*out, x);
    free(x);
    return status;
}

/* Copies the last n columns of x to y. */
static cla_status last_columns(cla_tape *tape, cla_tensor **y, cla_tensor *x, int64_t n)
{
    const int64_t one = 1;
    cla_tensor *view = NULL, *factor = NULL;
    CLA_TRY(cla_tensor_columns(tape, &view, x, x->shape[1] - n, 1, n));
    CLA_TRY(cla_tape_tensor(tape, &factor, CLA_F32, 1, &one));
    CLA_TRY(cla_tensor_fill(factor, 1));
    CLA_TRY(cla_scale_heads(tape, y, view, factor));
    return cla_tensor_reshape(tape, y, *y, 2, (int64_t[]){ x->shape[0], n });
}

cla_status cla_bidaf_pool(cla_tape *tape, cla_tensor **out, cla_tensor *x,
                          cla_tensor *score, cla_tensor *query, cla_tensor *key,
                          const cla_ragged *rows, const cla_ragged *key_rows)
{
    cla_tensor *left = score, *right = NULL;
    CLA_TRY(cla_concat(tape, &left, score, x));
    CLA_TRY(units(tape, &right, key_rows->tokens, left->shape[1]));
    if (query) {
        CLA_TRY(cla_concat(tape, &left, query, left));
        CLA_TRY(cla_concat(tape, &right, key, right));
    }
    CLA_TRY(cla_max_attention(tape, out, left, right, rows, key_rows));
    return last_columns(tape, out, *out, x->shape[1]);
}

cla_status cla_bidaf_match_by(const bidaf_similarity *w, cla_tape *tape,
                              cla_tensor **out, cla_tensor *passage,
                              cla_tensor *question, const bidaf_levels *levels,
                              const cla_ragged *passage_rows,
                              const cla_ragged *question_rows)
{
    cla_tensor *found = NULL, *about = NULL, *own = NULL, *query = NULL;
    CLA_TRY(ask(w, tape, &query, passage, passage_rows));
    CLA_TRY(
        find(w, tape, &found, query, question, levels, passage_rows, question_rows));
    CLA_TRY(cla_linear(tape, &own, passage, w->own, NULL, CLA_NONE, NULL));
    const look_pool pool = { passage, own, query, question };
    CLA_TRY(cla_look_best(levels->seen, LOOK_Q2C, levels->about, &pool));
    CLA_TRY(cla_bidaf_pool(tape, &about, passage, own, query, question, passage_rows,
                           question_rows));
    return join(tape, out, passage, found, about, levels->about, passage_rows);
}
