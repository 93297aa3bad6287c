/* tagger.c - the self-attention tagger.
 *
 *   e = [word (+ position) | letters]; h_0 = e
 *   u = dropout(h), h = u + attention(u), layer after layer
 *   scores = [e | h] W + b
 *
 * There is no projection after the heads, no feed-forward block and no norm. The
 * residual connection adds the input after dropout. */
#include "models/tagger.h"

#include <stdio.h>
#include <string.h>

#include "clattn/feed.h"
#include "ops/activation.h"

static const char *const position_names[] = { "none", "add", "concat", "p",
                                              "r",    "p_r", NULL };

static int width_of(const tagger_config *c)
{
    const bool beside = c->positions == TAGGER_POSITIONS_CONCAT;
    return c->word_dim + c->char_dim + (beside ? c->position_dim : 0);
}

/* Returns whether positions are learned scores (P, R or both) of softmax attention, by
 * default in the first layer. */
static bool is_direct(const tagger_config *c)
{
    return c->positions >= TAGGER_POSITIONS_P;
}

/* Reads "activation", the name of "map_activation" in configs of older versions. */
static cla_status read_activation(cla_config *s)
{
    static const char *const older[] = { "activation", NULL };
    int chosen = 0;
    if (!json_object_get(s->values, "activation")) {
        return cla_config_know(s, older);
    }
    CLA_TRY(cla_config_choice(s, "activation", cla_activation_names, &chosen));
    const char *name = cla_activation_names[chosen];
    CLA_TRY(cla_config_complete(s, json_pack("{s:s}", "map_activation", name)));
    const char *now = json_string_value(json_object_get(s->values, "map_activation"));
    return now && strcmp(now, name) == 0
               ? CLA_OK
               : cla_config_refuse(s, "activation",
                                   "is '%s', and map_activation, its newer name, is "
                                   "something else",
                                   name);
}

/* Reads the attention, its keys, and the layers that have it. */
static cla_status read_attention(tagger_config *c, cla_config *s)
{
    CLA_TRY(read_activation(s));
    CLA_TRY(cla_config_complete(s, json_pack("{s:s}", "rel_mode", "gather")));
    c->attn = (attn_config){ .model = width_of(c),
                             .heads = c->heads,
                             .width = width_of(c) / c->heads,
                             .length = c->length,
                             .bare = true };
    CLA_TRY(cla_config_bool(s, "temperature", &c->attn.temperature));
    CLA_TRY(cla_attn_configure(&c->attn, s));
    const bool plain = strcmp(c->attn.way->name, "softmax") == 0;
    if (is_direct(c) && plain) {
        CLA_TRY(cla_attn_choose(&c->attn, &cla_attn_direct, s));
    }
    c->first = 1;
    c->last = is_direct(c) && plain ? 1 : c->layers;
    return cla_attn_layers(&c->first, &c->last, s, c->layers);
}

cla_status cla_tagger_configure(tagger_config *c, cla_config *s)
{
    *c = (tagger_config){
        .length = 60,
        .word_dim = 128,
        .char_dim = 64,
        .char_length = 20,
        .char_layers = 3,
        .position_dim = 64,
        .layers = 4,
        .heads = 4,
        .positions = TAGGER_POSITIONS_ADD,
        .dropout = 0.1,
        .train_words = true,
    };
    CLA_TRY(cla_config_choice(s, "positions", position_names, &c->positions));
    CLA_TRY(cla_config_bool(s, "train_words", &c->train_words));
    CLA_TRY(cla_config_int(s, "length", &c->length, 1, 4096));
    CLA_TRY(cla_config_int(s, "word_dim", &c->word_dim, 1, 4096));
    CLA_TRY(cla_config_int(s, "char_dim", &c->char_dim, 1, 1024));
    CLA_TRY(cla_config_int(s, "char_length", &c->char_length, 1, 256));
    CLA_TRY(cla_config_int(s, "char_layers", &c->char_layers, 1, CHAR_LAYERS));
    CLA_TRY(cla_config_int(s, "position_dim", &c->position_dim, 1, 1024));
    CLA_TRY(cla_config_int(s, "layers", &c->layers, 1, TAGGER_LAYERS));
    CLA_TRY(cla_config_int(s, "heads", &c->heads, 1, 256));
    CLA_TRY(cla_config_double(s, "dropout", &c->dropout, 0, 0.99));
    return read_attention(c, s);
}

static const char *text_of(const cla_config *s, const char *key, const char *missing)
{
    const char *text = json_string_value(json_object_get(s->values, key));
    return text ? text : missing;
}

/* Adds the keys of newer versions, with the meaning that runs without them had. */
cla_status cla_tagger_renew(cla_config *settings, const cla_config *run)
{
    const json_t *layers = json_object_get(run->values, "layers");
    char range[32];
    snprintf(range, sizeof range, "1-%d",
             *text_of(run, "positions", "add") == 'p'   ? 1
             : *text_of(run, "positions", "add") == 'r' ? 1
             : layers ? (int)json_integer_value(layers)
                      : 4);
    if (!json_object_get(run->values, "attention_layers")) {
        CLA_TRY(cla_config_complete(settings,
                                    json_pack("{s:s}", "attention_layers", range)));
    }
    if (!json_object_get(run->values, "activation")) {
        return CLA_OK;
    }
    const char *name = text_of(settings, "map_activation", "relu");
    CLA_TRY(cla_config_complete(settings, json_pack("{s:s}", "activation", name)));
    name = text_of(settings, "activation", "relu");
    return cla_config_complete(settings, json_pack("{s:s}", "map_activation", name));
}

static bool has_table(const tagger_config *c)
{
    return c->positions == TAGGER_POSITIONS_ADD ||
           c->positions == TAGGER_POSITIONS_CONCAT;
}

bool cla_tagger_tied(const tagger_config *c)
{
    return c->positions != TAGGER_POSITIONS_NONE || cla_attn_way(&c->attn)->tied;
}

static attn_config layer_config(const tagger_config *c, int layer)
{
    attn_config a = c->attn;
    a.way = layer + 1 >= c->first && layer + 1 <= c->last ? a.way : NULL;
    a.length = c->length; // the task may have changed it
    return a;
}

static cla_status check(const tagger_config *c, int width)
{
    if (width % c->heads) {
        return cla_fail(CLA_E_INPUT,
                        "tagger: width %d (words %d, letters %d%s) is no multiple "
                        "of %d heads",
                        width, c->word_dim, c->char_dim,
                        c->positions == TAGGER_POSITIONS_CONCAT ? ", positions" : "",
                        c->heads);
    }
    if (is_direct(c) && c->attn.way != &cla_attn_direct) {
        return cla_fail(CLA_E_INPUT,
                        "tagger: positions '%s' are scores of plain attention, and "
                        "attention is '%s'",
                        position_names[c->positions], cla_attn_way(&c->attn)->name);
    }
    return CLA_OK;
}

static cla_status add_tables(tagger *m, cla_params *params)
{
    const tagger_config *c = &m->config;
    const cla_init uniform = { CLA_INIT_UNIFORM, 0.05, 0, 0 };
    CLA_TRY(cla_param_add(params, &m->word_table, uniform, 2,
                          (int64_t[]){ c->words, c->word_dim }, "word.table"));
    cla_param_for(params, CLA_PARAM_TABLE);
    if (has_table(c)) {
        const int dim =
            c->positions == TAGGER_POSITIONS_ADD ? c->word_dim : c->position_dim;
        CLA_TRY(cla_param_add(params, &m->position_table, uniform, 2,
                              (int64_t[]){ c->length, dim }, "position.table"));
        cla_param_for(params, CLA_PARAM_TABLE);
    }
    m->encoder = (char_encoder){ c->chars, c->char_length, c->char_dim, c->char_layers,
                                 NULL,     { NULL },       { NULL } };
    return cla_char_encoder_init(&m->encoder, params, "char");
}

cla_status cla_tagger_init(tagger *m, const tagger_config *config, cla_params *params)
{
    *m = (tagger){ .config = *config };
    const tagger_config *c = &m->config;
    m->width = width_of(c);
    CLA_TRY(check(c, m->width));
    CLA_TRY(add_tables(m, params));
    for (int i = 0; i < c->layers; i++) {
        char prefix[32];
        snprintf(prefix, sizeof prefix, "layer.%d", i);
        const attn_config a = layer_config(c, i);
        CLA_TRY(cla_attn_init(&m->layer[i], &a, params, prefix, false));
    }
    const int64_t in = 2 * (int64_t)m->width, tags = c->tags;
    CLA_TRY(cla_param_matrix(params, &m->out, in, tags, "out.weight"));
    cla_param_for(params, CLA_PARAM_LINEAR);
    return cla_param_zeros(params, &m->out_bias, tags, "out.bias");
}

/* Computes word and position embeddings, together [N, width - char_dim]. */
static cla_status embed_words(tagger *m, cla_tape *tape, cla_tensor **x,
                              const tagger_batch *b)
{
    cla_tensor *ids = NULL, *places = NULL, *position = NULL;
    CLA_TRY(cla_tape_ids(tape, &ids, b->tokens, b->word));
    if (!m->config.train_words) {
        cla_tensor_want_grad(m->word_table, false);
    }
    CLA_TRY(cla_embedding(tape, x, m->word_table, ids, 1));
    if (!has_table(&m->config)) {
        return CLA_OK;
    }
    CLA_TRY(cla_tape_ids(tape, &places, b->tokens, b->position));
    CLA_TRY(cla_embedding(tape, &position, m->position_table, places, 1));
    return m->config.positions == TAGGER_POSITIONS_ADD
               ? cla_add(tape, x, *x, position)
               : cla_concat(tape, x, *x, position);
}

/* Encodes the letters of each distinct word once, then copies it to its tokens. */
static cla_status embed_letters(tagger *m, cla_tape *tape, cla_tensor **x,
                                const tagger_batch *b)
{
    cla_tensor *letters = NULL, *spelling = NULL, *distinct = NULL;
    CLA_TRY(
        cla_tape_ids(tape, &letters, b->spellings * m->config.char_length, b->letters));
    CLA_TRY(cla_char_encoder_forward(&m->encoder, tape, &distinct, letters));
    CLA_TRY(cla_tape_ids(tape, &spelling, b->tokens, b->spelling));
    return cla_embedding(tape, x, distinct, spelling, 1);
}

cla_status cla_tagger_logits(tagger *m, cla_tape *tape, cla_tensor **logits,
                             const tagger_batch *b, cla_tensor **map)
{
    cla_tensor *words = NULL, *letters = NULL, *e = NULL, *h = NULL, *o = NULL,
               *qkv = NULL, *both = NULL;
    CLA_TRY(embed_words(m, tape, &words, b));
    CLA_TRY(embed_letters(m, tape, &letters, b));
    CLA_TRY(cla_concat(tape, &e, words, letters));
    const float p = cla_tape_training(tape) ? (float)m->config.dropout : 0;
    CLA_TRY(cla_dropout(tape, &h, e, m->config.layers ? p : 0));
    for (int i = 0; i < m->config.layers; i++) {
        const attn_rows rows = { .query = b->rows,
                                 .key = b->rows,
                                 .map = map ? &map[i] : NULL };
        CLA_TRY(cla_attn_project(&m->layer[i], tape, &qkv, h, NULL));
        CLA_TRY(cla_attn_self(&m->layer[i], tape, &o, qkv, qkv, &rows));
        const bool last = i == m->config.layers - 1;
        CLA_TRY(
            cla_dropout_add(tape, &h, h, o, last ? 0 : p, true)); // for the next layer
    }
    CLA_TRY(cla_concat(tape, &both, e, h));
    return cla_linear(tape, logits, both, m->out, m->out_bias, CLA_NONE, NULL);
}

cla_status cla_tagger_loss(tagger *m, cla_tape *tape, cla_tensor **loss,
                           const tagger_batch *b)
{
    cla_tensor *logits = NULL, *targets = NULL;
    CLA_TRY(cla_tagger_logits(m, tape, &logits, b, NULL));
    CLA_TRY(cla_tape_ids(tape, &targets, b->tokens, b->tag));
    return cla_cross_entropy(tape, loss, logits, targets, 0);
}
