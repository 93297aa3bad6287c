/* subwords.c - lines as ids and back, also with words that never occurred. */
#include "text/subwords.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "base/file.h"

static const char *const sample[] = {
    "Ein Hund läuft durch den Schnee.",
    "Zwei Hunde (ein großer, ein kleiner) laufen durch den Wald.",
    "A dog runs through the snow; two dogs run through the forest.",
    "“Who let the dogs out?” – nobody knows…  3.5% of all dogs do.",
    "两只狗在雪地里跑。 一只iPad。",
    "犬が雪の中を走る。",
};
enum { SAMPLE = sizeof sample / sizeof *sample };

static cla_lines text_of(cla_line *lines)
{
    for (int i = 0; i < SAMPLE; i++) {
        lines[i] = (cla_line){ sample[i], strlen(sample[i]) };
    }
    return (cla_lines){ .path = (char *)"sample", .line = lines, .count = SAMPLE };
}

static void learn(cla_subwords *s, bool split, int64_t merges, size_t limit)
{
    cla_line lines[SAMPLE];
    const cla_lines text = text_of(lines);
    cr_assert_eq(cla_subwords_learn(s, &text, 1, split, merges), CLA_OK);
    cr_assert_eq(cla_subwords_count(s, &text, 1, limit), CLA_OK);
}

/* Checks that the pieces of line decode to want. Returns the number of unknown
 * pieces. */
static int back(const cla_subwords *s, const char *line, const char *want)
{
    cla_ids ids = { 0 };
    cla_text out = { 0 };
    int unknown = 0;
    cr_assert_eq(cla_subwords_encode(s, line, strlen(line), &ids), CLA_OK);
    for (size_t i = 0; i < ids.count; i++) {
        unknown += ids.id[i] == CLA_UNK;
        cr_assert(ids.id[i] >= CLA_UNK && ids.id[i] < (int)s->vocab.count);
    }
    cr_assert_eq(cla_subwords_decode(s, ids.id, ids.count, &out), CLA_OK);
    cr_assert_str_eq(out.data, want);
    cla_ids_free(&ids);
    cla_text_free(&out);
    return unknown;
}

Test(subwords, round_trip)
{
    for (int merges = 0; merges <= 200; merges += 40) {
        cla_subwords s;
        learn(&s, true, merges, 0);
        for (int i = 0; i < SAMPLE; i++) {
            cr_assert_eq(back(&s, sample[i], sample[i]), 0);
        }
        cr_assert_eq(back(&s, "", ""), 0);
        cla_subwords_free(&s);
    }
}

/* Any word of known letters can be encoded; a word of other letters is unknown. */
Test(subwords, words_that_never_occurred)
{
    cla_subwords s;
    learn(&s, true, 60, 0);
    cr_assert_eq(back(&s, "huddled, Walddogse", "huddled, Walddogse"), 0);
    cr_assert_eq(back(&s, "dogs ж run", "dogs <unk> run"), 1);
    cr_assert_eq(back(&s, "猫", "<unk>"), 1);
    cla_subwords_free(&s);
}

Test(subwords, text_that_spells_a_special_token)
{
    const char *texts[] = { "<pad> x <pad> x", "</s> x </s> x" };
    cla_line lines[] = { { texts[0], 15 }, { texts[1], 13 } };
    const cla_lines text = { .path = (char *)"x", .line = lines, .count = 2 };
    cla_subwords s;
    cr_assert_eq(cla_subwords_learn(&s, &text, 1, false, 50), CLA_OK);
    cr_assert_eq(cla_subwords_count(&s, &text, 1, 0), CLA_OK);
    cr_assert_eq(back(&s, "</s> x <pad>", "</s> x <pad>"), 0);
    cla_subwords_free(&s);
}

Test(subwords, vocabulary_by_count_and_limit)
{
    cla_subwords s, t;
    cla_line lines[SAMPLE];
    const cla_lines text = text_of(lines);
    learn(&s, true, 40, 20);
    cr_assert_eq(s.vocab.count, 20);
    cr_assert_str_eq(s.vocab.tokens[CLA_EOS], "</s>");
    for (size_t i = CLA_SPECIALS + 1; i < 20; i++) {
        cr_assert_leq(s.vocab.counts[i], s.vocab.counts[i - 1]);
    }
    cr_assert_eq(cla_subwords_count(&s, &text, 1, 0), CLA_E_USAGE);
    cr_assert_eq(cla_subwords_share(&t, &s), CLA_OK);
    cr_assert_eq(t.bpe.count, s.bpe.count);
    cr_assert_eq(t.vocab.count, 0);
    cr_assert_eq(cla_subwords_count(&t, &text, 1, 0), CLA_OK);
    cr_assert_gt(t.vocab.count, 20);
    cla_subwords_free(&s);
    cla_subwords_free(&t);
}

Test(subwords, decodes_anything)
{
    cla_subwords s;
    cla_text out = { 0 };
    learn(&s, true, 200, 0);
    const int32_t dogs = cla_vocab_find(&s.vocab, "dogs");
    const int32_t ids[] = { CLA_PAD, dogs, -1, 1 << 30, CLA_PAD, dogs, CLA_EOS, dogs };
    cr_assert_gt(dogs, 0);
    cr_assert_eq(cla_subwords_decode(&s, ids, 8, &out), CLA_OK);
    cr_assert_str_eq(out.data, "dogs <unk> <unk> dogs");
    out.size = 0;
    cr_assert_eq(cla_subwords_decode(&s, NULL, 0, &out), CLA_OK);
    cr_assert_str_eq(out.data, "");
    cla_text_free(&out);
    cla_subwords_free(&s);
}

Test(subwords, files)
{
    char folder[] = "/tmp/clattn-subwords-XXXXXX", codes[64], vocab[64];
    cla_subwords s, t;
    cr_assert_not_null(mkdtemp(folder));
    snprintf(codes, sizeof codes, "%s/codes", folder);
    snprintf(vocab, sizeof vocab, "%s/vocab", folder);
    learn(&s, true, 50, 0);
    cr_assert_eq(cla_subwords_load(&t, true, codes, vocab), CLA_E_IO);
    cr_assert_eq(cla_subwords_save(&s, codes, vocab), CLA_OK);
    cr_assert_eq(cla_subwords_load(&t, true, codes, vocab), CLA_OK, "%s", cla_error());
    cr_assert_eq(t.vocab.count, s.vocab.count);
    cr_assert_eq(t.codes.size, s.codes.size);
    for (int i = 0; i < SAMPLE; i++) {
        cr_assert_eq(back(&t, sample[i], sample[i]), 0);
    }
    cla_subwords_free(&t);
    cr_assert_eq(cla_file_write(vocab, "<pad>\n<unk>\n", 12), CLA_OK);
    cr_assert_eq(cla_subwords_load(&t, true, codes, vocab), CLA_E_INPUT);
    cr_assert(strstr(cla_error(), "vocab:2: must be '</s>'") != NULL);
    cla_subwords_free(&s);
    unlink(codes);
    unlink(vocab);
    rmdir(folder);
}

Test(subwords, nothing_to_learn_from)
{
    cla_subwords s;
    cla_line blank = { "  ", 2 };
    const cla_lines text = { .path = (char *)"x", .line = &blank, .count = 1 };
    cr_assert_eq(cla_subwords_learn(&s, &text, 1, false, 10), CLA_E_INPUT);
    cr_assert_str_eq(cla_error(), "x: holds no word");
}

/* The name of a language ends at the first "<<", as in MarianTokenizer. */
Test(subwords, prefix_ends_at_the_first_mark)
{
    static const char *const lines[][2] = {
        { ">>de<< a << b", ">>de<<" },
        { ">>de<< <<a>> b", ">>de<<" },
        { ">>de<< >>de<< x", ">>de<<" },
        { ">><< x <<", ">><<" },
        { ">>de<<<< x", ">>de<<" },
        { ">>a b<<x", ">>a b<<" },
        { ">>de< < x", NULL },
        { " >>de<< x", NULL },
        { "x >>de<<", NULL },
    };
    cla_subwords s;
    learn(&s, false, 10, 0);
    s.prefix = true;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        cla_ids with = { 0 }, without = { 0 };
        const char *line = lines[i][0], *prefix = lines[i][1];
        const char *rest = line + (prefix ? strlen(prefix) : 0);
        int id = -1;
        if (prefix) {
            cr_assert_eq(cla_vocab_add(&s.vocab, prefix, 1, &id), CLA_OK);
        }
        cr_assert_eq(cla_subwords_encode(&s, line, strlen(line), &with), CLA_OK);
        s.prefix = false;
        cr_assert_eq(cla_subwords_encode(&s, rest, strlen(rest), &without), CLA_OK);
        s.prefix = true;
        cr_assert_eq(with.count, without.count + (prefix != NULL), "'%s'", line);
        cr_assert(!prefix || with.id[0] == id, "'%s'", line);
        cr_assert_arr_eq(with.id + (prefix != NULL), without.id,
                         without.count * sizeof *without.id);
        cla_ids_free(&with);
        cla_ids_free(&without);
    }
    cla_subwords_free(&s);
}

/* The pieces are those of SentencePiece's own program (0.2, Python) for the same
 * model. */
Test(subwords, takes_a_sentencepiece_model)
{
    static const char want[] = "▁The ▁ kernel ▁has ▁two ▁ schedule s .";
    const char line[] = "The kernel has two schedules.";
    char path[256];
    cla_line lines[SAMPLE];
    const cla_lines text = text_of(lines);
    cla_subwords s, t;
    cla_ids ids = { 0 };
    cla_text got = { 0 };
    snprintf(path, sizeof path, "%s/pieces.model", getenv("CLATTN_TEST_DATA"));
    if (cla_subwords_take(&s, path)) {
        cr_assert(strstr(cla_error(), "built without SentencePiece"), "%s",
                  cla_error());
        cr_skip("%s", cla_error());
    }
    cr_assert_eq(cla_subwords_share(&t, &s), CLA_OK, "%s", cla_error());
    cr_assert_eq(cla_subwords_count(&t, &text, 1, 0), CLA_OK);
    cr_assert_eq(cla_subwords_encode(&t, line, strlen(line), &ids), CLA_OK);
    for (size_t i = 0; i < ids.count; i++) {
        cr_assert_eq(
            cla_text_add(&got, "%s%s", i ? " " : "", t.vocab.tokens[ids.id[i]]),
            CLA_OK);
    }
    cr_assert_str_eq(got.data, want);
    cla_text_free(&got);
    cr_assert_eq(back(&t, line, line), 0);
    cr_assert_eq(back(&t, "  a  map\tof all ", "a map\tof all"), 0);
    cr_assert_eq(back(&t, "", ""), 0);
    cr_assert_eq(back(&t, "große Maße", "große Maße"), 0); // counted in the sample
    cla_ids_free(&ids);
    cla_subwords_free(&s);
    cla_subwords_free(&t);
}

Test(subwords, refuses_what_is_no_model)
{
    char path[] = "/tmp/clattn-test-XXXXXX";
    cla_subwords s;
    close(mkstemp(path));
    cr_assert_eq(cla_file_write(path, "no model", 8), CLA_OK);
    const cla_status status = cla_subwords_take(&s, path);
    const bool built = !strstr(cla_error(), "built without SentencePiece");
    cr_assert_eq(status, built ? CLA_E_INPUT : CLA_E_USAGE, "%s", cla_error());
    cr_assert(!built || strstr(cla_error(), path), "%s", cla_error());
    unlink(path);
}
