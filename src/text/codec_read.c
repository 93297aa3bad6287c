/* codec_read.c - reads a tokenizer.json. */
#include <string.h>

#include "base/json.h"
#include "text/codec.h"

static const char blank_mark[] = "\xe2\x96\x81";

/* The pattern of GPT-2 (Radford et al. 2019). */
static const char gpt2[] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+|"
                           " ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

typedef struct reader {
    cla_codec *t;
    const char *path;
    json_t *root;
} reader;

static cla_status wrong(const reader *r, const char *part, const char *what)
{
    return cla_fail(CLA_E_INPUT, "%s: %s %s", r->path, part, what);
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static bool is(const json_t *object, const char *type)
{
    return strcmp(text_of(object, "type"), type) == 0;
}

static bool is_true(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

static cla_status unread(const reader *r, const char *part, const json_t *object)
{
    const char *type = text_of(object, "type");
    return cla_fail(CLA_E_INPUT, "%s: %s is '%.40s', which is not read", r->path, part,
                    *type ? type : "of no type");
}

/* ---- pieces ------------------------------------------------------------------- */

/* Notes the piece of a number among those of all. */
static cla_status note(const reader *r, const char **name, size_t count,
                       const char *piece, const json_t *number)
{
    const json_int_t id = json_is_integer(number) ? json_integer_value(number) : -1;
    if (id < 0 || (size_t)id >= count || !*piece ||
        (name[id] && strcmp(name[id], piece) != 0)) {
        return cla_fail(CLA_E_INPUT,
                        "%s: piece '%.80s' has no number of its own below %zu", r->path,
                        piece, count);
    }
    name[id] = piece;
    return CLA_OK;
}

/* Gives the number of pieces: one more than the highest number. */
static cla_status count_pieces(const reader *r, size_t *count)
{
    const json_t *vocab = json_object_get(json_object_get(r->root, "model"), "vocab");
    const json_t *added = json_object_get(r->root, "added_tokens");
    json_int_t most = -1;
    const char *piece = NULL;
    json_t *value = NULL;
    size_t i = 0;
    json_object_foreach((json_t *)vocab, piece, value)
    {
        most = json_integer_value(value) > most ? json_integer_value(value) : most;
    }
    json_array_foreach(added, i, value)
    {
        const json_int_t id = json_integer_value(json_object_get(value, "id"));
        most = id > most ? id : most;
    }
    *count = (size_t)(most + 1);
    return *count <= json_object_size(vocab) + json_array_size(added)
               ? CLA_OK
               : wrong(r, "model",
                       "has fewer pieces than the highest of their numbers");
}

/* Notes the added pieces. Of those that a text may have, none is read: they cut a text
 * before its patterns do. */
static cla_status note_added(const reader *r, const char **name, size_t count)
{
    const json_t *added = json_object_get(r->root, "added_tokens"), *value = NULL;
    size_t i = 0;
    json_array_foreach(added, i, value)
    {
        const char *piece = text_of(value, "content");
        const json_t *number = json_object_get(value, "id");
        CLA_TRY(note(r, name, count, piece, number));
        const json_int_t id = json_integer_value(number);
        r->t->special[id] = true;
        if (!is_true(value, "special")) {
            return cla_fail(CLA_E_INPUT,
                            "%s: added piece '%.80s' is not special: such pieces are "
                            "not read",
                            r->path, piece);
        }
    }
    return CLA_OK;
}

static cla_status read_names(const reader *r, const char **name, size_t count)
{
    const json_t *vocab = json_object_get(json_object_get(r->root, "model"), "vocab");
    const char *piece = NULL;
    json_t *number = NULL;
    json_object_foreach((json_t *)vocab, piece, number)
    {
        CLA_TRY(note(r, name, count, piece, number));
    }
    CLA_TRY(note_added(r, name, count));
    for (size_t i = 0; i < count; i++) {
        int id = 0;
        CLA_TRY(name[i] ? cla_vocab_add(&r->t->vocab, name[i], 0, &id) : CLA_OK);
        if (!name[i] || id != (int)i) {
            return cla_fail(CLA_E_INPUT, "%s: number %zu %s", r->path, i,
                            name[i] ? "has the piece of another" : "has no piece");
        }
    }
    return count ? CLA_OK : wrong(r, "model", "has no 'vocab'");
}

static cla_status read_pieces(const reader *r)
{
    const char **name = NULL;
    size_t count = 0;
    CLA_TRY(count_pieces(r, &count));
    CLA_TRY(cla_alloc(&r->t->special, count + 1, sizeof *r->t->special));
    CLA_TRY(cla_alloc(&name, count + 1, sizeof *name));
    const cla_status status = read_names(r, name, count);
    free(name);
    return status;
}

/* ---- merges ------------------------------------------------------------------- */

static cla_status bad_merge(const reader *r, size_t i)
{
    return cla_fail(CLA_E_INPUT, "%s: merge %zu is not of two pieces that make one",
                    r->path, i);
}

/* Adds the i-th merge, "a b" or ["a", "b"]. */
static cla_status add_merge(const reader *r, size_t i, const json_t *merge,
                            cla_text *word)
{
    const char *both = json_string_value(merge), *right = NULL;
    word->size = 0;
    if (both) {
        const char *blank = strchr(both, ' ');
        CLA_TRY(blank ? cla_text_append(word, both, (size_t)(blank - both))
                      : bad_merge(r, i));
        right = blank + 1;
    } else {
        const char *left = json_string_value(json_array_get(merge, 0));
        right = json_string_value(json_array_get(merge, 1));
        CLA_TRY(left && right ? cla_text_add(word, "%s", left) : bad_merge(r, i));
    }
    const int a = word->size ? cla_vocab_find(&r->t->vocab, word->data) : -1;
    const int b = cla_vocab_find(&r->t->vocab, right);
    CLA_TRY(cla_text_add(word, "%s", right));
    const int whole = cla_vocab_find(&r->t->vocab, word->data);
    return a >= 0 && b >= 0 && whole >= 0 ? cla_bpe_add(&r->t->bpe, a, b, whole)
                                          : bad_merge(r, i);
}

static cla_status read_merges(const reader *r, const json_t *model)
{
    const json_t *merges = json_object_get(model, "merges"), *merge = NULL;
    cla_text word = { 0 };
    size_t i = 0;
    cla_status status =
        json_is_array(merges) ? CLA_OK : wrong(r, "model", "has no 'merges'");
    json_array_foreach(merges, i, merge)
    {
        status = status ? status : add_merge(r, i, merge, &word);
    }
    cla_text_free(&word);
    return status;
}

static cla_status read_model(const reader *r)
{
    static const char *const affixes[] = { "continuing_subword_prefix",
                                           "end_of_word_suffix", NULL };
    const json_t *model = json_object_get(r->root, "model");
    if (!is(model, "BPE") && *text_of(model, "type")) {
        return unread(r, "model", model);
    }
    for (int i = 0; affixes[i]; i++) {
        CLA_TRY(*text_of(model, affixes[i]) ? wrong(r, affixes[i], "is not read")
                                            : CLA_OK);
    }
    CLA_TRY(read_pieces(r));
    CLA_TRY(read_merges(r, model));
    r->t->fallback = is_true(model, "byte_fallback");
    r->t->whole = is_true(model, "ignore_merges");
    r->t->fuse = is_true(model, "fuse_unk");
    const char *unknown = text_of(model, "unk_token");
    r->t->unknown = *unknown ? cla_vocab_find(&r->t->vocab, unknown) : -1;
    return CLA_OK;
}

/* ---- what happens before the merges ------------------------------------------- */

static cla_status each(const reader *r, const char *part, const char *list,
                       const json_t *object,
                       cla_status (*take)(const reader *r, const json_t *object))
{
    const json_t *parts = json_object_get(object, list), *value = NULL;
    size_t i = 0;
    if (!object || json_is_null(object)) {
        return CLA_OK;
    }
    if (!is(object, "Sequence")) {
        return take(r, object);
    }
    if (!json_is_array(parts)) {
        return wrong(r, part, "is a sequence without parts");
    }
    json_array_foreach(parts, i, value)
    {
        CLA_TRY(take(r, value));
    }
    return CLA_OK;
}

static cla_status read_normalizer(const reader *r, const json_t *object)
{
    if (is(object, "Prepend") && strcmp(text_of(object, "prepend"), blank_mark) == 0) {
        r->t->front = true;
        return CLA_OK;
    }
    const json_t *pattern = json_object_get(object, "pattern");
    if (is(object, "Replace") && strcmp(text_of(pattern, "String"), " ") == 0 &&
        strcmp(text_of(object, "content"), blank_mark) == 0) {
        r->t->blanks = true;
        return CLA_OK;
    }
    return unread(r, "normalizer", object);
}

static cla_status add_cutter(const reader *r, const char *pattern)
{
    cla_codec *t = r->t;
    if (t->cutters == CLA_CODEC_CUTTERS) {
        return wrong(r, "pre_tokenizer", "has more than four patterns");
    }
    CLA_TRY(cla_cutter_new(&t->cutter[t->cutters], r->path, pattern));
    t->cutters++;
    return CLA_OK;
}

static cla_status read_metaspace(const reader *r, const json_t *object)
{
    const char *scheme = text_of(object, "prepend_scheme");
    const json_t *old = json_object_get(object, "add_prefix_space");
    const json_t *split = json_object_get(object, "split");
    if (strcmp(text_of(object, "replacement"), blank_mark) != 0) {
        return wrong(r, "pre_tokenizer", "replaces blanks by another than U+2581");
    }
    r->t->blanks = r->t->once = true;
    r->t->front = *scheme ? strcmp(scheme, "never") != 0 : !json_is_false(old);
    r->t->words = !json_is_false(split);
    return CLA_OK;
}

static cla_status read_split(const reader *r, const json_t *object)
{
    const char *pattern = text_of(json_object_get(object, "pattern"), "Regex");
    if (!*pattern || strcmp(text_of(object, "behavior"), "Isolated") != 0 ||
        is_true(object, "invert")) {
        return wrong(r, "pre_tokenizer",
                     "splits in another way than by a regular expression, isolated");
    }
    return add_cutter(r, pattern);
}

static cla_status read_cut(const reader *r, const json_t *object)
{
    if (is(object, "Metaspace")) {
        return read_metaspace(r, object);
    }
    if (is(object, "Split")) {
        return read_split(r, object);
    }
    if (is(object, "Digits")) {
        return add_cutter(r,
                          is_true(object, "individual_digits") ? "\\p{N}" : "\\p{N}+");
    }
    if (!is(object, "ByteLevel")) {
        return unread(r, "pre_tokenizer", object);
    }
    r->t->bytes = true;
    if (is_true(object, "add_prefix_space")) {
        r->t->front = r->t->once = true;
    }
    const bool plain = json_is_false(json_object_get(object, "use_regex"));
    return plain ? CLA_OK : add_cutter(r, gpt2);
}

/* ---- what is put around the pieces -------------------------------------------- */

static cla_status read_template(const reader *r, const json_t *object)
{
    const json_t *single = json_object_get(object, "single"), *value = NULL;
    size_t i = 0;
    bool behind = false;
    json_array_foreach(single, i, value)
    {
        const json_t *token = json_object_get(value, "SpecialToken");
        behind = behind || json_object_get(value, "Sequence");
        if (token && (behind || r->t->start >= 0)) {
            return wrong(r, "post_processor",
                         "puts more around a text than a piece in front of it");
        }
        r->t->start =
            token ? cla_vocab_find(&r->t->vocab, text_of(token, "id")) : r->t->start;
        if (token && r->t->start < 0) {
            return wrong(r, "post_processor", "names a piece that is not there");
        }
    }
    return CLA_OK;
}

static cla_status read_around(const reader *r, const json_t *object)
{
    return is(object, "TemplateProcessing") ? read_template(r, object)
           : is(object, "ByteLevel")        ? CLA_OK
                                            : unread(r, "post_processor", object);
}

/* ---- all of it ---------------------------------------------------------------- */

/* Finds the symbols of bytes. */
static void find_bytes(cla_codec *t)
{
    char letter[5];
    for (int i = 0; i < 256; i++) {
        t->byte[i] = -1;
        if (t->bytes) {
            cla_codec_letter(i, letter);
            t->byte[i] = cla_vocab_find(&t->vocab, letter);
        }
    }
    for (size_t i = 0; i < t->vocab.count && !t->bytes && t->fallback; i++) {
        const int byte = cla_codec_hex(t->vocab.tokens[i]);
        if (byte >= 0) {
            t->byte[byte] = (int32_t)i;
        }
    }
}

static cla_status read_all(const reader *r)
{
    const json_t *root = r->root;
    CLA_TRY(read_model(r));
    CLA_TRY(each(r, "normalizer", "normalizers", json_object_get(root, "normalizer"),
                 read_normalizer));
    CLA_TRY(each(r, "pre_tokenizer", "pretokenizers",
                 json_object_get(root, "pre_tokenizer"), read_cut));
    CLA_TRY(each(r, "post_processor", "processors",
                 json_object_get(root, "post_processor"), read_around));
    if (r->t->bytes && r->t->blanks) {
        return wrong(r, "pre_tokenizer", "is of bytes and of U+2581 together");
    }
    find_bytes(r->t);
    return CLA_OK;
}

cla_status cla_codec_parse(cla_codec *t, const char *path, const char *json,
                           size_t size)
{
    reader r = { .t = t, .path = path };
    *t = (cla_codec){ .unknown = -1, .start = -1 };
    CLA_TRY(cla_json_text(&r.root, path, 1, json, size, JSON_REJECT_DUPLICATES));
    const cla_status status = read_all(&r);
    json_decref(r.root);
    return status;
}
