/* import_lm_settings.c - reads config.json of a causal language model. */
#include <string.h>

#include "base/platform.h"
#include "exchange/import_lm.h"
#include "exchange/import_marian.h"
#include "train/folder.h"

typedef struct reader {
    cla_config config; // theirs
    const lm_family *family;
    json_t *values; // ours
} reader;

/* Opens config.json of a folder. */
static cla_status open_config(cla_config *config, const char *from)
{
    cla_text path = { 0 };
    cla_status status = cla_marian_check_file(from, "config.json");
    status = status ? status : cla_text_add(&path, "%s/config.json", from);
    status = status ? status : cla_config_read(config, path.data);
    cla_text_free(&path);
    if (!status) {
        cla_marian_drop_nulls(config->values);
    }
    return status;
}

static const lm_family *family_of(const cla_config *config)
{
    const char *type = json_string_value(json_object_get(config->values, "model_type"));
    const lm_family *f = cla_lm_families;
    while (type && f->type && strcmp(f->type, type) != 0) {
        f++;
    }
    return type && f->type ? f : NULL;
}

bool cla_lm_is_folder(const char *from)
{
    cla_config config = { 0 };
    const bool is = !open_config(&config, from) && family_of(&config);
    cla_config_fini(&config);
    return is;
}

static cla_status set(const reader *r, const char *key, json_t *value)
{
    return json_object_set_new(r->values, key, value)
               ? cla_fail(CLA_E_NOMEM, "import: out of memory")
               : CLA_OK;
}

/* ---- settings of both ---------------------------------------------------------- */

static cla_status read_key(reader *r, const lm_key *k)
{
    enum { MOST = 1 << 24 };
    if (k->type == LM_INT) {
        int value = (int)k->usual;
        CLA_TRY(cla_config_int(&r->config, k->theirs, &value, 1, MOST));
        return set(r, k->ours, json_integer(value));
    }
    if (k->type == LM_REAL) {
        double value = k->usual;
        CLA_TRY(cla_config_double(&r->config, k->theirs, &value, 0, 0.99));
        return set(r, k->ours, json_real(value));
    }
    bool value = k->usual > 0;
    CLA_TRY(cla_config_bool(&r->config, k->theirs, &value));
    return set(r, k->ours, json_boolean(value));
}

/* Refuses a key that has another value than this one, which is that of a file without
 * it. */
static cla_status must_be(reader *r, const char *key, bool want)
{
    bool value = want;
    CLA_TRY(cla_config_bool(&r->config, key, &value));
    return value == want
               ? CLA_OK
               : cla_config_refuse(&r->config, key, "is %s: such models are not read",
                                   value ? "true" : "false");
}

/* Reads the activation of the feed-forward blocks. */
static cla_status read_activation(reader *r, const char *key, int usual, bool gated)
{
    static const struct {
        const char *theirs, *ours, *gate;
    } known[] = {
        { "gelu_new", "gelu_tanh", NULL }, { "gelu_pytorch_tanh", "gelu_tanh", NULL },
        { "gelu", "gelu", "geglu" },       { "silu", "silu", "swiglu" },
        { "swish", "silu", "swiglu" },     { "relu", "relu", NULL },
        { "tanh", "tanh", NULL },          { "sigmoid", "sigmoid", NULL },
    };
    enum { KNOWN = sizeof known / sizeof *known };
    const char *names[KNOWN + 1] = { NULL };
    for (int i = 0; i < KNOWN; i++) {
        names[i] = known[i].theirs;
    }
    CLA_TRY(cla_config_choice(&r->config, key, names, &usual));
    const char *ours = gated ? known[usual].gate : known[usual].ours;
    return ours ? set(r, "feed_forward", json_string(ours))
                : cla_config_refuse(&r->config, key, "is '%s', which has no gate here",
                                    names[usual]);
}

/* ---- GPT-2 --------------------------------------------------------------------- */

static cla_status read_gpt2(reader *r)
{
    int D = (int)json_integer_value(json_object_get(r->values, "dim")), inner = 4 * D;
    CLA_TRY(cla_config_int(&r->config, "n_inner", &inner, 1, 1 << 16));
    CLA_TRY(set(r, "inner", json_integer(inner)));
    CLA_TRY(must_be(r, "scale_attn_weights", true));
    CLA_TRY(must_be(r, "scale_attn_by_inverse_layer_idx", false));
    CLA_TRY(must_be(r, "add_cross_attention", false));
    return read_activation(r, "activation_function", 0, false);
}

/* ---- Llama --------------------------------------------------------------------- */

/* A window of n pieces, the own one included, is one of 2n - 1 around it, of which the
 * later ones are not seen. */
static cla_status read_window(reader *r)
{
    int window = 0;
    const int context = (int)json_integer_value(json_object_get(r->values, "context"));
    const bool mistral = strcmp(r->family->type, "mistral") == 0;
    if (!mistral) {
        return CLA_OK;
    }
    CLA_TRY(cla_config_int(&r->config, "sliding_window", &window, 1, 1 << 24));
    if (!window || window >= context) {
        return CLA_OK;
    }
    CLA_TRY(set(r, "attention", json_string("csan1d")));
    return window <= 32768 ? set(r, "window", json_integer(2 * window - 1))
                           : cla_config_refuse(&r->config, "sliding_window",
                                               "is %d, more than 32768", window);
}

static cla_status read_llama(reader *r)
{
    cla_config *c = &r->config;
    const int heads = (int)json_integer_value(json_object_get(r->values, "heads"));
    const int D = (int)json_integer_value(json_object_get(r->values, "dim"));
    const int context = (int)json_integer_value(json_object_get(r->values, "context"));
    int shared = heads, width = D / heads;
    bool biases = false, feed = false;
    CLA_TRY(cla_config_int(c, "num_key_value_heads", &shared, 1, 256));
    CLA_TRY(set(r, "kv_heads", json_integer(shared)));
    CLA_TRY(cla_config_int(c, "head_dim", &width, 1, 1 << 14));
    if (width * heads != D) {
        return cla_config_refuse(c, "head_dim", "is %d, must be %d / %d", width, D,
                                 heads);
    }
    CLA_TRY(cla_config_bool(c, "attention_bias", &biases));
    CLA_TRY(cla_config_bool(c, "mlp_bias", &feed));
    if (biases != feed) {
        return cla_config_refuse(c, "attention_bias",
                                 "is %s and mlp_bias is %s: they must be the same",
                                 biases ? "true" : "false", feed ? "true" : "false");
    }
    CLA_TRY(set(r, "bias", json_boolean(biases)));
    CLA_TRY(set(r, "dropout", json_real(0)));
    CLA_TRY(cla_lm_read_rope(c, r->values, context));
    CLA_TRY(read_window(r));
    return read_activation(r, "hidden_act", 3, true);
}

/* ---- all of it ------------------------------------------------------------------ */

/* Reads the numbers of the pieces that end a text: one, or a list. */
static cla_status read_ends(cla_config *config, lm_ends *ends)
{
    static const char key[] = "eos_token_id";
    const json_t *value = json_object_get(config->values, key);
    const size_t count = json_is_array(value) ? json_array_size(value) : value != NULL;
    bool good = count <= LM_ENDS && (count || !value);
    ends->count = good ? (int)count : 0;
    for (int i = 0; i < ends->count; i++) {
        const json_t *id = json_is_array(value) ? json_array_get(value, i) : value;
        const json_int_t number = json_is_integer(id) ? json_integer_value(id) : -1;
        good = good && number >= 0 && number < 1 << 24;
        ends->id[i] = (int)number;
    }
    return good ? CLA_OK
                : cla_config_refuse(config, key,
                                    "must be a number of a piece, or 1 to %d of them",
                                    LM_ENDS);
}

/* Reads those of generation_config.json in place of those of config.json. */
static cla_status read_generation(const char *from, lm_ends *ends)
{
    static const char name[] = "generation_config.json";
    cla_config config = { 0 };
    cla_text path = { 0 };
    CLA_TRY(cla_text_add(&path, "%s/%s", from, name));
    cla_status status = CLA_OK;
    if (cla_os_may(path.data, CLA_MAY_BE)) {
        status = cla_marian_check_file(from, name);
        status = status ? status : cla_config_read(&config, path.data);
        if (!status) {
            cla_marian_drop_nulls(config.values);
        }
        const bool has = !status && json_object_get(config.values, "eos_token_id");
        status = has ? read_ends(&config, ends) : status;
        cla_config_fini(&config);
    }
    cla_text_free(&path);
    return status;
}

static cla_status read_all(reader *r, lm_ends *ends)
{
    r->family = family_of(&r->config);
    if (!r->family) {
        return cla_config_refuse(&r->config, "model_type", "is of no language model");
    }
    CLA_TRY(set(r, "model", json_string("lm")));
    CLA_TRY(set(r, "data", json_string(".")));
    CLA_TRY(set(r, "preset", json_string(r->family->preset)));
    CLA_TRY(set(r, "pieces", json_string("tokenizer")));
    CLA_TRY(set(r, "tokenizer", json_string("tokenizer.json")));
    for (const lm_key *k = r->family->key; k->theirs; k++) {
        CLA_TRY(read_key(r, k));
    }
    CLA_TRY(strcmp(r->family->type, "gpt2") == 0 ? read_gpt2(r) : read_llama(r));
    return read_ends(&r->config, ends);
}

cla_status cla_lm_read_settings(const char *from, const lm_family **family,
                                cla_config *settings, lm_ends *ends)
{
    reader r = { .values = json_object() };
    cla_status status = open_config(&r.config, from);
    status = status ? status : read_all(&r, ends);
    status = status ? status : read_generation(from, ends);
    status = status ? status : cla_strdup(&settings->path, r.config.path);
    *family = r.family;
    settings->values = r.values;
    settings->known = json_object();
    cla_config_fini(&r.config);
    return status;
}
