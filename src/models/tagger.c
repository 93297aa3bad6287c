/* tagger.c - the self-attention tagger.
 *
 *   e = [word (+ position) | letters]; h_0 = e
 *   u = dropout(h), h = u + attention(u), layer after layer
 *   scores = [e | h] W + b
 *
 * No projection after the heads, no feed-forward block, no norm; the residual adds the
 * dropped-out input. */
#include "models/tagger.h"

#include <stdio.h>
#include <string.h>

static const char *const attention_names[] = { "softmax", "conv2d", "conv", "custom",
                                               NULL };
static const char *const position_names[] = { "none", "add", "concat", "p",
                                              "r",    "p_r", NULL };
static const char *const relative_names[] = { "gather", "spectral", NULL };
static const char *const activation_names[] = { "none", "relu", "tanh", NULL };

cla_status tagger_configure(tagger_config *c, cla_config *s)
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
        .activation = CLA_RELU,
        .dropout = 0.1,
    };
    CLA_TRY(cla_config_choice(s, "attention", attention_names, &c->attention));
    CLA_TRY(cla_config_choice(s, "positions", position_names, &c->positions));
    CLA_TRY(cla_config_choice(s, "activation", activation_names, &c->activation));
    CLA_TRY(cla_config_choice(s, "rel_mode", relative_names, &c->rel_mode));
    CLA_TRY(cla_config_bool(s, "temperature", &c->temperature));
    CLA_TRY(cla_config_int(s, "length", &c->length, 1, 4096));
    CLA_TRY(cla_config_int(s, "word_dim", &c->word_dim, 1, 4096));
    CLA_TRY(cla_config_int(s, "char_dim", &c->char_dim, 1, 1024));
    CLA_TRY(cla_config_int(s, "char_length", &c->char_length, 1, 256));
    CLA_TRY(cla_config_int(s, "char_layers", &c->char_layers, 1, CHAR_LAYERS));
    CLA_TRY(cla_config_int(s, "position_dim", &c->position_dim, 1, 1024));
    CLA_TRY(cla_config_int(s, "layers", &c->layers, 1, TAGGER_LAYERS));
    CLA_TRY(cla_config_int(s, "heads", &c->heads, 1, 256));
    const bool custom = strcmp(attention_names[c->attention], "custom") == 0;
    CLA_TRY(custom ? cla_custom_configure(&c->custom, s) : cla_custom_know(s));
    return cla_config_double(s, "dropout", &c->dropout, 0, 0.99);
}

static bool has_table(const tagger_config *c)
{
    return c->positions == TAGGER_POSITIONS_ADD ||
           c->positions == TAGGER_POSITIONS_CONCAT;
}

/* Positions P, R or both, in the first layer's scores. */
static bool is_direct(const tagger_config *c)
{
    return c->positions >= TAGGER_POSITIONS_P;
}

bool tagger_tied(const tagger_config *c)
{
    return c->positions != TAGGER_POSITIONS_NONE ||
           strcmp(attention_names[c->attention], "conv") == 0;
}

static attn_config layer_config(const tagger_config *c, int width, int layer)
{
    const bool direct = is_direct(c) && layer == 0;
    return (attn_config){
        .variant = direct ? "direct" : attention_names[c->attention],
        .model = width,
        .heads = c->heads,
        .width = width / c->heads,
        .temperature = c->temperature,
        .activation = (cla_activation)c->activation,
        .length = c->length,
        .absolute = c->positions != TAGGER_POSITIONS_R,
        .relative = c->positions != TAGGER_POSITIONS_P,
        .spectral = c->rel_mode == 1,
        .custom = &c->custom,
    };
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
    if (is_direct(c) && c->attention) {
        return cla_fail(CLA_E_INPUT,
                        "tagger: positions '%s' are scores of plain attention, and "
                        "attention is '%s'",
                        position_names[c->positions], attention_names[c->attention]);
    }
    return CLA_OK;
}

static cla_status add_tables(tagger *m, cla_params *params)
{
    const tagger_config *c = &m->config;
    const cla_init uniform = { CLA_INIT_UNIFORM, 0.05, 0, 0 };
    CLA_TRY(cla_param_add(params, &m->word_table, uniform, 2,
                          (int64_t[]){ c->words, c->word_dim }, "word.table"));
    if (has_table(c)) {
        const int dim =
            c->positions == TAGGER_POSITIONS_ADD ? c->word_dim : c->position_dim;
        CLA_TRY(cla_param_add(params, &m->position_table, uniform, 2,
                              (int64_t[]){ c->length, dim }, "position.table"));
    }
    m->encoder = (char_encoder){ c->chars, c->char_length, c->char_dim, c->char_layers,
                                 NULL,     { NULL },       { NULL } };
    return char_encoder_init(&m->encoder, params, "char");
}

cla_status tagger_init(tagger *m, const tagger_config *config, cla_params *params)
{
    *m = (tagger){ .config = *config };
    const tagger_config *c = &m->config;
    m->width = c->word_dim + c->char_dim +
               (c->positions == TAGGER_POSITIONS_CONCAT ? c->position_dim : 0);
    CLA_TRY(check(c, m->width));
    CLA_TRY(add_tables(m, params));
    for (int i = 0; i < c->layers; i++) {
        char prefix[32];
        snprintf(prefix, sizeof prefix, "layer.%d", i);
        const attn_config a = layer_config(c, m->width, i);
        CLA_TRY(cla_attn_init(&m->layer[i], &a, params, prefix));
    }
    const int64_t in = 2 * (int64_t)m->width, tags = c->tags;
    CLA_TRY(cla_param_matrix(params, &m->out, in, tags, "out.weight"));
    return cla_param_zeros(params, &m->out_bias, tags, "out.bias");
}

/* Word and position embeddings, together [N, width - char_dim]. */
static cla_status embed_words(tagger *m, cla_tape *tape, cla_tensor **x,
                              const tagger_batch *b)
{
    cla_tensor *ids = NULL, *places = NULL, *position = NULL;
    CLA_TRY(cla_tape_ids(tape, &ids, b->tokens, b->word));
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

/* Letters once for each distinct word, then a copy to each of its places. */
static cla_status embed_letters(tagger *m, cla_tape *tape, cla_tensor **x,
                                const tagger_batch *b)
{
    cla_tensor *letters = NULL, *spelling = NULL, *distinct = NULL;
    CLA_TRY(
        cla_tape_ids(tape, &letters, b->spellings * m->config.char_length, b->letters));
    CLA_TRY(char_encoder_forward(&m->encoder, tape, &distinct, letters));
    CLA_TRY(cla_tape_ids(tape, &spelling, b->tokens, b->spelling));
    return cla_embedding(tape, x, distinct, spelling, 1);
}

cla_status tagger_logits(tagger *m, cla_tape *tape, cla_tensor **logits,
                         const tagger_batch *b, cla_tensor **map)
{
    cla_tensor *words = NULL, *letters = NULL, *e = NULL, *h = NULL, *o = NULL,
               *both = NULL;
    const int64_t shape[] = { b->tokens, m->width };
    CLA_TRY(embed_words(m, tape, &words, b));
    CLA_TRY(embed_letters(m, tape, &letters, b));
    CLA_TRY(cla_concat(tape, &e, words, letters));
    h = e;
    for (int i = 0; i < m->config.layers; i++) {
        if (cla_tape_training(tape) && m->config.dropout > 0) {
            CLA_TRY(cla_dropout(tape, &h, h, (float)m->config.dropout));
        }
        CLA_TRY(
            cla_attn_forward(&m->layer[i], tape, &o, h, b->rows, map ? &map[i] : NULL));
        CLA_TRY(cla_tensor_reshape(tape, &o, o, 2, shape));
        CLA_TRY(cla_add(tape, &h, h, o));
    }
    CLA_TRY(cla_concat(tape, &both, e, h));
    return cla_linear(tape, logits, both, m->out, m->out_bias, CLA_NONE, NULL);
}

cla_status tagger_loss(tagger *m, cla_tape *tape, cla_tensor **loss,
                       const tagger_batch *b)
{
    cla_tensor *logits = NULL, *targets = NULL;
    CLA_TRY(tagger_logits(m, tape, &logits, b, NULL));
    CLA_TRY(cla_tape_ids(tape, &targets, b->tokens, b->tag));
    return cla_cross_entropy(tape, loss, logits, targets, 0);
}
