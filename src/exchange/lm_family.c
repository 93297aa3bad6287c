/* lm_family.c - the tables of GPT-2's and Llama's weights and settings. */
#include "exchange/lm_family.h"

#include <stdlib.h>
#include <string.h>

/* ---- GPT-2: Radford et al. 2019 ------------------------------------------------ */

static const lm_weight gpt2_weights[] = {
    { "table", { "wte.weight" }, false, false },
    { "places", { "wpe.weight" }, false, false },
    { "output", { "/lm_head.weight" }, false, false },
    { "norm.gain", { "ln_f.weight" }, false, false },
    { "norm.bias", { "ln_f.bias" }, false, false },
    { "self.norm.gain", { "ln_1.weight" }, true, false },
    { "self.norm.bias", { "ln_1.bias" }, true, false },
    { "self.in", { "attn.c_attn.weight" }, true, false },
    { "self.in_bias", { "attn.c_attn.bias" }, true, false },
    { "self.out", { "attn.c_proj.weight" }, true, false },
    { "self.out_bias", { "attn.c_proj.bias" }, true, false },
    { "feed.norm.gain", { "ln_2.weight" }, true, false },
    { "feed.norm.bias", { "ln_2.bias" }, true, false },
    { "feed.in", { "mlp.c_fc.weight" }, true, false },
    { "feed.in_bias", { "mlp.c_fc.bias" }, true, false },
    { "feed.out", { "mlp.c_proj.weight" }, true, false },
    { "feed.out_bias", { "mlp.c_proj.bias" }, true, false },
    { NULL, { NULL }, false, false },
};

static const lm_key gpt2_keys[] = {
    { "n_layer", "layers", LM_INT, 12 },
    { "n_embd", "dim", LM_INT, 768 },
    { "n_head", "heads", LM_INT, 12 },
    { "n_positions", "context", LM_INT, 1024 },
    { "vocab_size", "vocabulary", LM_INT, 50257 },
    { "layer_norm_epsilon", "norm_epsilon", LM_REAL, 1e-5 },
    { "resid_pdrop", "dropout", LM_REAL, 0.1 },
    { "attn_pdrop", "attention_dropout", LM_REAL, 0.1 },
    { "tie_word_embeddings", "tied", LM_BOOL, 1 },
    { NULL, NULL, LM_INT, 0 },
};

static const char *const gpt2_skipped[] = { ".attn.bias", ".attn.masked_bias", NULL };

/* ---- Llama: Touvron et al. 2023 ------------------------------------------------ */

static const lm_weight llama_weights[] = {
    { "table", { "embed_tokens.weight" }, false, false },
    { "output", { "/lm_head.weight" }, false, false },
    { "norm.gain", { "norm.weight" }, false, false },
    { "self.norm.gain", { "input_layernorm.weight" }, true, false },
    { "self.in",
      { "self_attn.q_proj.weight", "self_attn.k_proj.weight",
        "self_attn.v_proj.weight" },
      true,
      true },
    { "self.in_bias",
      { "self_attn.q_proj.bias", "self_attn.k_proj.bias", "self_attn.v_proj.bias" },
      true,
      true },
    { "self.out", { "self_attn.o_proj.weight" }, true, true },
    { "self.out_bias", { "self_attn.o_proj.bias" }, true, true },
    { "feed.norm.gain", { "post_attention_layernorm.weight" }, true, false },
    { "feed.in", { "mlp.up_proj.weight" }, true, true },
    { "feed.in_bias", { "mlp.up_proj.bias" }, true, true },
    { "feed.gate", { "mlp.gate_proj.weight" }, true, true },
    { "feed.gate_bias", { "mlp.gate_proj.bias" }, true, true },
    { "feed.out", { "mlp.down_proj.weight" }, true, true },
    { "feed.out_bias", { "mlp.down_proj.bias" }, true, true },
    { NULL, { NULL }, false, false },
};

static const lm_key llama_keys[] = {
    { "num_hidden_layers", "layers", LM_INT, 32 },
    { "hidden_size", "dim", LM_INT, 4096 },
    { "num_attention_heads", "heads", LM_INT, 32 },
    { "intermediate_size", "inner", LM_INT, 11008 },
    { "max_position_embeddings", "context", LM_INT, 2048 },
    { "vocab_size", "vocabulary", LM_INT, 32000 },
    { "rms_norm_eps", "norm_epsilon", LM_REAL, 1e-6 },
    { "attention_dropout", "attention_dropout", LM_REAL, 0 },
    { "tie_word_embeddings", "tied", LM_BOOL, 0 },
    { NULL, NULL, LM_INT, 0 },
};

static const char *const llama_skipped[] = { ".rotary_emb.inv_freq", NULL };

const lm_family cla_lm_families[] = {
    { "gpt2", "GPT2LMHeadModel", "transformer.", "h.", gpt2_weights, gpt2_keys, "gpt2",
      gpt2_skipped },
    { "llama", "LlamaForCausalLM", "model.", "layers.", llama_weights, llama_keys,
      "llama", llama_skipped },
    { "mistral", "MistralForCausalLM", "model.", "layers.", llama_weights, llama_keys,
      "llama", llama_skipped },
    { NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL },
};

/* ---- names --------------------------------------------------------------------- */

const lm_weight *cla_lm_weight(const lm_family *family, const char *name, int *layer)
{
    static const char start[] = "layer.";
    const lm_weight *w = family->weight;
    *layer = -1;
    if (strncmp(name, start, sizeof start - 1) == 0) {
        char *rest = NULL;
        *layer = (int)strtol(name + sizeof start - 1, &rest, 10);
        name = rest + 1;
    }
    while (w->ours && (w->layer != (*layer >= 0) || strcmp(w->ours, name) != 0)) {
        w++;
    }
    return w->ours ? w : NULL;
}

cla_status cla_lm_name(const lm_family *family, const lm_weight *weight, int layer,
                       int k, cla_text *name)
{
    const char *theirs = weight->theirs[k];
    if (*theirs == '/') {
        return cla_text_add(name, "%s", theirs + 1);
    }
    CLA_TRY(cla_text_add(name, "%s", family->prefix));
    CLA_TRY(weight->layer ? cla_text_add(name, "%s%d.", family->layer, layer) : CLA_OK);
    return cla_text_add(name, "%s", theirs);
}

int64_t cla_lm_columns(const lm_weight *weight, const cla_param *param, int64_t D,
                       int k)
{
    const int64_t all = param->shape[param->rank - 1];
    return !weight->theirs[1] ? all : k == 0 ? D : (all - D) / 2;
}
