/* foreign_ctranslate2_t5.c - writes a T5, mT5 or MADLAD-400 as a CTranslate2 folder, as
 * the converter for transformers of its release 4 does. */
#include <math.h>
#include <stdio.h>

#include "exchange/foreign_ctranslate2.h"
#include "exchange/foreign_t5.h"
#include "exchange/t5.h"

enum { NAME = 96, LONG_NAME = 128, NAMES = 4 };

typedef struct writer {
    const t5_layout *l;
    cla_made made;
    ct2_file file;
    char (*names)[NAME]; // [NAMES * layers] of scalars and aliases in the file
    size_t named;
} writer;

/* ---- pieces ------------------------------------------------------------------ */

static cla_status list_tokens(const t5_layout *l, json_t *tokens)
{
    const cla_vocab *v = &l->f->t->source.vocab;
    int64_t next = 0;
    for (int64_t i = 0; i < l->rows; i++) {
        char unused[FOREIGN_UNUSED];
        const size_t at = (size_t)l->row[i];
        const char *token =
            at == CLA_PAD ? l->pad : cla_foreign_token(v, at, &next, unused);
        CLA_TRY(cla_ct2_add_token(l->f, tokens, at, token));
    }
    return CLA_OK;
}

static cla_status write_pieces(const t5_layout *l, cla_publish *p)
{
    const cla_text *codes = &l->f->t->source.codes;
    json_t *tokens = json_array();
    const cla_status status = tokens ? list_tokens(l, tokens) : CLA_OK;
    if (status) {
        json_decref(tokens);
        return status;
    }
    CLA_TRY(cla_foreign_write_json(p, "shared_vocabulary.json", tokens));
    return cla_foreign_write(p, "spiece.model", codes->data, codes->size);
}

/* ---- layers ------------------------------------------------------------------ */

static cla_status add_linear(writer *w, const char *stack, int i, const t5_linear *l)
{
    const coder_config *c = &w->l->f->t->config.coder;
    char from[NAME], to[LONG_NAME];
    int parts = 1;
    while (parts < 3 && l->part[parts]) {
        parts++;
    }
    const int64_t out = parts * cla_t5_width(l->out, c->model, c->inner,
                                             c->heads * cla_coder_head_width(c));
    snprintf(from, sizeof from, "%s.%d.%s", stack, i, l->name);
    snprintf(to, sizeof to, "%s/layer_%d/%s/weight", stack, i, l->ct2);
    return cla_foreign_add_linear(w->l->f, &w->made,
                                  &(foreign_linear){ from, 0, out, to, NULL });
}

/* Makes the name of a scalar or an alias of a layer, which the file needs until it is
 * written. */
static const char *name_of(writer *w, const char *stack, int i, const char *end)
{
    char *name = w->names[w->named++];
    snprintf(name, NAME, "%s/layer_%d/%s", stack, i, end);
    return name;
}

/* Adds the scalars of a layer, and its table of buckets, the one of the first layer. */
static cla_status add_small(writer *w, const char *stack, int i, const char *table)
{
    static const char end[] = "self_attention/relative_attention_bias";
    const coder_config *c = &w->l->f->t->config.coder;
    ct2_file *file = &w->file;
    CLA_TRY(cla_ct2_add_real(file, name_of(w, stack, i, "self_attention/queries_scale"),
                             1));
    CLA_TRY(cla_ct2_add_whole(
        file, name_of(w, stack, i, "self_attention/relative_attention_max_distance"),
        CT2_I32, c->bucket_reach));
    CLA_TRY(i ? cla_ct2_add_alias(file, name_of(w, stack, i, end), table) : CLA_OK);
    return *stack == 'd' ? cla_ct2_add_real(
                               file, name_of(w, stack, i, "attention/queries_scale"), 1)
                         : CLA_OK;
}

static cla_status add_layer(writer *w, const char *stack, int i, const char *table)
{
    const foreign *f = w->l->f;
    const coder_config *c = &f->t->config.coder;
    const bool decoder = *stack == 'd';
    char from[NAME], to[LONG_NAME];
    for (int k = 0; k < T5_LINEARS; k++) {
        const t5_linear *l = &cla_t5_linears[k];
        CLA_TRY(cla_t5_has(l, decoder, c->gated) ? add_linear(w, stack, i, l) : CLA_OK);
    }
    for (int k = 0; k < T5_NORMS; k++) {
        const t5_norm *n = &cla_t5_norms[k];
        if (n->cross && !decoder) continue;
        snprintf(from, sizeof from, "%s.%d.%s.gain", stack, i, n->name);
        snprintf(to, sizeof to, "%s/layer_%d/%s/layer_norm/gamma", stack, i, n->ct2);
        CLA_TRY(cla_foreign_add_same(f, &w->made, from, to, 0, c->model));
    }
    return add_small(w, stack, i, table);
}

static cla_status add_stack(writer *w, const char *stack, int layers, const char *table)
{
    const foreign *f = w->l->f;
    const coder_config *c = &f->t->config.coder;
    char from[NAME], to[LONG_NAME];
    for (int i = 0; i < layers; i++) {
        CLA_TRY(add_layer(w, stack, i, table));
    }
    snprintf(from, sizeof from, "%s.buckets", stack);
    CLA_TRY(cla_foreign_add_same(f, &w->made, from, table, c->buckets, c->heads));
    snprintf(from, sizeof from, "%s.norm.gain", stack);
    snprintf(to, sizeof to, "%s/layer_norm/gamma", stack);
    return cla_foreign_add_same(f, &w->made, from, to, 0, c->model);
}

/* ---- the file ---------------------------------------------------------------- */

static cla_status add_tables(writer *w)
{
    static const char decoder[] = "decoder/embeddings/weight",
                      output[] = "decoder/projection/weight";
    const t5_layout *l = w->l;
    CLA_TRY(
        cla_foreign_add_rows(l->f, &w->made, "target.table", decoder, l->row, l->rows));
    CLA_TRY(cla_ct2_add_alias(&w->file, "encoder/embeddings_0/weight", decoder));
    return l->f->t->config.tied == TRANSFORMER_TIED_ALL
               ? cla_ct2_add_alias(&w->file, output, decoder)
               : cla_foreign_add_rows(l->f, &w->made, "output.table", output, l->row,
                                      l->rows);
}

static cla_status add_scalars(writer *w)
{
    const transformer_config *c = &w->l->f->t->config;
    CLA_TRY(cla_ct2_add_scalars(w->l->f, &w->file, false));
    CLA_TRY(cla_ct2_add_whole(&w->file, "decoder/scale_embeddings", CT2_I8, 0));
    CLA_TRY(cla_ct2_add_whole(&w->file, "encoder/scale_embeddings", CT2_I8, 0));
    return c->output_scale ? cla_ct2_add_real(&w->file, "decoder/scale_outputs",
                                              (float)(1 / sqrt(c->coder.model)))
                           : CLA_OK;
}

static cla_status make(writer *w)
{
    const transformer_config *c = &w->l->f->t->model.config;
    const int layers = c->layers + c->decoder_layers;
    CLA_TRY(cla_alloc(&w->names, (size_t)(NAMES * layers), sizeof *w->names));
    CLA_TRY(add_tables(w));
    CLA_TRY(add_stack(w, "encoder", c->layers,
                      "encoder/layer_0/self_attention/relative_attention_bias"));
    CLA_TRY(add_stack(w, "decoder", c->decoder_layers,
                      "decoder/layer_0/self_attention/relative_attention_bias"));
    return add_scalars(w);
}

static cla_status write_weights(const t5_layout *l, cla_publish *p, bool half,
                                int64_t *numbers)
{
    writer w = { .l = l };
    cla_status status = make(&w);
    *numbers = w.made.numbers;
    status = status ? status : cla_ct2_save(l->f, p, &w.made, &w.file, half);
    cla_ct2_free(&w.file);
    cla_made_free(&w.made);
    free(w.names);
    return status;
}

cla_status cla_foreign_ctranslate2_t5(const foreign *f, cla_publish *p, bool half,
                                      int64_t *numbers)
{
    const transformer_config *c = &f->t->config;
    t5_layout l;
    cla_status status = cla_t5_layout(&l, f);
    const char *start = c->start_end       ? cla_special_names[CLA_EOS]
                        : c->start_unknown ? cla_special_names[CLA_UNK]
                                           : l.pad;
    status = status ? status : write_weights(&l, p, half, numbers);
    status = status ? status : write_pieces(&l, p);
    status = status ? status : cla_ct2_write_settings(f, p, l.pad, start, 1e-6);
    cla_t5_layout_free(&l);
    return status;
}
