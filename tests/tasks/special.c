/* special.c - no word of a text gets the id of a special token, in any task: the words
 * that spell these tokens have ids of their own, before and after a model folder. */
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "base/file.h"
#include "tasks/reading/reading.h"
#include "tasks/tagging/tagging.h"
#include "text/dureader.h"
#include "text/poems.h"
#include "text/subwords.h"

#define OK(expr) cr_assert_eq(expr, CLA_OK, "%s", cla_error())

/* Every token is found under its own id, but for the special ones, which nothing
 * finds unless a text spells them. */
static void check(const cla_vocab *v, size_t specials, size_t spelled)
{
    size_t found = 0;
    cr_assert_eq(v->specials, specials);
    for (size_t i = 0; i < v->count; i++) {
        const int id = cla_vocab_find(v, v->tokens[i]);
        if (i >= specials) {
            cr_assert_eq(id, (int)i, "'%s'", v->tokens[i]);
        } else {
            cr_assert(id < 0 || id >= (int)specials, "'%s'", v->tokens[i]);
            found += id >= 0;
        }
    }
    cr_assert_eq(found, spelled);
}

/* The same after the file of a model folder. */
static void check_saved(const cla_vocab *v, size_t specials, size_t spelled)
{
    char path[] = "/tmp/clattn-special-XXXXXX";
    cla_vocab again = { 0 };
    check(v, specials, spelled);
    close(mkstemp(path));
    OK(cla_vocab_save(v, path));
    OK(cla_vocab_load(&again, path, specials));
    cr_assert_eq(again.count, v->count);
    check(&again, specials, spelled);
    cla_vocab_free(&again);
    unlink(path);
}

/* ---- translation --------------------------------------------------------------- */

static const char words[] = "red <pad> </s> <unk> dog";

/* Twice the same line, so that byte pairs make its words whole. */
static cla_lines text_of(cla_line line[2])
{
    line[0] = line[1] = (cla_line){ words, sizeof words - 1 };
    return (cla_lines){ .path = (char *)"x", .line = line, .count = 2 };
}

static void check_line(const cla_subwords *s)
{
    cla_ids ids = { 0 };
    cla_text back = { 0 };
    OK(cla_subwords_encode(s, words, strlen(words), &ids));
    for (size_t i = 0; i < ids.count; i++) {
        cr_assert_geq(ids.id[i], CLA_SPECIALS, "piece %zu of kind %d", i, s->kind);
    }
    OK(cla_subwords_decode(s, ids.id, ids.count, &back));
    cr_assert_str_eq(back.data, words);
    cla_text_free(&back);
    cla_ids_free(&ids);
}

Test(special, pieces_of_translations)
{
    for (int split = 0; split < 2; split++) {
        cla_line line[2];
        cla_subwords s;
        const cla_lines text = text_of(line);
        OK(cla_subwords_learn(&s, &text, 1, split, 1000));
        OK(cla_subwords_count(&s, &text, 1, 0));
        check_line(&s);
        check_saved(&s.vocab, CLA_SPECIALS, 0);
        cla_subwords_free(&s);
    }
}

Test(special, pieces_of_a_sentencepiece_model)
{
    char path[256];
    cla_line line[2];
    cla_subwords s;
    const cla_lines text = text_of(line);
    snprintf(path, sizeof path, "%s/pieces.model", getenv("CLATTN_TEST_DATA"));
    if (cla_subwords_take(&s, path)) {
        cr_assert(strstr(cla_error(), "built without"), "%s", cla_error());
        cr_skip("%s", cla_error());
    }
    OK(cla_subwords_count(&s, &text, 1, 0));
    check_line(&s);
    check_saved(&s.vocab, CLA_SPECIALS, 0);
    cla_subwords_free(&s);
}

/* ---- words, letters and tags ----------------------------------------------------- */

Test(special, words_and_tags_of_a_tagger)
{
    static const char *const word[] = { "<pad>", "<oov>", "PAD", "dog" };
    tagging t = { .preset = TAGGING_MODERN, .config = { .char_length = 4 } };
    cla_conllu train = { 0 }, again = { 0 };
    tagging_split split;
    cla_text rows = { 0 }, copy = { 0 };
    for (int i = 0; i < 8; i++) { // each twice: rare words are unknown
        OK(cla_text_add(&rows, "%d\t%s\t_\t%s\t_\t_\t_\t_\t_\t_\n", i + 1, word[i % 4],
                        word[i % 4]));
    }
    OK(cla_text_add(&rows, "\n"));
    OK(cla_text_append(&copy, rows.data, rows.size));
    OK(cla_conllu_parse(&train, "x", 0, rows.data, rows.size));
    OK(cla_conllu_parse(&again, "x", 0, copy.data, copy.size));
    OK(cla_tagging_build_vocabularies(&t, &train, 1));
    OK(cla_tagging_split_build(&t, &split, &again));
    for (int i = 0; i < 8; i++) {
        cr_assert_geq(split.word[i], TAGGING_SPECIAL, "%s", word[i % 4]);
        cr_assert_geq(split.tag[i], TAGGING_SPECIAL, "%s", word[i % 4]);
        cr_assert_str_eq(t.words.tokens[split.word[i]], word[i % 4]);
        cr_assert_str_eq(t.tags.tokens[split.tag[i]], word[i % 4]);
        cr_assert_eq(t.lexicon.majority[split.form[i]], split.tag[i]);
    }
    check_saved(&t.words, TAGGING_SPECIAL, 2);
    check_saved(&t.tags, TAGGING_SPECIAL, 2);
    check_saved(&t.chars, TAGGING_SPECIAL, 0);
    cla_tagging_split_free(&split);
    cla_tagging_free_vocabularies(&t);
    cla_conllu_free(&train);
}

Test(special, words_and_letters_of_a_reader)
{
    static const char json[] =
        "{\"question_id\": 1, \"segmented_question\": [\"</s>\", \"<unk>\"], "
        "\"answers\": [\"<pad>\"], \"segmented_answers\": [[\"<pad>\"]], "
        "\"documents\": [{\"is_selected\": true, \"segmented_paragraphs\": "
        "[[\"<pad>\", \"dog\", \"<unk>\"]]}]}\n";
    char path[] = "/tmp/clattn-special-XXXXXX";
    const cla_dureader_options options = { 0 };
    cla_dureader_counts counts;
    cla_reading r;
    cla_vocab v = { 0 };
    reading t = { .min_count = 1 };
    int32_t ids[16];
    close(mkstemp(path));
    OK(cla_file_write(path, json, sizeof json - 1));
    OK(cla_dureader_read(&r, path, &options, &counts));
    OK(cla_reading_vocab(&r, 1, true, 0, &v));
    OK(cla_reading_ids(&r, &v, true, ids));
    for (size_t i = 0; i < r.words.count; i++) {
        cr_assert_geq(ids[i], CLA_SPECIALS, "word %zu", i);
    }
    check_saved(&v, CLA_SPECIALS, CLA_SPECIALS);
    OK(cla_reading_count_chars(&t, &r));
    check_saved(&t.chars, CLA_SPECIALS, 0);
    cla_vocab_free(&t.chars);
    cla_vocab_free(&v);
    cla_reading_free(&r);
    unlink(path);
}

/* A limit keeps the special tokens and the frequent words. */
Test(special, characters_of_poems)
{
    static const char text[] = "<pad>";
    cla_vocab counts = { 0 }, v = { 0 };
    int32_t ids[8];
    for (const char *at = text; *at; at++) {
        const char letter[2] = { *at, 0 };
        OK(cla_vocab_add(&counts, letter, 1, NULL));
    }
    OK(cla_vocab_take(&v, &counts, 1, 0));
    cr_assert_eq(cla_poems_ids(text, &v, ids, 8), 5);
    for (int i = 0; i < 5; i++) {
        cr_assert_geq(ids[i], CLA_SPECIALS);
    }
    check_saved(&v, CLA_SPECIALS, 0);
    cla_vocab_free(&counts);
    cla_vocab_free(&v);
}
