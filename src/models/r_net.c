/* r_net.c - R-NET.
 *
 *   x = [word; last states of cells over its characters, both directions]
 *   u^Q, u^P = encoders of question and passage, layers of both directions
 *   v_t = cell(gate([u_t^P; look(u_t^P, v_(t-1))]), v_(t-1)), and from right to left
 *   h = readout(layer(gate([v; reflect(v)])))
 *   r = pooled question; scores = score . tanh(h W_h + r W_a), twice, and between them
 *   r = GRU(sum_j softmax(scores)_j h_j, r)
 *
 * All attention has h columns and shares one score vector. Step i takes word i of all
 * passages, which come in falling order of length, so the rows of a step are the first
 * ones. Both directions of the matching share the weights of attention and gate, but
 * not those of the cells. */
#include "models/r_net.h"

#include <math.h>
#include <stdlib.h>

#include "clattn/ham.h"
#include "clattn/ops.h"
#include "clattn/rows.h"
#include "models/walk.h"

/* ---- settings and parameters ----------------------------------------------------- */

static cla_status configure(reader_config *config, cla_config *settings)
{
    static const char *const cells[] = { "gru", "sru", NULL };
    return cla_config_choice(settings, "cell", cells, &config->cell);
}

static cla_status add_layers(recurrent *layers, cla_params *params, recurrent_kind cell,
                             int64_t in, int64_t h, const char *name)
{
    for (int i = 0; i < R_NET_LAYERS; i++) {
        char prefix[48];
        snprintf(prefix, sizeof prefix, "r_net.%s.%d", name, i);
        layers[i] = (recurrent){
            .kind = cell, .in = (int)(i ? 2 * h : in), .width = (int)h, .both = true
        };
        CLA_TRY(cla_recurrent_init(&layers[i], params, prefix));
    }
    return CLA_OK;
}

static cla_status add_match(r_net *m, cla_params *params, recurrent_kind cell,
                            int64_t h)
{
    const int depth = m->reader->config.depth;
    CLA_TRY(cla_param_matrix(params, &m->match_q, 2 * h, h, "r_net.match.question"));
    CLA_TRY(cla_param_matrix(params, &m->match_p, 2 * h, h, "r_net.match.passage"));
    CLA_TRY(cla_param_matrix(params, &m->match_v, h, h, "r_net.match.state"));
    CLA_TRY(cla_param_zeros(params, &m->match_b, h, "r_net.match.bias"));
    CLA_TRY(cla_param_matrix(params, &m->match_gate, 4 * h, 4 * h, "r_net.match.gate"));
    if (depth) {
        CLA_TRY(cla_param_levels(params, &m->match_levels, depth,
                                 m->reader->config.first_level, "r_net.match.levels"));
    }
    for (int i = 0; i < 2; i++) {
        m->match[i] = (recurrent){
            .kind = cell, .in = (int)(4 * h), .width = (int)h, .reverse = i
        };
        CLA_TRY(cla_recurrent_init(&m->match[i], params, "r_net.match"));
    }
    return CLA_OK;
}

static cla_status add_self(r_net *m, cla_params *params, recurrent_kind cell, int64_t h)
{
    const int depth = m->reader->config.depth;
    CLA_TRY(cla_param_matrix(params, &m->self_m, 2 * h, h, "r_net.self.memory"));
    CLA_TRY(cla_param_matrix(params, &m->self_v, 2 * h, h, "r_net.self.word"));
    CLA_TRY(cla_param_zeros(params, &m->self_b, h, "r_net.self.bias"));
    CLA_TRY(cla_param_matrix(params, &m->self_gate, 4 * h, 4 * h, "r_net.self.gate"));
    if (depth) {
        CLA_TRY(cla_param_levels(params, &m->self_levels, depth,
                                 m->reader->config.first_level, "r_net.self.levels"));
    }
    m->self =
        (recurrent){ .kind = cell, .in = (int)(4 * h), .width = (int)h, .both = true };
    m->readout = m->self;
    m->readout.in = (int)(2 * h);
    CLA_TRY(cla_recurrent_init(&m->self, params, "r_net.self"));
    return cla_recurrent_init(&m->readout, params, "r_net.readout");
}

static cla_status add_chars(r_net *m, cla_params *params, recurrent_kind cell)
{
    const reader_config *c = &m->reader->config;
    m->chars = (recurrent){
        .kind = cell, .in = c->char_dim, .width = c->char_width, .both = true
    };
    return cla_recurrent_init(&m->chars, params, "r_net.chars");
}

static cla_status build(reader *r, cla_params *params)
{
    r_net *m = r->network;
    const int64_t h = r->config.hidden;
    const recurrent_kind cell = r->config.cell ? RECURRENT_SRU : RECURRENT_GRU;
    m->reader = r;
    if (r->config.char_dim) {
        CLA_TRY(add_chars(m, params, cell));
    }
    CLA_TRY(add_layers(m->question, params, cell, r->in, h, "question"));
    CLA_TRY(add_layers(m->passage, params, cell, r->in, h, "passage"));
    CLA_TRY(cla_param_score(params, &m->score, h, "r_net.score"));
    CLA_TRY(add_match(m, params, cell, h));
    CLA_TRY(add_self(m, params, cell, h));
    CLA_TRY(cla_param_matrix(params, &m->pool, 1, h, "r_net.pool.vector"));
    CLA_TRY(cla_param_matrix(params, &m->pool_v, h, h, "r_net.pool.own"));
    CLA_TRY(cla_param_matrix(params, &m->point_h, 2 * h, h, "r_net.point.states"));
    CLA_TRY(cla_param_matrix(params, &m->point_a, 2 * h, h, "r_net.point.own"));
    m->point =
        (recurrent){ .kind = RECURRENT_GRU, .in = (int)(2 * h), .width = (int)(2 * h) };
    return cla_recurrent_init(&m->point, params, "r_net.point");
}

/* ---- characters of words --------------------------------------------------------- */

/* Computes the final hidden states of words. For an SRU this is the cell state. */
static cla_status spell(reader *r, cla_tape *tape, cla_tensor **y, cla_tensor *x,
                        const cla_ragged *rows)
{
    const r_net *m = r->network;
    recurrent_state last = { NULL, NULL };
    cla_tensor *all = NULL;
    CLA_TRY(cla_recurrent_forward(&m->chars, tape, &all, x, rows, &last));
    *y = last.h ? last.h : last.c;
    return CLA_OK;
}

/* ---- matching with the question -------------------------------------------------- */

cla_status cla_r_net_gate(cla_tape *tape, cla_tensor **y, cla_tensor *x, cla_tensor *w)
{
    cla_tensor *gate = NULL, *none = NULL;
    *y = NULL;
    CLA_TRY(cla_linear(tape, &gate, x, w, NULL, CLA_NONE, NULL));
    CLA_TRY(cla_walk_zeros(tape, &none, x->shape[0], x->shape[1]));
    return cla_gate(tape, y, gate, x, none);
}

cla_status cla_r_net_look(r_net *m, cla_tape *tape, cla_tensor **context,
                          const r_net_memory *memory, cla_tensor *p, cla_tensor *v,
                          const cla_ragged *rows)
{
    const int depth = m->reader->config.depth;
    const int64_t words = memory->rows->tokens;
    look_log *seen = m->reader->seen;
    cla_tensor *query = NULL, *state = NULL, *level[CLA_HAM_DEPTH] = { NULL },
               *w = NULL;
    const cla_additive_options options = { .weights = seen ? &w : NULL };
    CLA_TRY(cla_linear(tape, &query, v, m->match_v, NULL, CLA_NONE, p));
    CLA_TRY(cla_additive_attention(tape, &level[0], memory->keys, query, m->score,
                                   memory->memory, rows, memory->rows, &options));
    CLA_TRY(cla_look_add(seen, memory->site, m->match_levels, 0, w, words));
    *context = level[0];
    if (depth > 1) {
        CLA_TRY(cla_linear(tape, &state, v, m->match_v, m->match_b, CLA_NONE, NULL));
    }
    for (int i = 1; i < depth; i++) {
        CLA_TRY(
            cla_linear(tape, &query, level[i - 1], m->match_p, NULL, CLA_NONE, state));
        CLA_TRY(cla_additive_attention(tape, &level[i], memory->keys, query, m->score,
                                       memory->memory, rows, memory->rows, &options));
        CLA_TRY(cla_look_add(seen, memory->site, m->match_levels, i, w, words));
    }
    return depth ? cla_mix_levels(tape, context, level, m->match_levels) : CLA_OK;
}

/* One direction: the memory that it attends to, and its cell. */
typedef struct walker {
    r_net *m;
    const r_net_memory *memory;
    const recurrent *cell;
} walker;

/* Runs one step. s->x: u^P, and its part of the scores, u^P W_u^P + b. */
static cla_status move(void *with, cla_tape *tape, walk_step *s)
{
    const walker *w = with;
    cla_tensor *context = NULL, *x = NULL, *y = NULL;
    CLA_TRY(
        cla_r_net_look(w->m, tape, &context, w->memory, s->x[1], s->state.h, s->among));
    CLA_TRY(cla_concat(tape, &x, s->x[0], context));
    CLA_TRY(cla_r_net_gate(tape, &x, x, w->m->match_gate));
    return cla_recurrent_step(w->cell, tape, &y, x, s->ones, &s->state);
}

/* Computes u^P W_u^P + b once for all words. */
cla_status cla_r_net_walk(r_net *m, cla_tape *tape, cla_tensor **states,
                          const r_net_memory *memory, cla_tensor *passage,
                          const cla_ragged *rows, bool reverse)
{
    walker who = { m, memory, &m->match[reverse] };
    walk w = { move, &who, rows, reverse, { passage, NULL }, { NULL, NULL } };
    *states = NULL;
    CLA_TRY(cla_linear(tape, &w.x[1], passage, m->match_p, m->match_b, CLA_NONE, NULL));
    CLA_TRY(cla_walk_zeros(tape, &w.state.h, rows->sequences, who.cell->width));
    return cla_walk_along(&w, tape, states);
}

/* ---- matching with itself -------------------------------------------------------- */

cla_status cla_r_net_reflect(r_net *m, cla_tape *tape, cla_tensor **context,
                             cla_tensor *v, const cla_ragged *rows)
{
    const int depth = m->reader->config.depth;
    look_log *seen = m->reader->seen;
    cla_tensor *level[CLA_HAM_DEPTH] = { NULL }, *w = NULL;
    const cla_additive_options options = { .weights = seen ? &w : NULL };
    *context = NULL;
    for (int i = 0; i < (depth ? depth : 1); i++) {
        cla_tensor *keys = NULL, *queries = NULL, *x = i ? level[i - 1] : v;
        CLA_TRY(cla_linear(tape, &keys, x, m->self_m, NULL, CLA_NONE, NULL));
        CLA_TRY(cla_linear(tape, &queries, x, m->self_v, m->self_b, CLA_NONE, NULL));
        CLA_TRY(cla_additive_attention(tape, &level[i], keys, queries, m->score, x,
                                       rows, rows, &options));
        CLA_TRY(cla_look_add(seen, LOOK_SELF, m->self_levels, i, w, rows->tokens));
    }
    *context = level[0];
    return depth ? cla_mix_levels(tape, context, level, m->self_levels) : CLA_OK;
}

/* ---- the pointer ----------------------------------------------------------------- */

cla_status cla_r_net_pool(r_net *m, cla_tape *tape, cla_tensor **pooled,
                          const r_net_memory *memory)
{
    const int64_t B = memory->rows->sequences;
    cla_tensor *query = NULL, *ids = NULL;
    const cla_ragged *ones = NULL;
    int32_t *same = NULL;
    *pooled = NULL;
    CLA_TRY(cla_alloc(&same, (size_t)B + 1, sizeof *same)); // zeros: the one row
    const cla_status status = cla_tape_ids(tape, &ids, B, same);
    free(same);
    CLA_TRY(status);
    CLA_TRY(cla_reader_single_rows(tape, &ones, B, B));
    CLA_TRY(cla_linear(tape, &query, m->pool, m->pool_v, NULL, CLA_NONE, NULL));
    CLA_TRY(cla_embedding(tape, &query, query, ids, 1));
    return cla_additive_attention(tape, pooled, memory->keys, query, m->score,
                                  memory->memory, ones, memory->rows, NULL);
}

cla_status cla_r_net_point(r_net *m, cla_tape *tape, reader_scores *scores,
                           cla_tensor *states, cla_tensor *pooled,
                           const cla_ragged *rows)
{
    const cla_ragged *ones = NULL;
    const int64_t B = rows->sequences;
    cla_tensor *keys = NULL, *query = NULL, *context = NULL, *y = NULL;
    cla_tensor **const out[2] = { &scores->first, &scores->last };
    recurrent_state state = { .h = pooled };
    CLA_TRY(cla_reader_single_rows(tape, &ones, B, B));
    CLA_TRY(cla_linear(tape, &keys, states, m->point_h, NULL, CLA_NONE, NULL));
    for (int k = 0; k < 2; k++) {
        const cla_additive_options options = { .scores = out[k] };
        CLA_TRY(cla_linear(tape, &query, state.h, m->point_a, NULL, CLA_NONE, NULL));
        CLA_TRY(cla_additive_attention(tape, &context, keys, query, m->score, states,
                                       ones, rows, &options));
        if (k == 0) {
            CLA_TRY(cla_recurrent_step(&m->point, tape, &y, context, ones, &state));
        }
    }
    return CLA_OK;
}

/* ---- the network ----------------------------------------------------------------- */

/* Applies n layers, each followed by dropout. first: first row in a shared batch. */
static cla_status encode(const reader *r, cla_tape *tape, cla_tensor **x,
                         const recurrent *layers, int n, const cla_ragged *rows,
                         int64_t first)
{
    for (int i = 0; i < n; i++) {
        CLA_TRY(cla_recurrent_forward(&layers[i], tape, x, *x, rows, NULL));
        CLA_TRY(cla_reader_drop(r, tape, x, first));
    }
    return CLA_OK;
}

static cla_status match(r_net *m, cla_tape *tape, cla_tensor **v, r_net_memory *memory,
                        cla_tensor *passage, const reader_batch *b)
{
    cla_tensor *left = NULL, *right = NULL;
    memory->site = "forward";
    CLA_TRY(cla_r_net_walk(m, tape, &left, memory, passage, b->passage_rows, false));
    memory->site = "backward";
    CLA_TRY(cla_r_net_walk(m, tape, &right, memory, passage, b->passage_rows, true));
    cla_look_turn(m->reader->seen, memory->site);
    CLA_TRY(cla_concat(tape, v, left, right));
    return cla_reader_drop(m->reader, tape, v, b->first_passage);
}

static cla_status match_self(r_net *m, cla_tape *tape, cla_tensor **states,
                             cla_tensor *v, const reader_batch *b)
{
    cla_tensor *context = NULL, *x = NULL;
    CLA_TRY(cla_r_net_reflect(m, tape, &context, v, b->passage_rows));
    CLA_TRY(cla_concat(tape, &x, v, context));
    CLA_TRY(cla_r_net_gate(tape, states, x, m->self_gate));
    CLA_TRY(encode(m->reader, tape, states, &m->self, 1, b->passage_rows,
                   b->first_passage));
    return encode(m->reader, tape, states, &m->readout, 1, b->passage_rows,
                  b->first_passage);
}

static cla_status point_out(reader *r, cla_tape *tape, reader_scores *scores,
                            cla_tensor *question, cla_tensor *passage,
                            const reader_batch *b)
{
    r_net *m = r->network;
    r_net_memory memory = { .memory = question, .rows = b->question_rows };
    cla_tensor *v = NULL, *states = NULL, *pooled = NULL;
    CLA_TRY(encode(r, tape, &memory.memory, m->question, R_NET_LAYERS, b->question_rows,
                   b->first_question));
    CLA_TRY(cla_linear(tape, &memory.keys, memory.memory, m->match_q, NULL, CLA_NONE,
                       NULL));
    CLA_TRY(encode(r, tape, &passage, m->passage, R_NET_LAYERS, b->passage_rows,
                   b->first_passage));
    CLA_TRY(match(m, tape, &v, &memory, passage, b));
    CLA_TRY(match_self(m, tape, &states, v, b));
    CLA_TRY(cla_r_net_pool(m, tape, &pooled, &memory));
    return cla_r_net_point(m, tape, scores, states, pooled, b->passage_rows);
}

const reader_kind cla_r_net_kind = {
    .name = "r_net",
    .size = sizeof(r_net),
    .char_ways = 2,
    .spell = spell,
    .configure = configure,
    .init = build,
    .scores = point_out,
};
