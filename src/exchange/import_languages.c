/* import_languages.c - the languages of M2M-100 and mBART-50, and the numbers of
 * pieces that SentencePiece has. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "exchange/import_marian.h"
#include "text/sentencepiece.h"
#include "train/folder.h"

/* The languages of the model, in the order of their numbers. Source: Fan et al. 2021,
 * table 1, as fairseq and transformers number them. */
static const char m2m100[] =
    "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy "
    "ga gd gl gu ha he hi hr ht hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo "
    "lt lv mg mk ml mn mr ms my ne nl no ns oc or pa pl ps pt ro ru sd si sk sl so sq "
    "sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu";
static const char wmt21[] = "en ha is ja cs ru zh de";

static cla_status no_memory(const marian *m)
{
    return cla_fail(CLA_E_NOMEM, "%s: out of memory", m->dir);
}

/* Enters the languages of a list from the number `first` on, with `edge` on both sides
 * of a name. */
static cla_status add_listed(const marian *m, json_t *tokens, const char *list,
                             const char *edge, size_t first)
{
    for (const char *at = list; *at; first++) {
        const size_t size = strcspn(at, " ");
        char token[24];
        snprintf(token, sizeof token, "%s%.*s%s", edge, (int)size, at, edge);
        if (json_object_set_new(tokens, token, json_integer((json_int_t)first))) {
            return no_memory(m);
        }
        at += size + strspn(at + size, " ");
    }
    return CLA_OK;
}

cla_status cla_m2m100_add_languages(const marian *m, json_t *tokens)
{
    const json_t *codes = json_object_get(m->tokenizer.values, "language_codes");
    const char *name = json_string_value(codes);
    const bool other = name && strcmp(name, "wmt21") == 0;
    if (name && !other && strcmp(name, "m2m100") != 0) {
        return cla_config_refuse(&m->tokenizer, "language_codes",
                                 "is '%.80s', must be m2m100 or wmt21", name);
    }
    const size_t pieces = json_object_size(tokens);
    return add_listed(m, tokens, other ? wmt21 : m2m100, "__", pieces);
}

/* ---- NLLB ------------------------------------------------------------------------ */

/* Enters the pieces of a SentencePiece model under their own numbers. */
static cla_status add_as_numbered(const marian *m, json_t *tokens,
                                  const cla_text *pieces)
{
    json_int_t id = 0;
    const char *at = pieces->data, *end = at + pieces->size;
    for (; at < end; at += strlen(at) + 1, id++) {
        if (json_object_set_new(tokens, at, json_integer(id))) {
            return no_memory(m);
        }
    }
    return CLA_OK;
}

/* Enters the pieces of a SentencePiece model. fairseq has four tokens of its own in
 * place of the model's first three, so each other piece has the next number. */
static cla_status add_pieces(const marian *m, json_t *tokens, const cla_text *pieces)
{
    static const char *const own[] = { "<s>", "<pad>", "</s>", "<unk>" };
    enum { OWN = sizeof own / sizeof *own, REPLACED = 3 };
    json_int_t id = 0;
    for (int i = 0; i < OWN; i++) {
        if (json_object_set_new(tokens, own[i], json_integer(i))) {
            return no_memory(m);
        }
    }
    const char *at = pieces->data, *end = at + pieces->size;
    for (; at < end; at += strlen(at) + 1, id++) {
        if (id >= REPLACED && !json_object_get(tokens, at) &&
            json_object_set_new(tokens, at, json_integer(id + OWN - REPLACED))) {
            return no_memory(m);
        }
    }
    return CLA_OK;
}

static cla_status list_pieces(const marian *m, json_t *tokens)
{
    const char *name = cla_marian_pieces_file(m);
    cla_sentencepiece *model = NULL;
    cla_text path = { 0 }, pieces = { 0 };
    char *bytes = NULL;
    size_t size = 0;
    CLA_TRY(cla_marian_check_file(m->dir, name));
    cla_status status = cla_text_add(&path, "%s/%s", m->dir, name);
    status = status ? status : cla_file_read(path.data, &bytes, &size);
    status = status ? status : cla_sentencepiece_new(&model, path.data, bytes, size);
    status = status ? status : cla_sentencepiece_list(model, &pieces);
    status = status                   ? status
             : m->family == FAMILY_T5 ? add_as_numbered(m, tokens, &pieces)
                                      : add_pieces(m, tokens, &pieces);
    cla_sentencepiece_free(&model);
    free(bytes);
    cla_text_free(&pieces);
    cla_text_free(&path);
    return status;
}

cla_status cla_nllb_add_languages(const marian *m, json_t *tokens)
{
    json_t *root = NULL;
    cla_text path = { 0 };
    if (!cla_folder_holds(m->dir, "tokenizer.json") &&
        (m->family == FAMILY_T5 ||
         json_object_get(m->tokenizer.values, "added_tokens_decoder"))) {
        return CLA_OK; // which cla_marian_arrange reads
    }
    CLA_TRY(cla_marian_check_file(m->dir, "tokenizer.json"));
    cla_status status = cla_text_add(&path, "%s/tokenizer.json", m->dir);
    status = status ? status : cla_json_file(&root, path.data, CLA_SOURCE_FILE, 0);
    const json_t *added = json_object_get(root, "added_tokens");
    for (size_t i = 0; i < json_array_size(added) && !status; i++) {
        json_t *item = json_array_get(added, i);
        json_t *id = json_object_get(item, "id");
        const char *content = json_string_value(json_object_get(item, "content"));
        if (!content || !json_is_integer(id)) {
            status = cla_fail(CLA_E_INPUT, "%s: added_tokens[%zu] has no id or content",
                              path.data, i);
        } else if (json_object_set(tokens, content, id)) {
            status = no_memory(m);
        }
    }
    json_decref(root);
    cla_text_free(&path);
    return status;
}

/* The languages of mBART-50 in the order of their numbers, and the token behind them.
 * Source: Tang et al. 2020, as transformers numbers them. */
static const char mbart50[] =
    "ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ "
    "ko_KR "
    "lt_LT lv_LV my_MM ne_NP nl_XX ro_RO ru_RU si_LK tr_TR vi_VN zh_CN af_ZA az_AZ "
    "bn_IN "
    "fa_IR he_IL hr_HR id_ID ka_GE km_KH mk_MK ml_IN mn_MN mr_IN pl_PL ps_AF pt_XX "
    "sv_SE "
    "sw_KE ta_IN te_IN th_TH tl_XX uk_UA ur_PK xh_ZA gl_ES sl_SI <mask>";

cla_status cla_nllb_tokens(const marian *m, json_t **tokens)
{
    *tokens = json_object();
    if (!*tokens) {
        return no_memory(m);
    }
    CLA_TRY(list_pieces(m, *tokens));
    return m->family == FAMILY_MBART
               ? add_listed(m, *tokens, mbart50, "", json_object_size(*tokens))
               : cla_nllb_add_languages(m, *tokens);
}
