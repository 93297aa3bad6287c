/* vocab.c - ids in order of addition, frequency cuts, files. */
#include "text/vocab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "base/file.h"

Test(vocab, ids_follow_the_order_of_addition)
{
    cla_vocab v = { 0 };
    char token[16];
    int id = -1;
    cr_assert_eq(cla_vocab_find(&v, "nothing"), -1);
    for (int i = 0; i < 5000; i++) {
        snprintf(token, sizeof token, "t%d", i % 1000);
        cr_assert_eq(cla_vocab_add(&v, token, 1, &id), CLA_OK);
        cr_assert_eq(id, i % 1000);
    }
    cr_assert_eq(v.count, 1000);
    cr_assert_eq(v.counts[7], 5);
    cr_assert_eq(cla_vocab_find(&v, "t999"), 999);
    cr_assert_eq(cla_vocab_find(&v, "t1000"), -1);
    cla_vocab_free(&v);
}

/* Tokens are in the order of falling counts; equal counts keep their order. */
Test(vocab, keeps_the_frequent)
{
    cla_vocab v = { 0 };
    const char *text[] = { "b", "a", "c", "a", "d", "c", "a", "e" };
    for (size_t i = 0; i < 8; i++) {
        cr_assert_eq(cla_vocab_add(&v, text[i], 1, NULL), CLA_OK);
    }
    cr_assert_eq(cla_vocab_keep_frequent(&v, 4), CLA_OK);
    const char *want[] = { "a", "c", "b", "d" };
    cr_assert_eq(v.count, 4);
    for (int i = 0; i < 4; i++) {
        cr_assert_str_eq(v.tokens[i], want[i]);
        cr_assert_eq(cla_vocab_find(&v, want[i]), i);
    }
    cr_assert_eq(cla_vocab_find(&v, "e"), -1);
    cla_vocab_free(&v);
}

/* Special tokens come first, then the frequent ones. Text that spells a special token
 * is a token like any other. */
Test(vocab, numbers_text)
{
    cla_vocab counts = { 0 }, v = { 0 };
    const char *text[] = { "b", "a", "</s>", "a", "d", "</s>", "a", "b", "<unk>" };
    for (size_t i = 0; i < 9; i++) {
        cr_assert_eq(cla_vocab_add(&counts, text[i], 1, NULL), CLA_OK);
    }
    cr_assert_eq(cla_vocab_take(&v, &counts, 2, 0), CLA_OK);
    cr_assert_eq(v.count, CLA_SPECIALS + 3);
    cr_assert_eq(cla_vocab_number(&v, "a"), CLA_SPECIALS);
    cr_assert_eq(cla_vocab_number(&v, "b"), CLA_SPECIALS + 1);
    cr_assert_eq(cla_vocab_number(&v, "d"), CLA_UNK);
    cr_assert_eq(cla_vocab_number(&v, "</s>"), CLA_SPECIALS + 2);
    cr_assert_str_eq(v.tokens[CLA_SPECIALS + 2], "</s>");
    cr_assert(cla_vocab_spells(&v, "<pad>") && !cla_vocab_spells(&v, "d"));
    cr_assert_eq(cla_vocab_number(&v, "<pad>"), CLA_UNK);
    cla_vocab_free(&v);
    cr_assert_eq(cla_vocab_take(&v, &counts, 0, CLA_SPECIALS + 1), CLA_OK);
    cr_assert_eq(v.count, CLA_SPECIALS + 1);
    cla_vocab_free(&v);
    cla_vocab_free(&counts);
}

/* Special tokens, rows without a token and any text are the same after a file. */
Test(vocab, keeps_every_token)
{
    static const char *const tokens[] = {
        "</s>",
        "a b",
        "\n",
        "\r",
        "a\r",
        "\xc2\x85  ",
        "\xe2\x80\xa8",
        "\x01",
        "\\",
        "\\n",
        "\xef\xbb\xbf",
        "#clattn vocabulary with escapes: special 2, added 0 and 0",
        "",
    };
    enum { TOKENS = sizeof tokens / sizeof *tokens, ROWS = 4 };
    char path[] = "/tmp/clattn-vocab-XXXXXX";
    close(mkstemp(path));
    cla_vocab v = { 0 }, w = { 0 };
    for (int i = 0; i < ROWS; i++) {
        cr_assert_eq(cla_vocab_reserve(&v, i < 3 ? cla_special_names[i] : ""), CLA_OK);
    }
    for (int i = 0; i < TOKENS; i++) {
        cr_assert_eq(cla_vocab_add(&v, tokens[i], 1, NULL), CLA_OK);
    }
    cr_assert_eq(cla_vocab_save(&v, path), CLA_OK);
    cr_assert_eq(cla_vocab_load(&w, path, 3), CLA_OK, "%s", cla_error());
    cr_assert_eq(w.count, ROWS + TOKENS);
    cr_assert_eq(w.specials, ROWS);
    for (int i = 0; i < TOKENS; i++) {
        cr_assert_str_eq(w.tokens[ROWS + i], tokens[i]);
        cr_assert_eq(cla_vocab_find(&w, tokens[i]), ROWS + i);
    }
    cr_assert_eq(cla_vocab_find(&w, "<pad>"), -1);
    cla_vocab_free(&v);
    cla_vocab_free(&w);
    unlink(path);
}

/* A first token that a file as it is would begin with, and lose. */
Test(vocab, keeps_the_first_token)
{
    static const char *const first[] = {
        "\xEF\xBB\xBF",
        "\xEF\xBB\xBF"
        "a",
        "\xEF\xBB\xBF\xEF\xBB\xBF",
        "",
        "a\r",
        "\n",
        "#clattn vocabulary with escapes: special 0, added 0 and 0",
    };
    char path[] = "/tmp/clattn-vocab-XXXXXX";
    close(mkstemp(path));
    for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
        cla_vocab v = { 0 }, w = { 0 };
        cr_assert_eq(cla_vocab_add(&v, first[i], 1, NULL), CLA_OK);
        cr_assert_eq(cla_vocab_add(&v, "b", 1, NULL), CLA_OK);
        cr_assert_eq(cla_vocab_save(&v, path), CLA_OK);
        cr_assert_eq(cla_vocab_load(&w, path, 0), CLA_OK, "%zu: %s", i, cla_error());
        cr_assert_eq(w.count, 2, "%zu", i);
        cr_assert_str_eq(w.tokens[0], first[i]);
        cla_vocab_free(&v);
        cla_vocab_free(&w);
    }
    unlink(path);
}

/* Files of older versions: the special tokens are the first lines, and a backslash is a
 * backslash. */
Test(vocab, loads_old_files)
{
    static const char old[] = "<pad>\n</s>\n<unk>\n\\n\n\n\\\n";
    char path[] = "/tmp/clattn-vocab-XXXXXX";
    close(mkstemp(path));
    cla_vocab v = { 0 };
    cr_assert_eq(cla_file_write(path, old, sizeof old - 1), CLA_OK);
    cr_assert_eq(cla_vocab_load(&v, path, CLA_SPECIALS), CLA_OK, "%s", cla_error());
    cr_assert_eq(v.count, 6);
    cr_assert_str_eq(v.tokens[3], "\\n");
    cr_assert_eq(cla_vocab_find(&v, ""), 4);
    cr_assert_eq(cla_vocab_find(&v, "\\"), 5);
    cr_assert_eq(cla_vocab_number(&v, "<pad>"), CLA_UNK);
    cla_vocab_free(&v);
    static const char bad[] =
        "#clattn vocabulary with escapes: special 0, added 0 and 0\na\nb\\t\n";
    cr_assert_eq(cla_file_write(path, bad, sizeof bad - 1), CLA_OK);
    cr_assert_eq(cla_vocab_load(&v, path, 0), CLA_E_INPUT);
    cr_assert(strstr(cla_error(), ":3: a backslash before"), "%s", cla_error());
    unlink(path);
}

Test(vocab, round_trip)
{
    char path[] = "/tmp/clattn-vocab-XXXXXX";
    close(mkstemp(path));
    cla_vocab v = { 0 }, w = { 0 };
    const char *tokens[] = { "<pad>", "a b", "été", "\"" };
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(cla_vocab_add(&v, tokens[i], 1, NULL), CLA_OK);
    }
    cr_assert_eq(cla_vocab_save(&v, path), CLA_OK);
    cr_assert_eq(cla_vocab_load(&w, path, 0), CLA_OK);
    cr_assert_eq(w.count, 4);
    cr_assert_str_eq(w.tokens[2], "été");
    cla_vocab_free(&w);
    cr_assert_eq(cla_file_write(path, "x\ny\nx\n", 6), CLA_OK);
    cr_assert_eq(cla_vocab_load(&w, path, 0), CLA_E_INPUT);
    cr_assert(strstr(cla_error(), ":3: duplicate token 'x'") != NULL);
    unlink(path);
    cr_assert_eq(cla_vocab_load(&w, path, 0), CLA_E_IO);
    cla_vocab_free(&v);
}
