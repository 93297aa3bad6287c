/* import_ctranslate2_weights.c - converts the variables of CTranslate2's model.bin to
 * tensors of Hugging Face. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "exchange/import_ctranslate2.h"
#include "nn/coder.h"

enum { NAME = 96, LONG_NAME = 160 };

#define BIAS      "decoder/projection/bias"
#define POSITIONS "position_encodings/encodings"

static ct2_variable *find(const ct2_folder *f, const char *name)
{
    return cla_ct2_find(&f->file, name);
}

/* ---- tensors ----------------------------------------------------------------- */

cla_status cla_ct2_take(const ct2_folder *f, const char *name, int64_t rows,
                        int64_t columns, float **numbers)
{
    ct2_variable *v = find(f, name);
    *numbers = NULL;
    if (!v) return cla_ct2_wrong(f, name, "is missing");
    const bool fits = v->rank == (rows ? 2 : 1) &&
                      v->size == (rows ? rows : 1) * columns &&
                      v->shape[v->rank - 1] == columns;
    if (!fits) {
        return cla_fail(CLA_E_INPUT,
                        "%s: variable '%s' has another shape than [%lld,%lld], which "
                        "the sizes make it",
                        f->file.path, name, (long long)(rows ? rows : 1),
                        (long long)columns);
    }
    CLA_TRY(cla_alloc(numbers, (size_t)v->size + 1, sizeof **numbers));
    const cla_status status = cla_ct2_floats(&f->file, v, *numbers);
    if (status) {
        free(*numbers);
        *numbers = NULL;
    }
    return status;
}

cla_status cla_ct2_keep(ct2_folder *f, const char *name, int64_t high, int64_t wide,
                        const float *numbers)
{
    float *made = NULL;
    CLA_TRY(cla_made_add(&f->m->made, name, high, wide, &made));
    assert(numbers);
    memcpy(made, numbers, (size_t)((high ? high : 1) * wide) * sizeof *made);
    return CLA_OK;
}

/* A matrix of n linear layers [out,in] on top of each other, and their biases, which
 * may be missing: zeros. */
typedef struct linear {
    const char *from, *to;
    const char *part[3];
    int out, in; // places in a list of widths
} linear;

enum { MODEL, INNER };

static cla_status split(ct2_folder *f, const linear *l, const char *from,
                        const char *to)
{
    const int64_t wide[] = { f->m->model, f->m->inner };
    const int64_t out = wide[l->out], in = wide[l->in];
    char name[LONG_NAME];
    float *matrix = NULL, *bias = NULL;
    int n = 0;
    while (n < 3 && l->part[n]) {
        n++;
    }
    snprintf(name, sizeof name, "%s/weight", from);
    cla_status status = cla_ct2_take(f, name, n * out, in, &matrix);
    snprintf(name, sizeof name, "%s/bias", from);
    status = status          ? status
             : find(f, name) ? cla_ct2_take(f, name, 0, n * out, &bias)
                             : cla_alloc(&bias, (size_t)(n * out), sizeof *bias);
    for (int i = 0; i < n && !status; i++) {
        snprintf(name, sizeof name, "%s%s.weight", to, l->part[i]);
        status = cla_ct2_keep(f, name, out, in, matrix + i * out * in);
        snprintf(name, sizeof name, "%s%s.bias", to, l->part[i]);
        status = status ? status : cla_ct2_keep(f, name, 0, out, bias + i * out);
    }
    free(matrix);
    free(bias);
    return status;
}

static cla_status copy_norm(ct2_folder *f, const char *from, const char *to)
{
    static const char *const ends[][2] = { { "gamma", "weight" }, { "beta", "bias" } };
    for (int i = 0; i < 2; i++) {
        char name[LONG_NAME];
        float *numbers = NULL;
        snprintf(name, sizeof name, "%s/%s", from, ends[i][0]);
        CLA_TRY(cla_ct2_take(f, name, 0, f->m->model, &numbers));
        snprintf(name, sizeof name, "%s.%s", to, ends[i][1]);
        const cla_status status = cla_ct2_keep(f, name, 0, f->m->model, numbers);
        free(numbers);
        CLA_TRY(status);
    }
    return CLA_OK;
}

static cla_status copy_layer(ct2_folder *f, const char *stack, int layer)
{
    static const linear linears[] = {
        { "self_attention/linear_0",
          "self_attn.",
          { "q_proj", "k_proj", "v_proj" },
          MODEL,
          MODEL },
        { "self_attention/linear_1", "self_attn.", { "out_proj" }, MODEL, MODEL },
        { "ffn/linear_0", "", { "fc1" }, INNER, MODEL },
        { "ffn/linear_1", "", { "fc2" }, MODEL, INNER },
        { "attention/linear_0", "encoder_attn.", { "q_proj" }, MODEL, MODEL },
        { "attention/linear_1", "encoder_attn.", { "k_proj", "v_proj" }, MODEL, MODEL },
        { "attention/linear_2", "encoder_attn.", { "out_proj" }, MODEL, MODEL },
    };
    static const char *const norms[][2] = {
        { "self_attention", "self_attn_layer_norm" },
        { "ffn", "final_layer_norm" },
        { "attention", "encoder_attn_layer_norm" },
    };
    const bool decoder = *stack == 'd';
    char from[NAME], to[NAME];
    for (size_t i = 0; i < (decoder ? 7 : 4); i++) {
        snprintf(from, sizeof from, "%s/layer_%d/%s", stack, layer, linears[i].from);
        snprintf(to, sizeof to, "model.%s.layers.%d.%s", stack, layer, linears[i].to);
        CLA_TRY(split(f, &linears[i], from, to));
    }
    for (size_t i = 0; i < (decoder ? 3 : 2); i++) {
        snprintf(from, sizeof from, "%s/layer_%d/%s/layer_norm", stack, layer,
                 norms[i][0]);
        snprintf(to, sizeof to, "model.%s.layers.%d.%s", stack, layer, norms[i][1]);
        CLA_TRY(copy_norm(f, from, to));
    }
    return CLA_OK;
}

/* ---- tables ------------------------------------------------------------------ */

/* Adds a table with as many rows as pieces, the last one zeros where <pad> is new.
 * D 0: a vector, which becomes [1,pieces]. */
static cla_status add_table(ct2_folder *f, const char *from, const char *to,
                            int64_t pieces, int64_t D)
{
    const int64_t rows = pieces - f->padded;
    float *numbers = NULL, *made = NULL;
    CLA_TRY(cla_made_add(&f->m->made, to, D ? pieces : 1, D ? D : pieces, &made));
    CLA_TRY(cla_ct2_take(f, from, D ? rows : 0, D ? D : rows, &numbers));
    assert(numbers);
    memcpy(made, numbers, (size_t)(rows * (D ? D : 1)) * sizeof *made);
    free(numbers);
    return CLA_OK;
}

static cla_status add_tables(ct2_folder *f)
{
    marian *m = f->m;
    const int64_t D = m->model;
    float *zeros = NULL;
    CLA_TRY(add_table(f, CT2_TARGET,
                      m->shared ? "model.shared.weight"
                                : "model.decoder.embed_tokens.weight",
                      m->target_pieces, D));
    CLA_TRY(m->shared
                ? CLA_OK
                : add_table(f, cla_ct2_source(f), "model.encoder.embed_tokens.weight",
                            m->source_pieces, D));
    CLA_TRY(m->tied ? CLA_OK
                    : add_table(f, CT2_OUTPUT, "lm_head.weight", m->target_pieces, D));
    m->output_bias = find(f, BIAS) || f->padded;
    if (find(f, BIAS)) {
        return add_table(f, BIAS, "final_logits_bias", m->target_pieces, 0);
    }
    return m->output_bias ? cla_made_add(&m->made, "final_logits_bias", 1,
                                         m->target_pieces, &zeros)
                          : CLA_OK;
}

/* Finds the kind of the position encodings. float32 rounds angles, so that the bar
 * grows with positions. */
static cla_status find_positions(ct2_folder *f, const char *name)
{
    const ct2_variable *v = find(f, name);
    int64_t rows = 0, D = f->m->model;
    float *got = NULL, *want = NULL;
    CLA_TRY(cla_ct2_shape(f, name, &rows, &(int64_t){ 0 }));
    cla_status status = cla_ct2_take(f, name, rows, D, &got);
    status = status ? status : cla_alloc(&want, (size_t)(rows * D), sizeof *want);
    const double bar = v->type == CT2_F16 ? 1e-3 : v->type == CT2_BF16 ? 8e-3 : 1e-5;
    bool found = false;
    for (int kind = 0; kind <= TRANSFORMER_OPENNMT && !status && !found; kind++) {
        status = cla_transformer_signal(kind, rows, D, want);
        found = !status;
        for (int64_t i = 0; i < rows * D && found; i++) {
            const int64_t position = i / D;
            const double most = bar + 1e-6 * (double)position;
            found = fabs((double)got[i] - (double)want[i]) <= most;
        }
        f->m->positions = kind;
    }
    free(want);
    free(got);
    return status || found
               ? status
               : cla_ct2_wrong(f, name,
                               "holds other numbers than the sines that are known: "
                               "learned positions are not read");
}

/* Adds the learned positions of a stack of mBART, behind two rows that no text has, and
 * the norm of its embeddings. */
static cla_status add_learned(ct2_folder *f, const char *stack)
{
    enum { UNUSED = 2, MOST = 1 << 16 };
    const int64_t D = f->m->model;
    int64_t rows = 0;
    char from[NAME], to[NAME];
    float *made = NULL, *numbers = NULL;
    snprintf(from, sizeof from, "%s/" POSITIONS, stack);
    snprintf(to, sizeof to, "model.%s.embed_positions.weight", stack);
    CLA_TRY(cla_ct2_shape(f, from, &rows, &(int64_t){ 0 }));
    if (rows < UNUSED || rows > MOST ||
        (f->m->max_positions && f->m->max_positions != rows)) {
        return cla_ct2_wrong(f, from, "has a number of rows that no mBART has");
    }
    f->m->max_positions = (int)rows;
    CLA_TRY(cla_ct2_take(f, from, rows, D, &numbers));
    const cla_status status = cla_made_add(&f->m->made, to, rows + UNUSED, D, &made);
    assert(status || (made && numbers));
    if (!status) {
        memcpy(made + UNUSED * D, numbers, (size_t)(rows * D) * sizeof *made);
    }
    free(numbers);
    CLA_TRY(status);
    snprintf(from, sizeof from, "%s/layernorm_embedding", stack);
    snprintf(to, sizeof to, "model.%s.layernorm_embedding", stack);
    return copy_norm(f, from, to);
}

static cla_status read_learned(ct2_folder *f)
{
    marian *m = f->m;
    CLA_TRY(add_learned(f, "encoder"));
    CLA_TRY(add_learned(f, "decoder"));
    m->positions = TRANSFORMER_LEARNED;
    m->search.most =
        m->search.most < m->max_positions ? m->search.most : m->max_positions;
    return CLA_OK;
}

static cla_status read_positions(ct2_folder *f)
{
    if (f->m->family == FAMILY_MBART) {
        return read_learned(f);
    }
    CLA_TRY(find_positions(f, "decoder/" POSITIONS));
    const int kind = f->m->positions;
    CLA_TRY(find_positions(f, "encoder/" POSITIONS));
    return f->m->positions == kind
               ? CLA_OK
               : cla_ct2_wrong(f, "encoder/" POSITIONS, "are not those of the decoder");
}

/* ---- all of them ------------------------------------------------------------- */

/* Returns whether a variable has the numbers of one that was read. */
static bool is_alias_of_used(const ct2_folder *f, const ct2_variable *v)
{
    for (size_t i = 0; i < f->file.count; i++) {
        if (f->file.variables[i].used && cla_ct2_same(&f->file.variables[i], v)) {
            return true;
        }
    }
    return false;
}

cla_status cla_ct2_check_rest(const ct2_folder *f)
{
    static const char *const idle[] = { "decoder/alignment_heads",
                                        "decoder/alignment_layer",
                                        "encoder/embeddings_merge", NULL };
    for (size_t i = 0; i < f->file.count; i++) {
        const ct2_variable *v = &f->file.variables[i];
        bool known = v->used || is_alias_of_used(f, v);
        double value = 0;
        for (int k = 0; idle[k] && !known; k++) {
            known = strcmp(v->name, idle[k]) == 0;
        }
        if (!known && !(cla_ct2_scalar(&f->file, v->name, &value) && value == 0)) {
            return cla_ct2_wrong(f, v->name, "is left over: such models are not read");
        }
    }
    return CLA_OK;
}

cla_status cla_ct2_read_weights(ct2_folder *f)
{
    const marian *m = f->m;
    if (m->family == FAMILY_T5) {
        return cla_ct2_t5_weights(f);
    }
    CLA_TRY(add_tables(f));
    for (int i = 0; i < m->layers; i++) {
        CLA_TRY(copy_layer(f, "encoder", i));
    }
    for (int i = 0; i < m->decoder_layers; i++) {
        CLA_TRY(copy_layer(f, "decoder", i));
    }
    if (m->pre_norm) {
        CLA_TRY(copy_norm(f, "encoder/layer_norm", "model.encoder.layer_norm"));
        CLA_TRY(copy_norm(f, "decoder/layer_norm", "model.decoder.layer_norm"));
    }
    CLA_TRY(read_positions(f));
    return cla_ct2_check_rest(f);
}
