/* import_ctranslate2_t5.c - reads T5, mT5 and MADLAD-400 from CTranslate2's model.bin.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "exchange/import_ctranslate2.h"
#include "exchange/t5.h"
#include "nn/buckets.h"

enum { NAME = 96, LONG_NAME = 160 };

#define TABLE "self_attention/relative_attention_bias"
#define REACH "self_attention/relative_attention_max_distance"

bool cla_ct2_is_t5(const ct2_folder *f)
{
    return cla_ct2_find(&f->file, "encoder/layer_0/" TABLE) != NULL;
}

/* ---- sizes ------------------------------------------------------------------- */

/* Checks that a scalar of a layer is there and has a value. */
static cla_status check_scalar(const ct2_folder *f, const char *stack, int i,
                               const char *end, double want)
{
    char name[NAME];
    double value = NAN;
    snprintf(name, sizeof name, "%s/layer_%d/%s", stack, i, end);
    cla_ct2_scalar(&f->file, name, &value);
    return value == want ? CLA_OK
                         : cla_fail(CLA_E_INPUT,
                                    "%s: variable '%s' is missing or not %g, as T5 has "
                                    "it",
                                    f->file.path, name, want);
}

/* Checks the scalars of a stack, and that all its layers have one table of buckets. */
static cla_status check_stack(const ct2_folder *f, const char *stack, int layers)
{
    static const char *const scales[] = { "self_attention/queries_scale",
                                          "attention/queries_scale" };
    const bool decoder = *stack == 'd';
    char first[NAME], name[NAME];
    snprintf(first, sizeof first, "%s/layer_0/" TABLE, stack);
    for (int i = 0; i < layers; i++) {
        snprintf(name, sizeof name, "%s/layer_%d/" TABLE, stack, i);
        if (!cla_ct2_same(cla_ct2_find(&f->file, name),
                          cla_ct2_find(&f->file, first))) {
            return cla_ct2_wrong(f, name,
                                 "is missing or not that of the first layer: such "
                                 "models are not read");
        }
        CLA_TRY(check_scalar(f, stack, i, REACH, f->m->bucket_reach));
        for (int k = 0; k < 1 + decoder; k++) {
            CLA_TRY(check_scalar(f, stack, i, scales[k], 1));
        }
    }
    return CLA_OK;
}

/* Reads whether the decoder's output is divided by the root of its width. */
static cla_status read_output_scale(const ct2_folder *f)
{
    static const char name[] = "decoder/scale_outputs";
    const double root = sqrt(f->m->model);
    double scale = 0;
    f->m->output_scale = cla_ct2_scalar(&f->file, name, &scale) && scale != 0;
    return !f->m->output_scale || fabs(scale * root - 1) <= 1e-3
               ? CLA_OK
               : cla_ct2_wrong(f, name, "is not 1 over the root of the width");
}

static cla_status read_buckets(const ct2_folder *f)
{
    static const char name[] = "encoder/layer_0/" TABLE,
                      reach_name[] = "encoder/layer_0/" REACH;
    marian *m = f->m;
    int64_t buckets = 0, heads = 0;
    double reach = 0;
    CLA_TRY(cla_ct2_shape(f, name, &buckets, &heads));
    cla_ct2_scalar(&f->file, reach_name, &reach);
    if (buckets < 4 || buckets > CLA_BUCKETS || heads != m->heads) {
        return cla_ct2_wrong(f, name, "has another number of buckets or of heads");
    }
    if (!(reach >= 2 && reach <= CLA_BUCKET_REACH)) {
        return cla_ct2_wrong(f, reach_name, "is missing or no distance");
    }
    m->buckets = (int)buckets;
    m->bucket_reach = (int)reach;
    return CLA_OK;
}

static cla_status read_heads(const ct2_folder *f)
{
    static const char name[] = "encoder/layer_0/self_attention/linear_1/weight";
    int64_t all = 0;
    CLA_TRY(cla_ct2_shape(f, name, &(int64_t){ 0 }, &all));
    f->m->head_width = (int)(all / f->m->heads);
    return (int64_t)f->m->head_width * f->m->heads == all
               ? CLA_OK
               : cla_ct2_wrong(f, name, "is not divided by the number of heads");
}

cla_status cla_ct2_t5_sizes(ct2_folder *f)
{
    marian *m = f->m;
    const bool plain = !m->scaled && m->pre_norm && !f->zero;
    cla_marian_set_family(m, FAMILY_T5);
    m->gated = cla_ct2_find(&f->file, "encoder/layer_0/ffn/linear_0_noact/weight");
    m->feed = cla_t5_feed(m->activation, m->gated);
    if (!plain || !m->feed || !m->shared) {
        return cla_ct2_wrong(
            f, "encoder/layer_0/" TABLE,
            "stands beside scaled embeddings, two tables, norms behind "
            "or an activation that no T5 has");
    }
    CLA_TRY(read_heads(f));
    CLA_TRY(read_buckets(f));
    CLA_TRY(read_output_scale(f));
    CLA_TRY(check_stack(f, "encoder", m->layers));
    return check_stack(f, "decoder", m->decoder_layers);
}

/* ---- pieces ------------------------------------------------------------------ */

/* Finds the number of the token that a key of the settings names. */
static cla_status find_token(ct2_folder *f, const json_t *tokens, const char *key,
                             const char *otherwise, int *id)
{
    const char *token = otherwise;
    CLA_TRY(cla_config_text(&f->m->config, key, &token));
    const json_t *found = json_object_get(tokens, token);
    *id = (int)json_integer_value(found);
    return found ? CLA_OK
                 : cla_config_refuse(&f->m->config, key,
                                     "is '%.80s', which the vocabulary lacks", token);
}

cla_status cla_ct2_t5_pieces(ct2_folder *f, json_t *tokens, const char *path,
                             marian_pieces *pieces, int count)
{
    marian *m = f->m;
    // the converter gives the name of padding as that of the first token
    CLA_TRY(find_token(f, tokens, "bos_token", "<pad>", &m->pad));
    CLA_TRY(find_token(f, tokens, "eos_token", "</s>", &m->end));
    CLA_TRY(find_token(f, tokens, "decoder_start_token", "<pad>", &m->start));
    CLA_TRY(cla_marian_arrange(m, pieces, path, tokens, count));
    return cla_t5_find_start(m, "decoder_start_token");
}

/* ---- tensors ----------------------------------------------------------------- */

/* Adds a variable as it is: [rows,columns], rows 0: a vector. */
static cla_status copy(ct2_folder *f, const char *from, const char *to, int64_t rows,
                       int64_t columns)
{
    float *numbers = NULL;
    CLA_TRY(cla_ct2_take(f, from, rows, columns, &numbers));
    assert(numbers);
    const cla_status status = cla_ct2_keep(f, to, rows, columns, numbers);
    free(numbers);
    return status;
}

static int64_t width_of(const marian *m, char kind)
{
    return cla_t5_width(kind, m->model, m->inner, m->heads * m->head_width);
}

/* Adds the linear layers that lie on top of each other in one variable. */
static cla_status split(ct2_folder *f, const char *stack, int i, const t5_linear *l)
{
    const int64_t out = width_of(f->m, l->out), in = width_of(f->m, l->in);
    char from[LONG_NAME], to[LONG_NAME];
    float *matrix = NULL;
    int parts = 1;
    while (parts < 3 && l->part[parts]) {
        parts++;
    }
    snprintf(from, sizeof from, "%s/layer_%d/%s/weight", stack, i, l->ct2);
    cla_status status = cla_ct2_take(f, from, parts * out, in, &matrix);
    for (int k = 0; k < parts && !status; k++) {
        snprintf(to, sizeof to, "%s.block.%d.layer.%d.%s.weight", stack, i,
                 cla_t5_layer(l->layer, *stack == 'd'), l->part[k]);
        assert(matrix);
        status = cla_ct2_keep(f, to, out, in, matrix + k * out * in);
    }
    free(matrix);
    return status;
}

static cla_status copy_block(ct2_folder *f, const char *stack, int i)
{
    const bool decoder = *stack == 'd';
    char from[LONG_NAME], to[LONG_NAME];
    for (int k = 0; k < T5_LINEARS; k++) {
        const t5_linear *l = &cla_t5_linears[k];
        CLA_TRY(cla_t5_has(l, decoder, f->m->gated) ? split(f, stack, i, l) : CLA_OK);
    }
    for (int k = 0; k < T5_NORMS; k++) {
        const t5_norm *n = &cla_t5_norms[k];
        if (n->cross && !decoder) continue;
        snprintf(from, sizeof from, "%s/layer_%d/%s/layer_norm/gamma", stack, i,
                 n->ct2);
        snprintf(to, sizeof to, "%s.block.%d.layer.%d.layer_norm.weight", stack, i,
                 cla_t5_layer(n->layer, decoder));
        CLA_TRY(copy(f, from, to, 0, f->m->model));
    }
    return CLA_OK;
}

static cla_status copy_stack(ct2_folder *f, const char *stack, int layers)
{
    const marian *m = f->m;
    char from[LONG_NAME], to[LONG_NAME];
    snprintf(from, sizeof from, "%s/layer_0/" TABLE, stack);
    snprintf(to, sizeof to,
             "%s.block.0.layer.0.SelfAttention.relative_attention_bias.weight", stack);
    CLA_TRY(copy(f, from, to, m->buckets, m->heads));
    for (int i = 0; i < layers; i++) {
        CLA_TRY(copy_block(f, stack, i));
    }
    snprintf(from, sizeof from, "%s/layer_norm/gamma", stack);
    snprintf(to, sizeof to, "%s.final_layer_norm.weight", stack);
    return copy(f, from, to, 0, m->model);
}

cla_status cla_ct2_t5_weights(ct2_folder *f)
{
    const marian *m = f->m;
    CLA_TRY(copy(f, CT2_TARGET, "shared.weight", m->target_pieces, m->model));
    CLA_TRY(m->tied
                ? CLA_OK
                : copy(f, CT2_OUTPUT, "lm_head.weight", m->target_pieces, m->model));
    CLA_TRY(copy_stack(f, "encoder", m->layers));
    CLA_TRY(copy_stack(f, "decoder", m->decoder_layers));
    return cla_ct2_check_rest(f);
}
