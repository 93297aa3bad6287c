/* import_npz.c - converts the arrays of Marian's *.npz to tensors of MarianMT. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/half.h"
#include "base/npy.h"
#include "base/yaml.h"
#include "exchange/import_release.h"

#define SETTINGS "special:model.yml"

enum { NAME = 96 };

/* ---- arrays ------------------------------------------------------------------ */

/* Returns the entry of an array, named with or without NumPy's ending, or NULL. */
static const cla_zip_entry *find(const release *r, const char *name)
{
    const size_t size = strlen(name);
    for (size_t i = 0; i < r->zip.count; i++) {
        const char *entry = r->zip.entries[i].name;
        if (strncmp(entry, name, size) == 0 &&
            (!entry[size] || strcmp(entry + size, ".npy") == 0)) {
            return &r->zip.entries[i];
        }
    }
    return NULL;
}

/* Reads an array, which lies inside bytes; the caller frees these. */
static cla_status open_array(release *r, const char *name, cla_npy *array, char **bytes)
{
    const cla_zip_entry *e = find(r, name);
    *bytes = NULL;
    if (!e) {
        return cla_fail(CLA_E_INPUT, "%s: array '%s' is missing", r->zip.path, name);
    }
    r->used[e - r->zip.entries] = true;
    CLA_TRY(cla_zip_read(&r->zip, e, bytes));
    return cla_npy_parse(array, r->zip.path, name, *bytes, e->size);
}

cla_status cla_release_open_weights(release *r, const char *path)
{
    cla_npy array = { 0 };
    char *bytes = NULL;
    CLA_TRY(cla_zip_open(&r->zip, path, false));
    CLA_TRY(cla_alloc(&r->used, r->zip.count + 1, sizeof *r->used));
    cla_status status = open_array(r, SETTINGS, &array, &bytes);
    const bool text = array.data && array.type == CLA_NPY_BYTES;
    if (!status && !text) {
        status = cla_fail(CLA_E_INPUT, "%s: array '" SETTINGS "' is no text", path);
    }
    if (!status && text) {
        const char *end = memchr(array.data, 0, (size_t)array.size);
        status = cla_yaml_parse(&r->settings, path, array.data,
                                end ? (size_t)(end - array.data) : (size_t)array.size);
    }
    free(bytes);
    return status;
}

/* Returns whether an array is [rows,columns]. rows 0: a vector, in Marian [1,n]. */
static bool fits(const cla_npy *a, int64_t rows, int64_t columns)
{
    const int64_t first = a->rank == 2 ? a->shape[0] : 1;
    return (a->rank == 1 || a->rank == 2) && first == (rows ? rows : 1) &&
           a->size == first * columns && a->type != CLA_NPY_BYTES;
}

static cla_status take_floats(const release *r, const cla_npy *a, const char *name,
                              float *to)
{
    for (int64_t i = 0; i < a->size; i++) {
        uint16_t half = 0;
        if (a->type == CLA_NPY_F32) {
            memcpy(&to[i], a->data + 4 * i, sizeof *to);
        } else {
            memcpy(&half, a->data + 2 * i, sizeof half);
            to[i] = cla_half_to_float(half);
        }
        if (!isfinite(to[i])) {
            return cla_fail(CLA_E_NUMERIC,
                            "%s: array '%s' holds numbers that are not finite",
                            r->zip.path, name);
        }
    }
    return CLA_OK;
}

/* Reads an array [rows,columns] (rows 0: a vector). The caller frees the numbers. */
static cla_status take(release *r, const char *name, int64_t rows, int64_t columns,
                       float **numbers)
{
    cla_npy a = { 0 };
    char *bytes = NULL;
    *numbers = NULL;
    cla_status status = open_array(r, name, &a, &bytes);
    if (!status && !fits(&a, rows, columns)) {
        status = cla_fail(CLA_E_INPUT,
                          "%s: array '%s' has another type or shape than the settings "
                          "make it, [%lld,%lld]",
                          r->zip.path, name, (long long)(rows ? rows : 1),
                          (long long)columns);
    }
    status = status ? status : cla_alloc(numbers, (size_t)a.size + 1, sizeof **numbers);
    status = status ? status : take_floats(r, &a, name, *numbers);
    free(bytes);
    if (status) {
        free(*numbers);
        *numbers = NULL;
    }
    return status;
}

/* ---- tensors ----------------------------------------------------------------- */

/* Adds a transposed matrix [rows,columns], or a vector (rows 0). */
static cla_status add(release *r, const char *from, const char *to, int64_t rows,
                      int64_t columns)
{
    float *numbers = NULL, *made = NULL;
    const int64_t high = rows ? columns : 0, wide = rows ? rows : columns;
    cla_status status = cla_made_add(&r->m->made, to, high, wide, &made);
    status = status ? status : take(r, from, rows, columns, &numbers);
    for (int64_t i = 0; i < (rows ? rows : 1) && !status; i++) {
        for (int64_t k = 0; k < columns; k++) {
            made[rows ? k * rows + i : k] = numbers[i * columns + k];
        }
    }
    free(numbers);
    return status;
}

static cla_status add_layer(release *r, const char *stack, int layer)
{
    enum { VECTOR, MODEL, INNER };
    static const struct {
        const char *from, *to;
        int rows, columns;
    } parts[] = {
        { "self_Wq", "self_attn.q_proj.weight", MODEL, MODEL },
        { "self_bq", "self_attn.q_proj.bias", VECTOR, MODEL },
        { "self_Wk", "self_attn.k_proj.weight", MODEL, MODEL },
        { "self_bk", "self_attn.k_proj.bias", VECTOR, MODEL },
        { "self_Wv", "self_attn.v_proj.weight", MODEL, MODEL },
        { "self_bv", "self_attn.v_proj.bias", VECTOR, MODEL },
        { "self_Wo", "self_attn.out_proj.weight", MODEL, MODEL },
        { "self_bo", "self_attn.out_proj.bias", VECTOR, MODEL },
        { "self_Wo_ln_scale", "self_attn_layer_norm.weight", VECTOR, MODEL },
        { "self_Wo_ln_bias", "self_attn_layer_norm.bias", VECTOR, MODEL },
        { "context_Wq", "encoder_attn.q_proj.weight", MODEL, MODEL },
        { "context_bq", "encoder_attn.q_proj.bias", VECTOR, MODEL },
        { "context_Wk", "encoder_attn.k_proj.weight", MODEL, MODEL },
        { "context_bk", "encoder_attn.k_proj.bias", VECTOR, MODEL },
        { "context_Wv", "encoder_attn.v_proj.weight", MODEL, MODEL },
        { "context_bv", "encoder_attn.v_proj.bias", VECTOR, MODEL },
        { "context_Wo", "encoder_attn.out_proj.weight", MODEL, MODEL },
        { "context_bo", "encoder_attn.out_proj.bias", VECTOR, MODEL },
        { "context_Wo_ln_scale", "encoder_attn_layer_norm.weight", VECTOR, MODEL },
        { "context_Wo_ln_bias", "encoder_attn_layer_norm.bias", VECTOR, MODEL },
        { "ffn_W1", "fc1.weight", MODEL, INNER },
        { "ffn_b1", "fc1.bias", VECTOR, INNER },
        { "ffn_W2", "fc2.weight", INNER, MODEL },
        { "ffn_b2", "fc2.bias", VECTOR, MODEL },
        { "ffn_ffn_ln_scale", "final_layer_norm.weight", VECTOR, MODEL },
        { "ffn_ffn_ln_bias", "final_layer_norm.bias", VECTOR, MODEL },
    };
    const int64_t size[] = { 0, r->m->model, r->m->inner };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char from[NAME], to[NAME];
        if (*stack == 'e' && strncmp(parts[i].from, "context", 7) == 0) {
            continue;
        }
        snprintf(from, sizeof from, "%s_l%d_%s", stack, layer + 1, parts[i].from);
        snprintf(to, sizeof to, "model.%s.layers.%d.%s", stack, layer, parts[i].to);
        CLA_TRY(add(r, from, to, size[parts[i].rows], size[parts[i].columns]));
    }
    return CLA_OK;
}

/* Adds a table with a row more than Marian's, for <pad>. The row is zeros, with which
 * Marian's decoder starts. */
static cla_status add_table(release *r, const char *from, const char *to,
                            int64_t pieces)
{
    const int64_t D = r->m->model;
    float *numbers = NULL, *made = NULL;
    CLA_TRY(cla_made_add(&r->m->made, to, pieces, D, &made));
    CLA_TRY(take(r, from, pieces - 1, D, &numbers));
    memcpy(made, numbers, (size_t)((pieces - 1) * D) * sizeof *made);
    free(numbers);
    return CLA_OK;
}

/* Adds the output matrix, which is [D,V], or [V,D] if its name ends in t. */
static cla_status add_output(release *r)
{
    static const char turned[] = "decoder_ff_logit_out_Wt", to[] = "lm_head.weight";
    const int64_t D = r->m->model, V = r->m->target_pieces;
    if (find(r, turned)) {
        return add_table(r, turned, to, V);
    }
    float *numbers = NULL, *made = NULL;
    CLA_TRY(cla_made_add(&r->m->made, to, V, D, &made));
    CLA_TRY(take(r, "decoder_ff_logit_out_W", D, V - 1, &numbers));
    for (int64_t v = 0; v < V - 1; v++) {
        for (int64_t d = 0; d < D; d++) {
            made[v * D + d] = numbers[d * (V - 1) + v];
        }
    }
    free(numbers);
    return CLA_OK;
}

static cla_status add_tables(release *r)
{
    const marian *m = r->m;
    const int64_t V = m->target_pieces;
    float *numbers = NULL, *bias = NULL;
    if (m->shared) {
        CLA_TRY(add_table(r, "Wemb", "model.shared.weight", V));
    } else {
        CLA_TRY(add_table(r, "encoder_Wemb", "model.encoder.embed_tokens.weight",
                          m->source_pieces));
        CLA_TRY(add_table(r, "decoder_Wemb", "model.decoder.embed_tokens.weight", V));
    }
    CLA_TRY(m->tied ? CLA_OK : add_output(r));
    CLA_TRY(cla_made_add(&r->m->made, "final_logits_bias", 1, V, &bias));
    CLA_TRY(take(r, "decoder_ff_logit_out_b", 0, V - 1, &numbers));
    memcpy(bias, numbers, (size_t)(V - 1) * sizeof *bias);
    free(numbers);
    return CLA_OK;
}

cla_status cla_release_read_weights(release *r)
{
    CLA_TRY(add_tables(r));
    for (int i = 0; i < r->m->layers; i++) {
        CLA_TRY(add_layer(r, "encoder", i));
    }
    for (int i = 0; i < r->m->decoder_layers; i++) {
        CLA_TRY(add_layer(r, "decoder", i));
    }
    for (size_t i = 0; i < r->zip.count; i++) {
        if (!r->used[i]) {
            return cla_fail(CLA_E_INPUT, "%s: array '%.80s' is left over", r->zip.path,
                            r->zip.entries[i].name);
        }
    }
    return CLA_OK;
}
