/* codec.c - the pieces of a tokenizer.json, against those of Hugging Face's library. */
#include "text/codec.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "support/support.h"

static void read_file(const char *family, const char *name, cla_text *path, char **text,
                      size_t *size)
{
    TEST_OK(cla_text_add(path, "%s/%s/%s", getenv("CLATTN_TEST_DATA"), family, name));
    TEST_OK(cla_file_read(path->data, text, size));
}

static void open_family(cla_codec *t, const char *family)
{
    cla_text path = { 0 };
    char *json = NULL;
    size_t size = 0;
    read_file(family, "tokenizer.json", &path, &json, &size);
    TEST_OK(cla_codec_parse(t, path.data, json, size));
    free(json);
    cla_text_free(&path);
}

/* Checks the pieces of a text behind those in front of it, and the text of the
 * pieces. */
static void check_text(const cla_codec *t, const char *text, const json_t *want)
{
    cla_ids ids = { 0 };
    cla_text back = { 0 };
    const size_t front = t->start >= 0, count = json_array_size(want) - front;
    TEST_OK(cla_codec_encode(t, text, strlen(text), &ids));
    cr_assert_eq(ids.count, count, "'%s': %zu pieces, not %zu", text, ids.count, count);
    for (size_t i = 0; i < count; i++) {
        const json_int_t id = json_integer_value(json_array_get(want, i + front));
        cr_assert_eq(ids.id[i], id, "'%s': piece %zu is %d, not %d", text, i,
                     (int)ids.id[i], (int)id);
        TEST_OK(cla_codec_decode(t, ids.id[i], &back));
    }
    const bool blank = t->front && *text != ' ';
    cr_assert_str_eq(back.data + blank, text);
    cla_ids_free(&ids);
    cla_text_free(&back);
}

static void check_family(const char *family)
{
    cla_codec t;
    cla_text path = { 0 };
    char *text = NULL;
    size_t size = 0, i = 0;
    json_t *all = NULL, *one = NULL;
    open_family(&t, family);
    read_file(family, "texts.json", &path, &text, &size);
    TEST_OK(cla_json_text(&all, path.data, 1, text, size, 0));
    cr_assert_geq(json_array_size(all), 9);
    json_array_foreach(all, i, one)
    {
        check_text(&t, json_string_value(json_object_get(one, "text")),
                   json_object_get(one, "ids"));
    }
    json_decref(all);
    free(text);
    cla_text_free(&path);
    cla_codec_free(&t);
}

Test(codec, bytes)
{
    check_family("gpt2");
}

Test(codec, characters_with_bytes)
{
    check_family("llama");
}

/* No text has special pieces: it is cut like any other. */
Test(codec, texts_have_no_special_pieces)
{
    static const char *const families[] = { "gpt2", "llama" };
    static const char text[] = "<|endoftext|> and </s><s>";
    for (int f = 0; f < 2; f++) {
        cla_codec t;
        cla_ids ids = { 0 };
        cla_text back = { 0 };
        open_family(&t, families[f]);
        TEST_OK(cla_codec_encode(&t, text, strlen(text), &ids));
        for (size_t i = 0; i < ids.count; i++) {
            cr_assert(!t.special[ids.id[i]], "piece %zu is special", i);
            TEST_OK(cla_codec_decode(&t, ids.id[i], &back));
        }
        cr_assert_str_eq(back.data + f, text);
        cla_ids_free(&ids);
        cla_text_free(&back);
        cla_codec_free(&t);
    }
}

/* ---- small files ----------------------------------------------------------------- */

#define VOCAB                                                                      \
    "\"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2, \"c\": 3, \"abc\": 4, \"bc\": 5, " \
    "\"?\": 6}"
#define MODEL "\"model\": {\"type\": \"BPE\", " VOCAB ", \"merges\": "

static void check_ids(const char *json, const char *text, const char *want)
{
    cla_codec t;
    cla_ids ids = { 0 };
    cla_text said = { 0 };
    TEST_OK(cla_codec_parse(&t, "test", json, strlen(json)));
    TEST_OK(cla_codec_encode(&t, text, strlen(text), &ids));
    TEST_OK(cla_text_append(&said, "", 0));
    for (size_t i = 0; i < ids.count; i++) {
        TEST_OK(cla_text_add(&said, i ? " %d" : "%d", (int)ids.id[i]));
    }
    cr_assert_str_eq(said.data, want);
    cla_ids_free(&ids);
    cla_text_free(&said);
    cla_codec_free(&t);
}

/* Merges in the order of the list, of the same ones the leftmost first; both ways to
 * write them. */
Test(codec, merges_in_order)
{
    check_ids("{" MODEL "[\"a b\", \"ab c\"]}}", "abcab", "4 2");
    check_ids("{" MODEL "[[\"b\", \"c\"], [\"a\", \"b\"]]}}", "abcab", "0 5 2");
}

/* Characters without a piece are unknown, in a row once with fuse_unk, or nothing. */
Test(codec, unknown_characters)
{
    check_ids("{" MODEL "[], \"unk_token\": \"?\"}}", "axyb", "0 6 6 1");
    check_ids("{" MODEL "[], \"unk_token\": \"?\", \"fuse_unk\": true}}", "axyb",
              "0 6 1");
    check_ids("{" MODEL "[]}}", "axyb", "0 1");
}

/* With ignore_merges a word of the vocabulary is not cut. */
Test(codec, whole_words)
{
    check_ids("{" MODEL "[], \"ignore_merges\": true}}", "abc", "4");
    check_ids("{" MODEL "[]}}", "abc", "0 1 3");
}

/* Patterns cut a text before merges see it. */
Test(codec, patterns)
{
    check_ids("{" MODEL "[\"a b\"]}, \"pre_tokenizer\": {\"type\": \"Split\", "
              "\"pattern\": {\"Regex\": \"b\"}, \"behavior\": \"Isolated\"}}",
              "abab", "0 1 0 1");
    check_ids(
        "{" MODEL "[\"a b\"]}, \"pre_tokenizer\": {\"type\": \"Sequence\", "
        "\"pretokenizers\": [{\"type\": \"Digits\", \"individual_digits\": true}, "
        "{\"type\": \"ByteLevel\", \"use_regex\": false}]}}",
        "ab1ab", "2 2");
}

Test(codec, refuses)
{
    static const struct {
        const char *json, *error;
    } cases[] = {
        { "{}", "test: model has no 'vocab'" },
        { "[1", "test:1:" },
        { "{\"model\": {\"type\": \"Unigram\"}}",
          "model is 'Unigram', which is not read" },
        { "{\"model\": {\"vocab\": {\"a\": 1}, \"merges\": []}}",
          "has fewer pieces than the highest of their numbers" },
        { "{\"model\": {\"vocab\": {\"a\": 0, \"b\": 0}, \"merges\": []}}",
          "piece 'b' has no number of its own below 1" },
        { "{\"model\": {\"vocab\": {\"a\": -1}, \"merges\": []}}",
          "piece 'a' has no number of its own below 0" },
        { "{" MODEL "[\"a x\"]}}", "merge 0 is not of two pieces that make one" },
        { "{" MODEL "[[\"a\"]]}}", "merge 0 is not of two pieces" },
        { "{" MODEL "7}}", "model has no 'merges'" },
        { "{" MODEL "[], \"end_of_word_suffix\": \"_\"}}",
          "end_of_word_suffix is not read" },
        { "{" MODEL "[]}, \"normalizer\": {\"type\": \"NFC\"}}",
          "normalizer is 'NFC', which is not read" },
        { "{" MODEL "[]}, \"pre_tokenizer\": {\"type\": \"Whitespace\"}}",
          "pre_tokenizer is 'Whitespace', which is not read" },
        { "{" MODEL "[]}, \"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": "
          "{\"Regex\": \"(\"}, \"behavior\": \"Isolated\"}}",
          "test: pattern '(': byte 1: missing closing parenthesis" },
        { "{" MODEL "[]}, \"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": "
          "{\"Regex\": \"a\"}, \"behavior\": \"Removed\"}}",
          "splits in another way than by a regular expression, isolated" },
        { "{" MODEL "[]}, \"post_processor\": {\"type\": \"BertProcessing\"}}",
          "post_processor is 'BertProcessing', which is not read" },
        { "{" MODEL "[]}, \"post_processor\": {\"type\": \"TemplateProcessing\", "
          "\"single\": [{\"Sequence\": {}}, {\"SpecialToken\": {\"id\": \"a\"}}]}}",
          "puts more around a text than a piece in front of it" },
        { "{" MODEL "[]}, \"added_tokens\": [{\"id\": 7, \"content\": \"z\"}]}",
          "added piece 'z' is not special: such pieces are not read" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cla_codec t;
        TEST_FAILS(cla_codec_parse(&t, "test", cases[i].json, strlen(cases[i].json)),
                   CLA_E_INPUT, cases[i].error);
        cla_codec_free(&t);
    }
}

/* ---- models of SentencePiece ----------------------------------------------------- */

static void convert(cla_text *json, const char *family, const char *name,
                    cla_status want, const char *error)
{
    cla_text path = { 0 };
    char *bytes = NULL;
    size_t size = 0;
    read_file(family, name, &path, &bytes, &size);
    const cla_status status = cla_codec_convert(json, path.data, bytes, size);
    cr_assert_eq(status, want, "%s", cla_error());
    cr_assert(!error || strstr(cla_error(), error), "%s", cla_error());
    free(bytes);
    cla_text_free(&path);
}

/* A text is cut as SentencePiece cuts it; a model of another kind is refused. */
Test(codec, converts_models_of_byte_pairs)
{
    cla_text json = { 0 };
    cla_codec t;
    cla_sentencepiece *none = NULL;
    if (cla_sentencepiece_new(&none, "none", "", 0) == CLA_E_USAGE) {
        convert(&json, "llama", "tokenizer.model", CLA_E_USAGE, "built without");
        return;
    }
    convert(&json, "llama", "tokenizer.model", CLA_OK, NULL);
    TEST_OK(cla_codec_parse(&t, "converted", json.data, json.size));
    cr_assert_eq(t.vocab.count, 389);
    cr_assert_eq(t.start, 1);
    cr_assert(t.special[0] && t.special[1] && t.special[2] && !t.special[3]);
    cla_codec_free(&t);
    json.size = 0;
    convert(&json, ".", "pieces.model", CLA_E_INPUT,
            "not a model of byte pairs without normalisation");
    json.size = 0;
    convert(&json, "llama", "texts.json", CLA_E_INPUT, "no SentencePiece model");
    cla_text_free(&json);
}
