/* generate.c - greedy decoding and sampling. */
#include "models/generate.h"

#include <string.h>

typedef struct generator {
    transformer *m;
    cla_runtime *rt;
    const generate_options *o;
    const transformer_tokens *source;
    cla_tape *whole, *turn[2]; // steps alternate between the turns
    transformer_step step;
    cross_hard_pass pass;
    int64_t sentences, most; // most: limit of pieces of any translation
    int32_t *said;           // [most+1,sentences] pieces; row 0: start (-1)
    float *gates;            // [most,source tokens] of a hard layer; else NULL
    int32_t *length;         // [sentences] pieces of each; 0: not ended
} generator;

cla_status cla_transformer_even_rows(cla_runtime *rt, cla_tape *tape, int64_t rows,
                                     int64_t length, const cla_ragged **out)
{
    int32_t *offsets = NULL;
    cla_ragged *ragged = NULL;
    CLA_TRY(cla_alloc(&offsets, (size_t)rows + 1, sizeof *offsets));
    for (int64_t i = 0; i <= rows; i++) {
        offsets[i] = (int32_t)(i * length);
    }
    const cla_status status = cla_ragged_new(&ragged, rt, rows, offsets);
    free(offsets);
    CLA_TRY(status);
    cla_tape_keep(tape, ragged);
    *out = ragged;
    return CLA_OK;
}

static int64_t limit_of(const generator *g, int64_t sentence)
{
    const int32_t *at = g->source->rows->offsets;
    return at[sentence + 1] - at[sentence] + g->o->extra;
}

static cla_status prepare(generator *g)
{
    const transformer_batch batch = { .source = *g->source };
    cla_tensor *memory = NULL;
    const size_t rows = (size_t)g->sentences;
    for (int64_t i = 0; i < g->sentences; i++) {
        g->most = limit_of(g, i) > g->most ? limit_of(g, i) : g->most;
    }
    CLA_TRY(cla_tape_new(&g->whole, g->rt, false));
    CLA_TRY(cla_tape_new(&g->turn[0], g->rt, false));
    CLA_TRY(cla_tape_new(&g->turn[1], g->rt, false));
    CLA_TRY(cla_alloc(&g->said, rows * (size_t)(g->most + 1), sizeof *g->said));
    CLA_TRY(cla_alloc(&g->length, rows + 1, sizeof *g->length));
    if (g->m->config.coder.hard.on) {
        const size_t each = (size_t)g->source->count;
        CLA_TRY(cla_alloc(&g->gates, each * (size_t)g->most + 1, sizeof *g->gates));
        g->pass.draw = g->o->draw_gates;
        g->step.pass = &g->pass;
    }
    for (size_t i = 0; i < rows; i++) {
        g->said[i] = -1; // the start of a sentence
    }
    CLA_TRY(cla_transformer_encode(g->m, g->whole, &memory, &batch));
    g->step.memory = g->source->rows;
    g->step.sequences = g->sentences;
    return cla_transformer_remember(g->m, g->whole, g->step.kv, memory);
}

/* Decodes the t'th piece of each sentence, also of those that have ended. */
static cla_status say(generator *g, int64_t t)
{
    cla_tape *tape = g->turn[t % 2]; // the other one holds the last step's past
    cla_tensor *logits = NULL, *likely = NULL, *id = NULL;
    cla_tape_reset(tape);
    cla_tape_random(tape, g->o->seed ^ (g->o->step * 0x9E3779B9U), (uint32_t)t);
    cla_tape_rows(tape, (uint32_t)g->source->first);
    CLA_TRY(cla_transformer_even_rows(g->rt, tape, g->sentences, 1, &g->step.one));
    CLA_TRY(cla_transformer_even_rows(g->rt, tape, g->sentences, t, &g->step.seen));
    g->step.position = (int32_t)t - 1;
    g->step.token = g->said + (t - 1) * g->sentences;
    CLA_TRY(cla_transformer_next(g->m, tape, &logits, &g->step));
    CLA_TRY(g->o->draw ? cla_multinomial(tape, &id, logits)
                       : cla_top_k(tape, &likely, &id, logits, 1));
    CLA_TRY(cla_tensor_download(id, g->said + t * g->sentences));
    return g->gates ? cla_tensor_download(g->pass.gates,
                                          g->gates + (t - 1) * g->source->count)
                    : CLA_OK;
}

/* Sets the lengths of sentences that end with their t'th piece; counts the others. */
static cla_status look(generator *g, int64_t t, int64_t *open)
{
    *open = 0;
    for (int64_t i = 0; i < g->sentences; i++) {
        const int32_t piece = g->said[t * g->sentences + i];
        if (piece < 0 || piece >= g->m->config.target_pieces) {
            return cla_fail(CLA_E_NUMERIC,
                            "translator: the scores of its pieces are not finite");
        }
        if (!g->length[i] && (piece == g->o->end || t >= limit_of(g, i))) {
            g->length[i] = (int32_t)t;
        }
        *open += !g->length[i];
    }
    return CLA_OK;
}

/* Regroups pieces and gates, which are stored by step, by sentence. */
static cla_status pack(const generator *g, generated *out)
{
    const int32_t *source_at = g->source->rows->offsets;
    size_t gates = 0;
    CLA_TRY(cla_alloc(&out->at, (size_t)g->sentences + 1, sizeof *out->at));
    for (int64_t i = 0; i < g->sentences; i++) {
        const int32_t size = source_at[i + 1] - source_at[i];
        out->at[i + 1] = out->at[i] + g->length[i];
        gates += (size_t)g->length[i] * (size_t)size;
    }
    const size_t pieces = (size_t)out->at[g->sentences];
    CLA_TRY(cla_alloc(&out->id, pieces + 1, sizeof *out->id));
    CLA_TRY(g->gates ? cla_alloc(&out->gates, gates + 1, sizeof *out->gates) : CLA_OK);
    float *to = out->gates;
    for (int64_t i = 0; i < g->sentences; i++) {
        const size_t size = (size_t)(source_at[i + 1] - source_at[i]);
        for (int32_t t = 0; t < g->length[i]; t++) {
            out->id[out->at[i] + t] = g->said[(t + 1) * g->sentences + i];
            if (to) {
                memcpy(to, g->gates + t * g->source->count + source_at[i],
                       size * sizeof *to);
                to += size;
            }
        }
    }
    return CLA_OK;
}

static cla_status go(generator *g, generated *out)
{
    int64_t open = g->sentences;
    CLA_TRY(prepare(g));
    for (int64_t t = 1; open; t++) {
        CLA_TRY(say(g, t));
        CLA_TRY(look(g, t, &open));
    }
    return pack(g, out);
}

cla_status cla_transformer_generate(transformer *m, cla_runtime *rt,
                                    const transformer_tokens *source,
                                    const generate_options *options, generated *out)
{
    generator g = { .m = m, .rt = rt, .o = options, .source = source };
    g.sentences = cla_ragged_sequences(source->rows);
    *out = (generated){ .sentences = g.sentences };
    const cla_status status = go(&g, out);
    cla_tape_free(&g.whole);
    cla_tape_free(&g.turn[0]);
    cla_tape_free(&g.turn[1]);
    free(g.said);
    free(g.gates);
    free(g.length);
    if (status) {
        cla_generated_free(out);
    }
    return status;
}

void cla_generated_free(generated *g)
{
    free(g->at);
    free(g->id);
    free(g->gates);
    *g = (generated){ 0 };
}
