/* search.c - translation by beam search. */
#include "models/search.h"

#include <math.h>
#include <string.h>

#include "models/generate.h"
#include "models/hypotheses.h"
#include "models/store.h"

enum { DRAWS = 42 }; // seed

typedef struct search {
    transformer *m;
    cla_runtime *rt;
    const search_options *o;
    const transformer_tokens *source;
    int choices;                            // of a hypothesis that can matter
    cla_tape *whole, *live, *turn[2];       // steps alternate between the turns
    cla_tensor *kv[TRANSFORMER_LAYERS + 1]; // of all sources, on whole
    bool steps; // cla_transformer_steps: keys stay in the store
    token_store store;
    transformer_step step;     // kv: of the open sentences, on live
    hypotheses *sentences;     // of all sentences
    int64_t *open, open_count; // indices of those not done
    int32_t *token, *parent;   // [open_count*beam] last piece, parent row
    candidate *found;          // [2*beam] best first
    float *likely;             // [rows,choices] log p of continuations, best first
    int32_t *choice;           // [rows,choices] their pieces
} search;

/* ---- one sentence ------------------------------------------------------------ */

/* Returns how many continuations of a sentence a step keeps: twice the beam, so that
 * `beam` of them may end. Greedy decoding keeps one. */
static int room_of(const search_options *o)
{
    return o->beam == 1 ? 1 : 2 * o->beam;
}

/* Sets s->found to the best continuations of the i'th open sentence by a t'th piece. */
static cla_status find(const search *s, const hypotheses *x, int64_t i, int64_t t,
                       int *found)
{
    const int room = room_of(s->o);
    int count = 0;
    if (t == 1 && s->o->first) {
        s->found[0] = (candidate){ x->logp[0], 0, s->o->first };
        *found = 1;
        return CLA_OK;
    }
    for (int b = 0; b < s->o->beam; b++) {
        const int64_t row = (i * s->o->beam + b) * s->choices;
        if (x->logp[b] == -INFINITY) {
            continue;
        }
        if (!isfinite(s->likely[row])) {
            return cla_fail(CLA_E_NUMERIC,
                            "translator: the scores of its pieces are not finite");
        }
        for (int64_t n = row; n < row + s->choices; n++) {
            if (s->o->never_pad && !s->choice[n]) {
                continue;
            }
            const double logp = x->logp[b] + (double)s->likely[n];
            const candidate c = { logp, b, s->choice[n] };
            if (count < room || c.logp > s->found[count - 1].logp) {
                count = cla_candidate_keep(s->found, count, room, c);
            }
        }
    }
    *found = count;
    return CLA_OK;
}

/* ---- all sentences ----------------------------------------------------------- */

/* Sets step.range: the rows of the memory that each hypothesis attends to. */
static cla_status range_memory(search *s)
{
    const int32_t *offsets = s->source->rows->offsets;
    const int64_t rows = s->open_count * s->o->beam;
    int32_t *range = NULL;
    cla_tensor *ids = NULL;
    CLA_TRY(cla_alloc(&range, 2 * (size_t)rows, sizeof *range));
    for (int64_t i = 0; i < rows; i++) {
        const int64_t from = s->open[i / s->o->beam];
        range[2 * i] = offsets[from];
        range[2 * i + 1] = offsets[from + 1] - offsets[from];
    }
    cla_tape_reset(s->live);
    cla_status status = cla_tape_ids(s->live, &ids, 2 * rows, range);
    free(range);
    status = status ? status
                    : cla_tensor_reshape(s->live, &ids, ids, 2, (int64_t[]){ rows, 2 });
    s->step.range = ids;
    return status;
}

/* Gives each hypothesis of the open sentences its memory: with steps by a range, else
 * by a copy. */
static cla_status spread(search *s)
{
    if (s->steps) {
        return range_memory(s);
    }
    const int32_t *offsets = s->source->rows->offsets;
    const int64_t rows = s->open_count * s->o->beam;
    int32_t *row = NULL, *start = NULL;
    cla_tensor *ids = NULL;
    cla_ragged *ragged = NULL;
    int64_t n = 0;
    for (int64_t i = 0; i < s->open_count; i++) {
        n += s->sentences[s->open[i]].size * s->o->beam;
    }
    CLA_TRY(cla_alloc(&row, (size_t)(n + rows + 1), sizeof *row));
    start = row + n;
    int32_t at = 0;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t from = s->open[i / s->o->beam];
        for (int32_t k = offsets[from]; k < offsets[from + 1]; k++) {
            row[at++] = k;
        }
        start[i + 1] = at;
    }
    cla_tape_reset(s->live);
    cla_status status = cla_tape_ids(s->live, &ids, n, row);
    status = status ? status : cla_ragged_new(&ragged, s->rt, rows, start);
    free(row);
    CLA_TRY(status);
    cla_tape_keep(s->live, ragged);
    s->step.memory = ragged;
    for (int i = 0; i < cla_transformer_memories(s->m); i++) {
        CLA_TRY(cla_embedding(s->live, &s->step.kv[i], s->kv[i], ids, 1));
    }
    return CLA_OK;
}

/* Reorders step.past: each row continues the past of its parent. */
static cla_status follow(search *s, cla_tape *tape, int64_t rows, int64_t t)
{
    cla_tensor *ids = NULL;
    if (t == 1) {
        return CLA_OK;
    }
    CLA_TRY(cla_tape_ids(tape, &ids, rows, s->parent));
    for (int i = 0; i < s->m->config.decoder_layers; i++) {
        cla_tensor *past = s->step.past[i];
        const int64_t shape[] = { cla_tensor_dim(past, 0),
                                  cla_tensor_size(past) / cla_tensor_dim(past, 0) };
        CLA_TRY(cla_tensor_reshape(tape, &past, past, 2, shape));
        CLA_TRY(cla_embedding(tape, &s->step.past[i], past, ids, 1));
    }
    return CLA_OK;
}

/* Sets the parts of step that give access to the earlier tokens. */
static cla_status look_back(search *s, cla_tape *tape, int64_t rows, int64_t t)
{
    if (s->steps) {
        return cla_token_store_next(&s->store, tape, rows, t, s->parent, &s->step);
    }
    CLA_TRY(follow(s, tape, rows, t));
    CLA_TRY(cla_transformer_even_rows(s->rt, tape, rows, 1, &s->step.one));
    return cla_transformer_even_rows(s->rt, tape, rows, t, &s->step.seen);
}

/* Computes likely and choice for the t'th piece of each row. */
static cla_status score(search *s, int64_t t)
{
    const int64_t rows = s->open_count * s->o->beam;
    cla_tape *tape = s->turn[t % 2]; // the other one holds the last step's past
    cla_tensor *logits = NULL, *likely = NULL, *choice = NULL;
    cla_tape_reset(tape);
    cla_tape_random(tape, DRAWS, (uint32_t)t); // for gates that are sampled
    CLA_TRY(look_back(s, tape, rows, t));
    s->step.sequences = rows;
    s->step.position = (int32_t)t - 1;
    s->step.token = s->token;
    CLA_TRY(cla_transformer_next(s->m, tape, &logits, &s->step));
    CLA_TRY(cla_top_k(tape, &likely, &choice, logits, s->choices));
    CLA_TRY(cla_tensor_download(likely, s->likely));
    return cla_tensor_download(choice, s->choice);
}

/* Extends every open sentence by its t'th piece and sets up the next step. */
static cla_status advance_all(search *s, int64_t t)
{
    const int beam = s->o->beam;
    int64_t left = 0;
    for (int64_t i = 0; i < s->open_count; i++) {
        hypotheses *x = &s->sentences[s->open[i]];
        bool done = false;
        int found = 0;
        CLA_TRY(find(s, x, i, t, &found));
        CLA_TRY(cla_hypotheses_advance(x, s->o, s->found, found, t, &done));
        for (int b = 0; b < beam && !done; b++) {
            s->token[left * beam + b] = x->id[b * x->limit + t - 1];
            s->parent[left * beam + b] = (int32_t)(i * beam + x->parent[b]);
        }
        s->open[left] = s->open[i];
        left += !done;
    }
    const bool fewer = left < s->open_count;
    s->open_count = left;
    return fewer && left ? spread(s) : CLA_OK;
}

static cla_status prepare(search *s)
{
    const int64_t n = cla_ragged_sequences(s->source->rows);
    const int32_t *offsets = s->source->rows->offsets;
    const size_t rows = (size_t)(n * s->o->beam);
    CLA_TRY(cla_tape_new(&s->whole, s->rt, false));
    CLA_TRY(cla_tape_new(&s->live, s->rt, false));
    CLA_TRY(cla_tape_new(&s->turn[0], s->rt, false));
    CLA_TRY(cla_tape_new(&s->turn[1], s->rt, false));
    CLA_TRY(cla_alloc(&s->sentences, (size_t)n, sizeof *s->sentences));
    CLA_TRY(cla_alloc(&s->open, (size_t)n, sizeof *s->open));
    CLA_TRY(cla_alloc(&s->token, rows, sizeof *s->token));
    CLA_TRY(cla_alloc(&s->parent, rows, sizeof *s->parent));
    CLA_TRY(cla_alloc(&s->found, 2 * (size_t)s->o->beam, sizeof *s->found));
    const size_t choices = rows * (size_t)s->choices;
    CLA_TRY(cla_alloc(&s->likely, choices, sizeof *s->likely));
    CLA_TRY(cla_alloc(&s->choice, choices, sizeof *s->choice));
    for (int64_t i = 0; i < n; i++) {
        CLA_TRY(
            cla_hypotheses_init(&s->sentences[i], s->o, offsets[i + 1] - offsets[i]));
        s->open[i] = i;
    }
    for (size_t i = 0; i < rows; i++) {
        s->token[i] = -1;
    }
    s->open_count = n;
    return CLA_OK;
}

static int wanted(const search_options *o)
{
    return o->best ? o->best : 1;
}

/* Moves the best finished hypotheses to the caller's results. */
static void take_best(hypotheses *x, int best, search_result *result)
{
    for (int i = 0; i < best; i++) {
        const bool there = i < x->ended_count;
        result[i] = there ? x->ended[i]
                          : (search_result){ .logp = -INFINITY, .score = -INFINITY };
        x->ended[i].id = NULL;
    }
}

static cla_status go(search *s, search_result *result)
{
    const int64_t n = cla_ragged_sequences(s->source->rows);
    const transformer_batch batch = { .source = *s->source };
    cla_tensor *memory = NULL;
    CLA_TRY(prepare(s));
    CLA_TRY(cla_transformer_encode(s->m, s->whole, &memory, &batch));
    CLA_TRY(cla_transformer_remember(s->m, s->whole, s->kv, memory));
    if (s->steps) { // ranges index the memory of all sentences
        memcpy(s->step.kv, s->kv, sizeof s->kv);
    }
    CLA_TRY(spread(s));
    for (int64_t t = 1; s->open_count; t++) {
        CLA_TRY(score(s, t));
        CLA_TRY(advance_all(s, t));
    }
    for (int64_t i = 0; i < n; i++) {
        take_best(&s->sentences[i], wanted(s->o), result + i * wanted(s->o));
    }
    return CLA_OK;
}

cla_status cla_transformer_search(transformer *m, cla_runtime *rt,
                                  const transformer_tokens *source,
                                  const search_options *options, search_result *result)
{
    const int64_t n = cla_ragged_sequences(source->rows);
    search s = { .m = m, .rt = rt, .o = options, .source = source };
    s.choices = room_of(options) + (options->never_pad ? 1 : 0);
    if (s.choices > m->config.target_pieces) {
        s.choices = m->config.target_pieces;
    }
    memset(result, 0, (size_t)(n * wanted(options)) * sizeof *result);
    if (!n) {
        return CLA_OK;
    }
    s.steps = cla_transformer_steps(m, rt);
    cla_status status =
        s.steps ? cla_token_store_init(&s.store, m, rt, n * options->beam) : CLA_OK;
    status = status ? status : go(&s, result);
    for (int64_t i = 0; i < n && s.sentences; i++) {
        cla_hypotheses_fini(&s.sentences[i]);
    }
    cla_token_store_free(&s.store);
    cla_tape_free(&s.turn[0]);
    cla_tape_free(&s.turn[1]);
    cla_tape_free(&s.live);
    cla_tape_free(&s.whole);
    free(s.sentences);
    free(s.open);
    free(s.token);
    free(s.parent);
    free(s.found);
    free(s.likely);
    free(s.choice);
    return status;
}
