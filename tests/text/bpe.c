/* bpe.c - merges, pieces and lines of subword-nmt's own test; small cases by hand. */
#include "text/bpe.h"

#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/file.h"
#include "base/rng.h"
#include "support/support.h"
#include "text/lines.h"

static char *data_path(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/oracles/bpe/%s", getenv("CLATTN_TEST_DATA"), name);
    return path;
}

static void count_words(cla_vocab *words, const char *word, int64_t count)
{
    cr_assert_eq(cla_vocab_add(words, word, count, NULL), CLA_OK);
}

static void load(cla_bpe *bpe, const char *codes)
{
    char *copy = NULL;
    cr_assert_eq(cla_strdup(&copy, codes), CLA_OK);
    cr_assert_eq(cla_bpe_parse(bpe, "codes", copy, strlen(codes)), CLA_OK, "%s",
                 cla_error());
    free(copy);
}

static void applied(const cla_bpe *bpe, const char *line, const char *want)
{
    cla_text out = { 0 };
    cr_assert_eq(cla_bpe_apply(bpe, line, strlen(line), &out), CLA_OK);
    cr_assert_str_eq(out.data, want);
    cla_text_free(&out);
}

/* The example of Sennrich et al. 2016: ties go to the pair that sorts last. */
Test(bpe, learns_the_paper_s_words)
{
    cla_vocab words = { 0 };
    cla_text codes = { 0 };
    cla_bpe bpe;
    count_words(&words, "low", 5);
    count_words(&words, "lower", 2);
    count_words(&words, "newest", 6);
    count_words(&words, "widest", 3);
    cr_assert_eq(cla_bpe_learn(&words, 10, 1, &codes), CLA_OK);
    cr_assert_str_eq(codes.data,
                     "#version: 0.2\ns t</w>\ne st</w>\nl o\nw est</w>\nn e\n"
                     "ne west</w>\nlo w</w>\nw i\nwi d\nwid est</w>\n");
    load(&bpe, codes.data);
    applied(&bpe, "lowest newer wide low", "lo@@ west ne@@ w@@ e@@ r wid@@ e low");
    cla_bpe_free(&bpe);
    cla_text_free(&codes);
    cla_vocab_free(&words);
}

/* A pair of equal symbols overlaps itself; a pair whose halves are merged in another
 * order is the same symbol. */
Test(bpe, learns_runs_of_one_letter)
{
    cla_vocab words = { 0 };
    cla_text codes = { 0 };
    cla_bpe bpe;
    count_words(&words, "aaaaa", 4);
    cr_assert_eq(cla_bpe_learn(&words, 100, 2, &codes), CLA_OK);
    // 3 pairs (a,a), 1 (a,a</w>); then aa aa a</w>, whose pairs are seen as often
    cr_assert_str_eq(codes.data, "#version: 0.2\na a\naa aa\naaaa a</w>\n");
    load(&bpe, codes.data);
    applied(&bpe, "aaaaa aaa aaaaaaa a", "aaaaa aa@@ a aaaa@@ aa@@ a a");
    cla_bpe_free(&bpe);
    cla_text_free(&codes);
    cla_vocab_free(&words);
}

/* ---- the order of merges -------------------------------------------------------- */

enum { MERGES = 40, SYMBOL = 64, LETTERS = 40 };

/* Merges pairs of pieces in the order of the codes, each from the left: the definition,
 * in quadratic time. */
static size_t merge_slowly(char pair[MERGES][2][SYMBOL], char pieces[][SYMBOL],
                           size_t n)
{
    for (int rank = 0; rank < MERGES; rank++) {
        size_t kept = 0;
        bool any = false;
        for (size_t i = 0; i < n; i++, kept++) {
            const bool here = i + 1 < n && strcmp(pieces[i], pair[rank][0]) == 0 &&
                              strcmp(pieces[i + 1], pair[rank][1]) == 0;
            memmove(pieces[kept], pieces[i], SYMBOL);
            if (here) {
                strcat(pieces[kept], pieces[++i]);
                any = true;
            }
        }
        n = kept;
        rank = any ? -1 : rank; // a merge may have made a pair that comes earlier
    }
    return n;
}

static uint32_t pick(uint32_t round, uint32_t i, uint32_t below)
{
    const uint32_t counter[4] = { round, i, 0x62706500, 0 };
    const uint32_t key[2] = { test_seed(), 0 };
    return cla_philox4x32(counter, key).v[0] % below;
}

/* Draws merges of any symbols, in any order; some can never happen. */
static void draw_merges(uint32_t round, char pair[MERGES][2][SYMBOL], cla_text *codes)
{
    cr_assert_eq(cla_text_add(codes, "#version: 0.2\n"), CLA_OK);
    for (uint32_t i = 0; i < MERGES; i++) {
        for (uint32_t side = 0; side < 2; side++) {
            char *symbol = pair[i][side];
            *symbol = 0;
            for (uint32_t k = 0; k <= pick(round, 100 * i + side, 3); k++) {
                const char *const letters[] = { "a", "b", "c" };
                strcat(symbol, letters[pick(round, 100 * i + 10 * side + k + 2, 3)]);
            }
        }
        if (pick(round, 100 * i + 99, 3) == 0) {
            strcat(pair[i][1], "</w>");
        }
        cr_assert_eq(cla_text_add(codes, "%s %s\n", pair[i][0], pair[i][1]), CLA_OK);
    }
}

Test(bpe, merges_in_the_order_of_the_codes)
{
    for (uint32_t round = 0; round < 300; round++) {
        char pair[MERGES][2][SYMBOL], pieces[LETTERS][SYMBOL], word[LETTERS + 1] = "";
        cla_text codes = { 0 }, want = { 0 };
        cla_bpe bpe;
        draw_merges(round, pair, &codes);
        const size_t n = 1 + pick(round, 9000, LETTERS);
        for (size_t i = 0; i < n; i++) {
            word[i] = (char)('a' + pick(round, 9001 + (uint32_t)i, 3));
            snprintf(pieces[i], SYMBOL, "%c%s", word[i], i + 1 < n ? "" : "</w>");
        }
        word[n] = 0;
        const size_t count = merge_slowly(pair, pieces, n);
        for (size_t i = 0; i + 1 < count; i++) {
            cr_assert_eq(cla_text_add(&want, "%s@@ ", pieces[i]), CLA_OK);
        }
        pieces[count - 1][strlen(pieces[count - 1]) - 4] = 0;
        cr_assert_eq(cla_text_add(&want, "%s", pieces[count - 1]), CLA_OK);
        load(&bpe, codes.data);
        applied(&bpe, word, want.data);
        cla_bpe_free(&bpe);
        cla_text_free(&codes);
        cla_text_free(&want);
    }
}

/* Codes learnt from any line can be read, and the line's pieces give it back. */
Test(bpe, learns_from_odd_lines_what_it_can_apply)
{
    static const char *const odd[] = {
        "a\rb a\rb",
        "\r \r\r x\r",
        "a\fb a\fb",
        "a\vb a\vb",
        "a\xC2\xA0 \xC2\xA0",
        "\xE2\x80\xA8x x\xE2\x80\xA8",
        "\xC2\x85x x\xC2\x85",
        "\x1B[2J \x1B[2J",
        "a</w> a</w>",
        "@@ @@a a@@b",
        "\tx x\t",
        "#version: 0.2",
        "\xF0\x9F\x98\x80 \xEF\xBB\xBF",
        "\x7F\x01 \x7F\x01",
    };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        cla_vocab words = { 0 };
        cla_text codes = { 0 }, pieces = { 0 }, back = { 0 };
        cla_bpe bpe;
        cr_assert_eq(cla_bpe_count(&words, odd[i], strlen(odd[i])), CLA_OK);
        cr_assert_eq(cla_bpe_count(&words, odd[i], strlen(odd[i])), CLA_OK);
        cr_assert_eq(cla_bpe_learn(&words, 100, 1, &codes), CLA_OK);
        load(&bpe, codes.data);
        cr_assert_eq(cla_bpe_apply(&bpe, odd[i], strlen(odd[i]), &pieces), CLA_OK);
        cr_assert_eq(cla_bpe_undo(pieces.data, pieces.size, &back), CLA_OK);
        // marks of pieces inside of a text are the same as those of apply
        if (!strstr(odd[i], "@@")) {
            cr_expect_str_eq(back.data, odd[i], "line %zu", i);
        }
        cla_bpe_free(&bpe);
        cla_text_free(&codes);
        cla_text_free(&pieces);
        cla_text_free(&back);
        cla_vocab_free(&words);
    }
}

/* 1,000 merges on a corpus of subword-nmt give its codes and its pieces, byte for
 * byte. */
Test(bpe, equals_subword_nmt)
{
    cla_lines corpus, want;
    cla_vocab words = { 0 };
    cla_text codes = { 0 }, out = { 0 };
    char *expected = NULL;
    size_t size = 0;
    cla_bpe bpe;
    cr_assert_eq(cla_lines_read(&corpus, data_path("corpus.en")), CLA_OK);
    for (size_t i = 0; i < corpus.count; i++) {
        const cla_line *line = &corpus.line[i];
        cr_assert_eq(cla_bpe_count(&words, line->text, line->size), CLA_OK);
    }
    cr_assert_eq(cla_bpe_learn(&words, 1000, 2, &codes), CLA_OK);
    cr_assert_eq(cla_file_read(data_path("bpe.ref"), &expected, &size), CLA_OK);
    cr_assert_eq(codes.size, size);
    cr_assert(memcmp(codes.data, expected, size) == 0);

    cr_assert_eq(cla_bpe_load(&bpe, data_path("bpe.ref")), CLA_OK);
    cr_assert_eq(bpe.count, 1000);
    cr_assert_eq(cla_lines_read(&want, data_path("corpus.bpe.ref.en")), CLA_OK);
    cr_assert_eq(want.count, corpus.count);
    for (size_t i = 0; i < want.count; i++) {
        const cla_line *line = &corpus.line[i], *pieces = &want.line[i];
        out.size = 0;
        cr_assert_eq(cla_bpe_apply(&bpe, line->text, line->size, &out), CLA_OK);
        cr_assert_str_eq(out.data, pieces->text);
        out.size = 0;
        cr_assert_eq(cla_bpe_undo(pieces->text, pieces->size, &out), CLA_OK);
        cr_assert_str_eq(out.data, line->text);
    }
    free(expected);
    cla_text_free(&codes);
    cla_text_free(&out);
    cla_vocab_free(&words);
    cla_bpe_free(&bpe);
    cla_lines_free(&corpus);
    cla_lines_free(&want);
}

/* Characters that no code has stay single; blanks collapse inside a line and stay at
 * its ends. */
Test(bpe, applies_to_anything)
{
    cla_bpe bpe;
    load(&bpe, "#version: 0.2\na b</w>\n");
    applied(&bpe, "ab  xéb", "ab x@@ é@@ b");
    applied(&bpe, "  ab ", "  ab ");
    applied(&bpe, "", "");
    applied(&bpe, "   ", "   ");
    applied(&bpe, "é", "é");
    cla_bpe_free(&bpe);
}

Test(bpe, undoes_anything)
{
    const char *pairs[][2] = { { "a@@ b@@ c d", "abc d" },
                               { "a@@", "a" },
                               { "a@@ ", "a" },
                               { "", "" },
                               { "@@@ b", "@b" },
                               { "a @ b", "a @ b" },
                               { "x@@@@ y", "x@@y" } };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        cla_text out = { 0 };
        cr_assert_eq(cla_bpe_undo(pairs[i][0], strlen(pairs[i][0]), &out), CLA_OK);
        cr_assert_str_eq(out.data, pairs[i][1]);
        cla_text_free(&out);
    }
}

Test(bpe, names_bad_codes)
{
    const char *cases[][2] = {
        { "", "codes:1: codes must begin with '#version: 0.2'" },
        { "a b\n", "codes:1: codes must begin" },
        { "#version: 0.2\na b\nab\n", "codes:3: 'ab' is no merge" },
        { "#version: 0.2\na b c\n", "codes:2: 'a b c' is no merge" },
        { "#version: 0.2\na \n", "codes:2: 'a ' is no merge" },
        { "#version: 0.2\na \xff\n", "codes:2: not UTF-8 (byte 3)" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cla_bpe bpe;
        char *copy = NULL;
        cr_assert_eq(cla_strdup(&copy, cases[i][0]), CLA_OK);
        cr_assert_eq(cla_bpe_parse(&bpe, "codes", copy, strlen(copy)), CLA_E_INPUT);
        cr_assert(strstr(cla_error(), cases[i][1]) != NULL, "'%s'", cla_error());
        free(copy);
    }
}
