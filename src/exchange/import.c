/* import.c - converts a model of another program to a translator's folder. */
#include "exchange/import.h"

#include <string.h>

#include "base/file.h"
#include "exchange/import_card.h"
#include "exchange/import_lm.h"
#include "nn/coder.h"
#include "tasks/translation/translation.h"
#include "text/sentencepiece.h"
#include "train/publish.h"

/* ---- SentencePiece models ---------------------------------------------------- */

/* Reads a number of seven bits a byte. Returns false if it is cut off or too long. */
static bool next_number(const unsigned char **at, const unsigned char *end,
                        uint64_t *number)
{
    *number = 0;
    for (int shift = 0; shift < 64 && *at < end; shift += 7) {
        const unsigned char byte = *(*at)++;
        *number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return true;
        }
    }
    return false;
}

/* Returns whether the message has the settings of trainer and normaliser, which follow
 * the pieces. Without this check a message cut off between two pieces is accepted. */
static bool is_whole(const char *bytes, size_t size)
{
    enum { BYTES = 2, TRAINER = 2, NORMALISER = 3 };
    const unsigned char *at = (const unsigned char *)bytes, *end = at + size;
    bool found[NORMALISER + 1] = { false };
    while (at < end) {
        uint64_t tag = 0, length = 0;
        if (!next_number(&at, end, &tag) || (tag & 7) != BYTES ||
            !next_number(&at, end, &length) || length > (uint64_t)(end - at)) {
            return false;
        }
        if (tag >> 3 <= NORMALISER) {
            found[tag >> 3] = true;
        }
        at += length;
    }
    return found[TRAINER] && found[NORMALISER];
}

static cla_status check_pieces(const char *path, const char *bytes, size_t size)
{
    cla_sentencepiece *model = NULL;
    const cla_status status = cla_sentencepiece_new(&model, path, bytes, size);
    cla_sentencepiece_free(&model);
    return status || is_whole(bytes, size)
               ? status
               : cla_fail(CLA_E_INPUT, "%s: the SentencePiece model is cut off", path);
}

static cla_status copy_pieces(cla_publish *p, const import_package *package,
                              const char *name, const char *to)
{
    cla_text path = { 0 };
    char *bytes = NULL, *target = NULL;
    size_t size = 0;
    cla_status status = cla_package_read(package, name, &path, &bytes, &size);
    status = status ? status : check_pieces(path.data, bytes, size);
    status = status ? status : cla_publish_file(p, to, &target);
    status = status ? status : cla_file_write(target, bytes, size);
    free(bytes);
    free(target);
    cla_text_free(&path);
    return status;
}

/* ---- the other files --------------------------------------------------------- */

static cla_status write_vocabulary(cla_publish *p, const char *name,
                                   const marian_pieces *pieces)
{
    char *path = NULL;
    cla_status status = cla_publish_file(p, name, &path);
    status = status ? status : cla_vocab_save(&pieces->vocab, path);
    free(path);
    return status;
}

static cla_status write_weights(cla_publish *p, marian *m, int64_t *numbers)
{
    char *path = NULL;
    cla_status status = cla_publish_file(p, "best.ckpt.safetensors", &path);
    status = status ? status : cla_marian_write_weights(m, path, numbers);
    free(path);
    return status;
}

/* Returns the tokenizer's name of a language, an ending of files, or `otherwise`. */
static const char *language(const marian *m, const char *key, const char *otherwise)
{
    const char *name = json_string_value(json_object_get(m->tokenizer.values, key));
    return name && *name && strlen(name) <= 16 && !strpbrk(name, "/.\n") ? name
                                                                         : otherwise;
}

static json_t *network_settings(const marian *m)
{
    static const char *const positions[] = { "sine", "marian", "fairseq", "opennmt",
                                             "learned" };
    const char *const tied = m->tied ? m->shared ? "all" : "output" : "none";
    const bool old = m->family == FAMILY_MARIAN;
    return json_pack(
        "{s:i, s:b, s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:s, s:b, s:s,"
        " s:f, s:s, s:b, s:b, s:b, s:b}",
        "max_positions", m->max_positions, "embedding_norm", m->max_positions > 0,
        "model", "translator", "data", ".", "source",
        language(m, old ? "source_lang" : "src_lang", "source"), "target",
        language(m, old ? "target_lang" : "tgt_lang", "target"), "preset", "vaswani",
        "layers", m->layers, "decoder_layers", m->decoder_layers, "dim", m->model,
        "heads", m->heads, "inner", m->inner, "tied", tied, "pre_norm", m->pre_norm,
        "activation", cla_activation_names[m->activation], "norm_epsilon",
        m->norm_epsilon, "position", positions[m->positions], "embedding_scale",
        m->scaled, "output_bias", m->output_bias, "start_pad", m->start_pad,
        "start_end", m->start_end);
}

static json_t *text_settings(const marian *m)
{
    static const char *const early[] = { "estimate", "first", "never" };
    const search_options *o = &m->search;
    return json_pack(
        "{s:b, s:s, s:s, s:s, s:b, s:b, s:b, s:s, s:s, s:i, s:b, s:b, s:i, s:f}",
        "source_end", m->source_end, "sentencepiece", "source.spm",
        "target_sentencepiece", "target.spm", "languages",
        cla_translation_languages[m->family], "prefix_token", m->source.prefixes,
        "unknown_prefix", m->family == FAMILY_MARIAN && m->source_end, "tidy_output", 1,
        "decoding", o->kind == SEARCH_TRANSFORMERS_5 ? "transformers5" : "transformers",
        "early_stopping", early[o->early], "max_length", o->most, "forced_end",
        o->forced, "never_pad", o->never_pad, "beam", o->beam, "length_penalty",
        o->alpha);
}

static cla_status write_settings(cla_publish *p, const marian *m)
{
    cla_config settings = { .values = network_settings(m) };
    json_t *rest = text_settings(m);
    json_t *own = m->family == FAMILY_T5 ? cla_t5_settings(m) : json_object();
    const bool whole = settings.values && rest && own &&
                       !json_object_update(settings.values, rest) &&
                       !json_object_update(settings.values, own);
    json_decref(rest);
    json_decref(own);
    cla_status status = whole ? CLA_OK : cla_fail(CLA_E_NOMEM, "import: out of memory");
    status = status ? status : cla_strdup(&settings.path, m->config.path);
    status =
        status ? status : cla_publish_settings(p, &settings, &cla_translation_kind);
    cla_config_fini(&settings);
    return status;
}

/* ---- all of it --------------------------------------------------------------- */

static cla_status publish(marian *m, const import_package *package,
                          const import_card *card, const char *out,
                          volatile const int *signal, int64_t *numbers)
{
    const char *one = cla_marian_pieces_file(m);
    const char *source = m->source_spm ? m->source_spm
                         : one         ? one
                                       : "source.spm",
               *target = m->target_spm ? m->target_spm
                         : one         ? one
                                       : "target.spm";
    cla_publish p;
    cla_status status = cla_publish_begin(&p, out, signal);
    status = status ? status : copy_pieces(&p, package, source, "codes.txt");
    status = status ? status : copy_pieces(&p, package, target, "target_codes.txt");
    status = status ? status : write_vocabulary(&p, "source.txt", &m->source);
    status = status ? status : write_vocabulary(&p, "target.txt", cla_marian_target(m));
    status = status ? status : write_weights(&p, m, numbers);
    status = status ? status : cla_card_write(card, m, &p);
    status = status ? status : write_settings(&p, m);
    return cla_publish_end(&p, status);
}

static cla_status read_model(marian *m, const import_package *package)
{
    const char *from = package->path;
    if (package->archive || cla_marian_is_ctranslate2(package)) {
        return cla_marian_read_ctranslate2(m, package);
    }
    if (!cla_folder_holds(from, "config.json") &&
        cla_folder_holds(from, "decoder.yml")) {
        return cla_marian_read_release(m, from);
    }
    CLA_TRY(cla_marian_read_settings(m, from));
    return cla_marian_read_pieces(m);
}

cla_status cla_import(const char *from, const char *out, int transformers,
                      volatile const int *signal, cla_import_watch *watch,
                      int64_t *numbers)
{
    marian m = { .search = { .kind = transformers < 5 ? SEARCH_TRANSFORMERS
                                                      : SEARCH_TRANSFORMERS_5 },
                 .watch = watch };
    import_package package;
    import_card card = { 0 };
    *numbers = 0;
    if (cla_lm_is_folder(from)) {
        return cla_lm_import(from, out, signal, numbers);
    }
    cla_status status = cla_package_open(&package, from);
    status = status ? status : read_model(&m, &package);
    status = status ? status : cla_card_read(&card, &package);
    status = status ? status : publish(&m, &package, &card, out, signal, numbers);
    cla_card_free(&card);
    cla_package_close(&package);
    cla_marian_fini(&m);
    return status;
}
