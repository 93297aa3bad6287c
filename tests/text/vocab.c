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
 * is unknown. */
Test(vocab, numbers_text)
{
    cla_vocab counts = { 0 }, v = { 0 };
    const char *text[] = { "b", "a", "</s>", "a", "d", "</s>", "a", "b", "<unk>" };
    for (size_t i = 0; i < 9; i++) {
        cr_assert_eq(cla_vocab_add(&counts, text[i], 1, NULL), CLA_OK);
    }
    cr_assert_eq(cla_vocab_take(&v, &counts, 2, 0), CLA_OK);
    cr_assert_eq(v.count, CLA_SPECIALS + 2);
    cr_assert_eq(cla_vocab_number(&v, "a"), CLA_SPECIALS);
    cr_assert_eq(cla_vocab_number(&v, "b"), CLA_SPECIALS + 1);
    cr_assert_eq(cla_vocab_number(&v, "d"), CLA_UNK);
    cr_assert_eq(cla_vocab_number(&v, "</s>"), CLA_UNK);
    cr_assert_eq(cla_vocab_number(&v, "<pad>"), CLA_UNK);
    cla_vocab_free(&v);
    cr_assert_eq(cla_vocab_take(&v, &counts, 0, CLA_SPECIALS + 1), CLA_OK);
    cr_assert_eq(v.count, CLA_SPECIALS + 1);
    cla_vocab_free(&v);
    cla_vocab_free(&counts);
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
    cr_assert_eq(cla_vocab_load(&w, path), CLA_OK);
    cr_assert_eq(w.count, 4);
    cr_assert_str_eq(w.tokens[2], "été");
    cla_vocab_free(&w);
    cr_assert_eq(cla_file_write(path, "x\ny\nx\n", 6), CLA_OK);
    cr_assert_eq(cla_vocab_load(&w, path), CLA_E_INPUT);
    cr_assert(strstr(cla_error(), ":3: duplicate token 'x'") != NULL);
    unlink(path);
    cr_assert_eq(cla_vocab_load(&w, path), CLA_E_IO);
    cla_vocab_free(&v);
}
