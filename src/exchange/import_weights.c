/* import_weights.c - converts model.safetensors of a Hugging Face MarianMT folder to
 * the parameters of a translator: transposes matrices, puts q, k and v side by side,
 * and sorts tables into the order of clattn's pieces. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "exchange/import_writer.h"
#include "nn/coder.h"
#include "train/folder.h"
#include "train/made.h"

/* A logit with probability 0 in the softmax. */
static const float NEVER = -1e9f;

enum { NAME = 64 };

/* ---- tensors of the file ----------------------------------------------------- */

static void tell(const writer *w)
{
    size_t done = 0;
    for (size_t i = 0; i < w->file.count; i++) {
        done += w->used[i];
    }
    if (w->m->watch) {
        w->m->watch(done, w->file.count);
    }
}

/* Marks a tensor as used and checks its shape (rows 0: a vector) and its numbers, which
 * must be floats or halves, all finite. */
static cla_status check(const writer *w, const cla_st_tensor *t, int64_t rows,
                        int64_t columns)
{
    const bool fits =
        rows ? t->rank == 2 && t->shape[0] == rows && t->shape[1] == columns
             : t->rank == 1 && t->shape[0] == columns;
    w->used[t - w->file.tensors] = true;
    tell(w);
    if (!fits) {
        return cla_marian_wrong_shape(w->path, t, rows, columns);
    }
    if (t->dtype == CLA_ST_I32 || t->dtype == CLA_ST_I8) {
        return cla_fail(CLA_E_INPUT, "%s: tensor '%s' holds whole numbers", w->path,
                        t->name);
    }
    return cla_st_finite(t)
               ? CLA_OK
               : cla_fail(CLA_E_NUMERIC,
                          "%s: tensor '%s' holds numbers that are not finite", w->path,
                          t->name);
}

cla_status cla_writer_take(const writer *w, const char *name, int64_t rows,
                           int64_t columns, float **numbers)
{
    const cla_st_tensor *t = cla_st_find(&w->file, name);
    *numbers = NULL;
    if (!t) {
        return cla_fail(CLA_E_INPUT, "%s: tensor '%s' is missing", w->path, name);
    }
    CLA_TRY(check(w, t, rows, columns));
    CLA_TRY(cla_alloc(numbers, (size_t)t->size + 1, sizeof **numbers));
    cla_st_floats(t, *numbers);
    return CLA_OK;
}

/* ---- layers ------------------------------------------------------------------ */

cla_status cla_writer_linear(writer *w, const writer_linear *l)
{
    int n = 0;
    char name[2 * NAME];
    float *matrix = NULL, *bias = NULL;
    while (n < 3 && l->part[n]) {
        n++;
    }
    CLA_TRY(cla_made_add(&w->made, l->to, l->in, n * l->out, &matrix));
    snprintf(name, sizeof name, "%s_bias", l->to);
    CLA_TRY(l->unbiased ? CLA_OK : cla_made_add(&w->made, name, 0, n * l->out, &bias));
    for (int p = 0; p < n; p++) {
        float *from = NULL;
        snprintf(name, sizeof name, "%s%s.weight", l->prefix, l->part[p]);
        CLA_TRY(cla_writer_take(w, name, l->out, l->in, &from));
        assert(matrix && from);
        for (int64_t o = 0; o < l->out; o++) {
            for (int64_t i = 0; i < l->in; i++) {
                matrix[i * n * l->out + p * l->out + o] = from[o * l->in + i];
            }
        }
        free(from);
        if (l->unbiased) continue;
        snprintf(name, sizeof name, "%s%s.bias", l->prefix, l->part[p]);
        CLA_TRY(cla_writer_take(w, name, 0, l->out, &from));
        assert(bias && from);
        memcpy(bias + p * l->out, from, (size_t)l->out * sizeof *bias);
        free(from);
    }
    return CLA_OK;
}

cla_status cla_writer_norm(writer *w, const char *to, const char *from)
{
    static const char *const ends[][2] = { { "gain", "weight" }, { "bias", "bias" } };
    const int64_t D = w->m->model;
    for (int i = 0; i < 2; i++) {
        char name[2 * NAME];
        float *made = NULL, *numbers = NULL;
        snprintf(name, sizeof name, "%s.%s", to, ends[i][0]);
        CLA_TRY(cla_made_add(&w->made, name, 0, D, &made));
        snprintf(name, sizeof name, "%s.%s", from, ends[i][1]);
        CLA_TRY(cla_writer_take(w, name, 0, D, &numbers));
        assert(made && numbers);
        memcpy(made, numbers, (size_t)D * sizeof *made);
        free(numbers);
    }
    return CLA_OK;
}

/* Copies the attention of a layer and its norm. memory: to the encoder's output. */
static cla_status copy_attention(writer *w, const char *to, const char *from,
                                 bool memory)
{
    const int64_t D = w->m->model;
    char name[NAME], prefix[NAME];
    snprintf(prefix, sizeof prefix, "%s.", from);
    snprintf(name, sizeof name, "%s.in", to);
    const writer_linear all = { name, prefix, { "q_proj", "k_proj", "v_proj" },
                                D,    D,      false };
    const writer_linear query = { name, prefix, { "q_proj" }, D, D, false };
    CLA_TRY(cla_writer_linear(w, memory ? &query : &all));
    if (memory) {
        snprintf(name, sizeof name, "%s.memory", to);
        const writer_linear rest = {
            name, prefix, { "k_proj", "v_proj" }, D, D, false
        };
        CLA_TRY(cla_writer_linear(w, &rest));
    }
    snprintf(name, sizeof name, "%s.out", to);
    const writer_linear out = { name, prefix, { "out_proj" }, D, D, false };
    CLA_TRY(cla_writer_linear(w, &out));
    snprintf(name, sizeof name, "%s.norm", to);
    snprintf(prefix, sizeof prefix, "%s_layer_norm", from);
    return cla_writer_norm(w, name, prefix);
}

static cla_status copy_layer(writer *w, const char *stack, int i)
{
    const int64_t D = w->m->model, F = w->m->inner;
    const bool decoder = *stack == 'd';
    char to[NAME], from[NAME];
    snprintf(to, sizeof to, "%s.%d.self", stack, i);
    snprintf(from, sizeof from, "model.%s.layers.%d.self_attn", stack, i);
    CLA_TRY(copy_attention(w, to, from, false));
    if (decoder) {
        snprintf(to, sizeof to, "%s.%d.cross", stack, i);
        snprintf(from, sizeof from, "model.%s.layers.%d.encoder_attn", stack, i);
        CLA_TRY(copy_attention(w, to, from, true));
    }
    snprintf(to, sizeof to, "%s.%d.feed.in", stack, i);
    snprintf(from, sizeof from, "model.%s.layers.%d.", stack, i);
    CLA_TRY(cla_writer_linear(w, &(writer_linear){ to, from, { "fc1" }, D, F, false }));
    snprintf(to, sizeof to, "%s.%d.feed.out", stack, i);
    CLA_TRY(cla_writer_linear(w, &(writer_linear){ to, from, { "fc2" }, F, D, false }));
    snprintf(to, sizeof to, "%s.%d.feed.norm", stack, i);
    snprintf(from, sizeof from, "model.%s.layers.%d.final_layer_norm", stack, i);
    return cla_writer_norm(w, to, from);
}

/* ---- tables ------------------------------------------------------------------ */

#define SHARED  "model.shared.weight"
#define ENCODER "model.encoder.embed_tokens.weight"
#define DECODER "model.decoder.embed_tokens.weight"
#define HEAD    "lm_head.weight"
#define BIAS    "final_logits_bias"

cla_status cla_writer_table(writer *w, const char *to, const marian_pieces *p,
                            const char *const *names)
{
    const int64_t D = w->m->model, V = (int64_t)p->vocab.count;
    const cla_st_tensor *first = NULL;
    float *made = NULL, *numbers = NULL;
    for (int i = 0; names[i]; i++) {
        const cla_st_tensor *t = cla_st_find(&w->file, names[i]);
        if (!t) continue;
        CLA_TRY(check(w, t, V, D));
        const size_t bytes = (size_t)(t->size * cla_st_dtypes[t->dtype].bytes);
        if (first &&
            (first->dtype != t->dtype || memcmp(first->data, t->data, bytes) != 0)) {
            return cla_fail(CLA_E_INPUT,
                            "%s: tensors '%s' and '%s' differ, config.json ties them",
                            w->path, first->name, t->name);
        }
        first = first ? first : t;
    }
    CLA_TRY(cla_writer_take(w, first ? first->name : names[0], V, D, &numbers));
    assert(numbers);
    cla_status status = cla_made_add(&w->made, to, V, D, &made);
    for (int64_t v = 0; v < V && !status; v++) {
        memcpy(made + v * D, numbers + p->from[v] * D, (size_t)D * sizeof *made);
    }
    free(numbers);
    return status;
}

static cla_status copy_bias(writer *w)
{
    const marian_pieces *p = cla_marian_target(w->m);
    const int64_t V = (int64_t)p->vocab.count;
    float *made = NULL, *numbers = NULL;
    CLA_TRY(cla_made_add(&w->made, "output.bias", 0, V, &made));
    if (cla_st_find(&w->file, BIAS)) { // else zeros
        CLA_TRY(cla_writer_take(w, BIAS, 1, V, &numbers));
    }
    assert(made);
    for (int64_t v = 0; v < V && numbers; v++) {
        made[v] = numbers[p->from[v]];
    }
    if (w->m->renormalize && w->m->search.never_pad) {
        made[CLA_PAD] = NEVER;
    }
    free(numbers);
    return CLA_OK;
}

/* Tells whether each language has a table of its own. Where no words are tied, release
 * 5 of transformers keeps them apart also in a model that shares its table, and does
 * not use the shared one. */
static bool keeps_apart(const writer *w)
{
    const marian *m = w->m;
    const cla_st_tensor *unused = cla_st_find(&w->file, SHARED);
    if (!m->shared || m->tied || m->search.kind != SEARCH_TRANSFORMERS_5 ||
        !cla_st_find(&w->file, ENCODER) || !cla_st_find(&w->file, DECODER)) {
        return !m->shared;
    }
    if (unused) {
        w->used[unused - w->file.tensors] = true;
    }
    return true;
}

static cla_status copy_tables(writer *w)
{
    static const char *const all[] = { SHARED, ENCODER, DECODER, HEAD, NULL };
    static const char *const both[] = { SHARED, ENCODER, DECODER, NULL };
    static const char *const encoder[] = { ENCODER, NULL };
    static const char *const written[] = { DECODER, HEAD, NULL };
    static const char *const decoder[] = { DECODER, NULL };
    static const char *const head[] = { HEAD, NULL };
    const marian *m = w->m;
    const marian_pieces *target = cla_marian_target(m);
    if (m->shared && m->tied) {
        CLA_TRY(cla_writer_table(w, "target.table", target, all));
        return m->output_bias ? copy_bias(w) : CLA_OK;
    }
    const bool apart = keeps_apart(w);
    CLA_TRY(cla_writer_table(w, "source.table", &m->source, apart ? encoder : both));
    CLA_TRY(cla_writer_table(w, "target.table", target,
                             !apart    ? both
                             : m->tied ? written
                                       : decoder));
    CLA_TRY(m->tied ? CLA_OK : cla_writer_table(w, "output.table", target, head));
    return m->output_bias ? copy_bias(w) : CLA_OK;
}

/* Refuses tensors that nothing has used. */
static cla_status check_rest(const writer *w)
{
    for (size_t i = 0; i < w->file.count; i++) {
        const char *name = w->file.tensors[i].name;
        if (!w->used[i] && !cla_ends_in(name, ".embed_positions.weights")) {
            return cla_fail(CLA_E_INPUT, "%s: tensor '%s' is left over", w->path,
                            w->file.tensors[i].name);
        }
    }
    return CLA_OK;
}

static cla_status copy_all(writer *w)
{
    CLA_TRY(copy_tables(w));
    for (int i = 0; i < w->m->layers; i++) {
        CLA_TRY(copy_layer(w, "encoder", i));
    }
    for (int i = 0; i < w->m->decoder_layers; i++) {
        CLA_TRY(copy_layer(w, "decoder", i));
    }
    if (w->m->pre_norm) {
        CLA_TRY(cla_writer_norm(w, "encoder.norm", "model.encoder.layer_norm"));
        CLA_TRY(cla_writer_norm(w, "decoder.norm", "model.decoder.layer_norm"));
    }
    if (w->m->family == FAMILY_MARIAN) {
        CLA_TRY(cla_writer_sines(w));
    } else if (w->m->family == FAMILY_MBART) {
        CLA_TRY(cla_writer_learned(w));
    } else {
        w->positions = TRANSFORMER_FAIRSEQ; // whatever an old file holds
    }
    return CLA_OK;
}

static cla_status save(writer *w, const char *to, int64_t *numbers)
{
    *numbers = w->made.numbers;
    json_t *meta = json_pack("{s:s}", "imported", "marian");
    const cla_status status =
        meta ? cla_st_save(to, w->made.tensors, w->made.count, meta)
             : cla_fail(CLA_E_NOMEM, "%s: out of memory", to);
    json_decref(meta);
    return status;
}

/* ---- the file ---------------------------------------------------------------- */

static cla_status open_tensors(writer *w, marian_tensors *opened)
{
    const marian *m = w->m;
    if (m->release) {
        w->file = (cla_st_file){ .tensors = m->made.tensors, .count = m->made.count };
        w->path = m->weights;
        return CLA_OK;
    }
    CLA_TRY(cla_marian_open_tensors(opened, m->dir));
    w->path = opened->path.data;
    w->file = opened->all;
    return CLA_OK;
}

cla_status cla_marian_write_weights(marian *m, const char *to, int64_t *numbers)
{
    writer w = { .m = m };
    marian_tensors opened = { .count = 0 };
    cla_status status = open_tensors(&w, &opened);
    status = status ? status : cla_alloc(&w.used, w.file.count + 1, sizeof *w.used);
    status = status                   ? status
             : m->family == FAMILY_T5 ? cla_writer_t5(&w, &m->tied)
                                      : copy_all(&w);
    status = status ? status : check_rest(&w);
    status = status ? status : save(&w, to, numbers);
    if (!m->release) {
        m->positions = w.positions;
    }
    cla_made_free(&w.made);
    free(w.used);
    cla_marian_close_tensors(&opened);
    return status;
}
