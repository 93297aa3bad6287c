/* codec_model.c - the tokenizer.json of a SentencePiece model of byte pairs. */
#include <string.h>

#include "base/json.h"
#include "text/codec.h"

static const char blank_mark[] = "\xe2\x96\x81"; // U+2581

enum { MARK = 3 };

typedef struct model {
    const char *path;
    cla_sentencepiece *pieces;
    cla_text names;
    cla_vocab vocab; // all pieces, by their ids
    float *score;    // [vocab.count]
    char *kind;      // [vocab.count]
    int start;       // -1: there is none
} model;

static cla_status no_memory(const model *m)
{
    return cla_fail(CLA_E_NOMEM, "%s: out of memory", m->path);
}

static void model_free(model *m)
{
    cla_sentencepiece_free(&m->pieces);
    cla_text_free(&m->names);
    cla_vocab_free(&m->vocab);
    free(m->score);
    free(m->kind);
}

static cla_status open_model(model *m, const char *bytes, size_t size)
{
    CLA_TRY(cla_sentencepiece_new(&m->pieces, m->path, bytes, size));
    CLA_TRY(cla_sentencepiece_list(m->pieces, &m->names));
    for (size_t at = 0; at < m->names.size; at += strlen(m->names.data + at) + 1) {
        CLA_TRY(cla_vocab_add(&m->vocab, m->names.data + at, 0, NULL));
    }
    CLA_TRY(cla_alloc(&m->score, m->vocab.count + 1, sizeof *m->score));
    CLA_TRY(cla_alloc(&m->kind, m->vocab.count + 1, sizeof *m->kind));
    return cla_sentencepiece_kinds(m->pieces, m->score, m->kind, &m->start);
}

/* ---- merges ------------------------------------------------------------------- */

typedef struct merge {
    float score;
    int left, right;
} merge;

typedef struct merges {
    merge *item;
    size_t count, cap;
} merges;

/* Orders merges by falling score. */
static int before(const void *one, const void *other)
{
    const merge *a = one, *b = other;
    return a->score != b->score ? (a->score < b->score) - (a->score > b->score)
           : a->left != b->left ? (a->left > b->left) - (a->left < b->left)
                                : (a->right > b->right) - (a->right < b->right);
}

static bool is_normal(const model *m, int id)
{
    return id >= 0 && m->kind[id] == 'n';
}

/* Adds each merge of two pieces that makes the piece id. */
static cla_status add_merges(const model *m, int id, merges *all, cla_text *left)
{
    enum { MOST = 1024 };
    const char *piece = m->vocab.tokens[id];
    if (strlen(piece) > MOST) {
        return cla_fail(CLA_E_INPUT, "%s: piece %d has more than %d bytes", m->path, id,
                        MOST);
    }
    for (size_t at = 1; piece[at]; at++) {
        left->size = 0;
        CLA_TRY(cla_text_append(left, piece, at));
        const merge one = { m->score[id], cla_vocab_find(&m->vocab, left->data),
                            cla_vocab_find(&m->vocab, piece + at) };
        if (is_normal(m, one.left) && is_normal(m, one.right)) {
            CLA_TRY(cla_grow(&all->item, &all->cap, all->count + 1, sizeof one));
            all->item[all->count++] = one;
        }
    }
    return CLA_OK;
}

static cla_status find_merges(const model *m, merges *all)
{
    cla_text left = { 0 };
    cla_status status = CLA_OK;
    for (size_t i = 0; i < m->vocab.count && !status; i++) {
        status = m->kind[i] == 'n' ? add_merges(m, (int)i, all, &left) : CLA_OK;
    }
    cla_text_free(&left);
    if (!status && all->count) {
        qsort(all->item, all->count, sizeof *all->item, before);
    }
    return status;
}

/* Returns the merges, "a b"; NULL when out of memory. */
static json_t *list_merges(const model *m, const merges *all)
{
    json_t *list = json_array();
    for (size_t i = 0; i < all->count; i++) {
        const char *left = m->vocab.tokens[all->item[i].left];
        const char *right = m->vocab.tokens[all->item[i].right];
        if (json_array_append_new(list, json_sprintf("%s %s", left, right))) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* ---- the file ------------------------------------------------------------------ */

/* Returns the numbers of the pieces, and the special ones; NULL when out of memory. */
static json_t *number_pieces(const model *m)
{
    json_t *all = json_object();
    for (size_t i = 0; i < m->vocab.count; i++) {
        if (json_object_set_new(all, m->vocab.tokens[i], json_integer((json_int_t)i))) {
            json_decref(all);
            return NULL;
        }
    }
    return all;
}

static json_t *list_specials(const model *m)
{
    json_t *all = json_array();
    for (size_t i = 0; i < m->vocab.count; i++) {
        const bool special = m->kind[i] == 'c' || m->kind[i] == 'u';
        if (special && json_array_append_new(
                           all, json_pack("{s:i, s:s, s:b, s:b, s:b, s:b, s:b}", "id",
                                          (int)i, "content", m->vocab.tokens[i],
                                          "single_word", 0, "lstrip", 0, "rstrip", 0,
                                          "normalized", 0, "special", 1))) {
            json_decref(all);
            return NULL;
        }
    }
    return all;
}

/* Returns the name of the unknown piece, or NULL. */
static const char *unknown_of(const model *m)
{
    const char *at = memchr(m->kind, 'u', m->vocab.count);
    return at ? m->vocab.tokens[at - m->kind] : NULL;
}

/* Returns what puts the start in front of a text. */
static json_t *describe_front(const model *m)
{
    const char *name = m->start >= 0 ? m->vocab.tokens[m->start] : NULL;
    if (!name) {
        return json_null();
    }
    return json_pack("{s:s, s:[{s:{s:s, s:i}}, {s:{s:s, s:i}}], s:[{s:{s:s, s:i}}, "
                     "{s:{s:s, s:i}}, {s:{s:s, s:i}}, {s:{s:s, s:i}}], "
                     "s:{s:{s:s, s:[i], s:[s]}}}",
                     "type", "TemplateProcessing", "single", "SpecialToken", "id", name,
                     "type_id", 0, "Sequence", "id", "A", "type_id", 0, "pair",
                     "SpecialToken", "id", name, "type_id", 0, "Sequence", "id", "A",
                     "type_id", 0, "SpecialToken", "id", name, "type_id", 1, "Sequence",
                     "id", "B", "type_id", 1, "special_tokens", name, "id", name, "ids",
                     m->start, "tokens", name);
}

/* Returns the replacements of blanks. front: a blank stands in front of each text. */
static json_t *describe_blanks(bool front)
{
    json_t *blanks = json_pack("{s:s, s:{s:s}, s:s}", "type", "Replace", "pattern",
                               "String", " ", "content", blank_mark);
    return front ? json_pack("{s:s, s:[{s:s, s:s}, o]}", "type", "Sequence",
                             "normalizers", "type", "Prepend", "prepend", blank_mark,
                             blanks)
                 : blanks;
}

static json_t *describe_decoder(bool front)
{
    json_t *parts = json_pack("[{s:s, s:{s:s}, s:s}, {s:s}, {s:s}]", "type", "Replace",
                              "pattern", "String", blank_mark, "content", " ", "type",
                              "ByteFallback", "type", "Fuse");
    if (front && json_array_append_new(parts, json_pack("{s:s, s:s, s:i, s:i}", "type",
                                                        "Strip", "content", " ",
                                                        "start", 1, "stop", 0))) {
        json_decref(parts);
        return NULL;
    }
    return json_pack("{s:s, s:o}", "type", "Sequence", "decoders", parts);
}

static json_t *describe(const model *m, const merges *all, bool front)
{
    const bool bytes = memchr(m->kind, 'b', m->vocab.count) != NULL;
    json_t *bpe = json_pack("{s:s, s:n, s:s?, s:n, s:n, s:b, s:b, s:b, s:o, s:o}",
                            "type", "BPE", "dropout", "unk_token", unknown_of(m),
                            "continuing_subword_prefix", "end_of_word_suffix",
                            "fuse_unk", 1, "byte_fallback", bytes, "ignore_merges", 0,
                            "vocab", number_pieces(m), "merges", list_merges(m, all));
    return json_pack("{s:s, s:n, s:n, s:o, s:o, s:n, s:o, s:o, s:o}", "version", "1.0",
                     "truncation", "padding", "added_tokens", list_specials(m),
                     "normalizer", describe_blanks(front), "pre_tokenizer",
                     "post_processor", describe_front(m), "decoder",
                     describe_decoder(front), "model", bpe);
}

/* ---- the same pieces ------------------------------------------------------------ */

/* Makes a text of many pieces, blanks, other scripts and characters that a
 * normalisation changes. */
static cla_status write_probe(const model *m, cla_text *text)
{
    enum { WORDS = 4096 };
    static const char odd[] =
        "  two  blanks, 3.14159\ttab\n\nlines \xef\xbc\xa1 \xef\xac\x81 \xc2\xbd "
        "e\xcc\x81 \xe6\xbc\xa2\xe5\xad\x97 \xf0\x9f\x98\x80 ";
    const size_t step = m->vocab.count / WORDS + 1;
    CLA_TRY(cla_text_append(text, odd, sizeof odd - 1));
    for (size_t i = 0; i < m->vocab.count; i += step) {
        const char *piece = m->vocab.tokens[i];
        const bool blank = strncmp(piece, blank_mark, MARK) == 0;
        CLA_TRY(m->kind[i] == 'n' ? cla_text_add(text, "%s%s", blank ? " " : "",
                                                 piece + (blank ? MARK : 0))
                                  : CLA_OK);
    }
    return CLA_OK;
}

/* Returns whether the pieces of the codec are those of SentencePiece. */
static bool same(const cla_codec *t, const cla_ids *ids, const cla_text *names)
{
    size_t i = 0;
    for (size_t at = 0; at < names->size; i++) {
        const char *name = names->data + at;
        const int id = cla_vocab_find(&t->vocab, name);
        if (i >= ids->count || ids->id[i] != (id < 0 ? t->unknown : id)) {
            return false;
        }
        at += strlen(name) + 1;
    }
    return i == ids->count;
}

static cla_status check(const model *m, const cla_text *json)
{
    cla_codec t;
    cla_ids ids = { 0 };
    cla_text text = { 0 }, names = { 0 };
    bool equal = false;
    cla_status status = cla_codec_parse(&t, m->path, json->data, json->size);
    status = status ? status : write_probe(m, &text);
    status = status ? status
                    : cla_sentencepiece_apply(m->pieces, text.data, text.size, &names);
    status = status ? status : cla_codec_encode(&t, text.data, text.size, &ids);
    equal = !status && same(&t, &ids, &names);
    cla_codec_free(&t);
    cla_ids_free(&ids);
    cla_text_free(&text);
    cla_text_free(&names);
    CLA_TRY(status);
    return equal ? CLA_OK
                 : cla_fail(CLA_E_INPUT,
                            "%s: not a model of byte pairs without normalisation, as "
                            "Llama's is: SentencePiece cuts a text otherwise",
                            m->path);
}

/* ---- all of it ------------------------------------------------------------------ */

/* Tells whether SentencePiece puts a blank in front of a text. */
static cla_status find_front(const model *m, bool *front)
{
    cla_text names = { 0 };
    const cla_status status = cla_sentencepiece_apply(m->pieces, "a", 1, &names);
    *front = !status && names.size > MARK && memcmp(names.data, blank_mark, MARK) == 0;
    cla_text_free(&names);
    return status;
}

static cla_status convert(model *m, const char *bytes, size_t size, cla_text *json)
{
    merges all = { 0 };
    bool front = false;
    CLA_TRY(open_model(m, bytes, size));
    CLA_TRY(find_front(m, &front));
    cla_status status = find_merges(m, &all);
    json_t *made = status ? NULL : describe(m, &all, front);
    char *text = made ? cla_json_write(made, JSON_COMPACT, CLA_JSON_EXACT) : NULL;
    status = status ? status : text ? cla_text_add(json, "%s", text) : no_memory(m);
    free(text);
    json_decref(made);
    free(all.item);
    return status ? status : check(m, json);
}

cla_status cla_codec_convert(cla_text *json, const char *path, const char *model_bytes,
                             size_t size)
{
    model m = { .path = path, .start = -1 };
    const cla_status status = convert(&m, model_bytes, size, json);
    model_free(&m);
    return status;
}
