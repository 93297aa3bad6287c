/* split.c - lines cut into words and joined again without loss. */
#include "text/split.h"

#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/utf8.h"

#define J "\xEF\xBF\xAD" // the joiner
#define E "\xEF\xBC\x85" // the escape

static void back(const char *line)
{
    cla_text tokens = { 0 }, again = { 0 };
    cr_assert_eq(cla_split(line, strlen(line), &tokens), CLA_OK);
    cr_assert(!strstr(tokens.data, "  ") && tokens.data[0] != ' ');
    cr_assert_eq(cla_unsplit(tokens.data, tokens.size, &again), CLA_OK);
    cr_assert_str_eq(again.data, line);
    cla_text_free(&tokens);
    cla_text_free(&again);
}

static void cut(const char *line, const char *want)
{
    cla_text tokens = { 0 };
    cr_assert_eq(cla_split(line, strlen(line), &tokens), CLA_OK);
    cr_assert_str_eq(tokens.data, want);
    cla_text_free(&tokens);
    back(line);
}

Test(split, cuts_punctuation_with_a_joiner)
{
    cut("A man, a plan.", "A man " J ", a plan " J ".");
    cut("(so)!", "(" J " so " J ") " J "!");
    cut("It's 3.5%", "It " J "'" J " s 3 " J "." J " 5 " J "%");
    cut("well ... --no--", "well ... --" J " no " J "--");
    cut("a @@ b", "a @ " J "@ b"); // @@ marks pieces
    cut("naïve Äpfel", "naïve Äpfel");
}

Test(split, cuts_ideographs_one_by_one)
{
    cut("我们是。", "我 们 是 。");
    cut("我有iPad吗？", "我 有" J " iPad " J "吗 ？");
    cut("彼 は", "彼 " E "0020 は"); // a blank there is written as a token
    cut("3个", "3 " J "个");
    cut("（a）", "（" J " a " J "）");
}

Test(split, keeps_odd_blanks_and_controls)
{
    cut("a  b", "a " E "0020 " E "0020 b");
    cut(" a\t", E "0020 a " E "0009");
    cut("a\xC2\xA0!", "a " E "00a0 !");
    cut("\x01\r", E "0001 " E "000d");
    cut(J E, E "ffed " E "ff05");
    cut("", "");
    cut(" ", E "0020");
    cut("  ", E "0020 " E "0020");
}

/* Lines of characters of all kinds are restored. */
Test(split, round_trip_of_anything)
{
    static const int32_t drawn[] = { ' ',    ' ',    'a',    'b',     '.',    '@',
                                     '-',    0x9,    0xA0,   0x3000,  0xFFED, 0xFF05,
                                     0x4E2D, 0x3042, 0x3002, 0x1F600, 0x301,  0xE9,
                                     '0',    0x7F,   0x2028, 0x200B,  0xAC00, 0x20000 };
    uint32_t state = 42;
    for (int i = 0; i < 20000; i++) {
        char line[128] = "";
        const int n = i % 20;
        for (int k = 0; k < n; k++) {
            state = state * 1664525 + 1013904223;
            const size_t pick = (state >> 16) % (sizeof drawn / sizeof *drawn);
            cla_utf8_put(drawn[pick], line + strlen(line));
        }
        back(line);
    }
}

/* Tokens that no line gives, as a model may write them, are joined, too. */
Test(split, puts_anything_together)
{
    const char *pairs[][2] = { { J, "" },
                               { "a " J " b", "ab" },
                               { "a " J J " b", "ab" },
                               { J "a" J, "a" },
                               { "a  b", "a b" },
                               { E "12", E "12" },
                               { "a " E "000a b", "a" E "000a b" },
                               { E "0041", E "0041" },
                               { E "00A0", E "00A0" } };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        cla_text out = { 0 };
        cr_assert_eq(cla_unsplit(pairs[i][0], strlen(pairs[i][0]), &out), CLA_OK);
        cr_assert_str_eq(out.data, pairs[i][1]);
        cla_text_free(&out);
    }
}
