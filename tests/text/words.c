/* words.c - texts as words: cuts, positions, and bytes of any kind. */
#include "text/words.h"

#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/rng.h"
#include "base/utf8.h"
#include "support/support.h"

/* Checks the words of text, with a bar between them. */
static void cut(const char *text, const char *want)
{
    cla_words w = { 0 };
    cla_text got = { 0 };
    cr_assert_eq(cla_words_cut(&w, text, strlen(text)), CLA_OK);
    for (size_t i = 0; i < w.count; i++) {
        cr_assert_eq(cla_text_add(&got, "%s%.*s", i ? "|" : "", w.word[i].size,
                                  text + w.word[i].at),
                     CLA_OK);
    }
    cr_assert_str_eq(got.data ? got.data : "", want);
    cla_text_free(&got);
    cla_words_free(&w);
}

Test(words, are_cut)
{
    cut("", "");
    cut(" \t\n\xC2\xA0", "");
    cut("the cat", "the|cat");
    cut("(1856\xE2\x80\x93"
        "1943)",
        "(|1856|\xE2\x80\x93|1943|)");
    cut("well-known U.S. $3.5 1,000,000.", "well|-|known|U|.|S|.|$|3.5|1,000,000|.");
    cut("3-5, a.b 7.x ,5", "3|-|5|,|a|.|b|7|.|x|,|5");
    cut("Tesla's we'LL don't 'so' dogs' they\xE2\x80\x99re o'clock",
        "Tesla|'s|we|'LL|don|'t|'|so|'|dogs|'|they|\xE2\x80\x99re|o|'|clock");
    cut("a's b 's", "a|'s|b|'|s"); // only where a word ends
    cut("...", ".|.|.");
    cut("\xD0\x9D\xD0\xB8\xD0\xBA e\xCC\x81t\xC3\xA9",
        "\xD0\x9D\xD0\xB8\xD0\xBA|e\xCC\x81t\xC3\xA9");
    cut("a\xE2\x80\x8B"
        "b\xEF\xBB\xBF"
        "c",
        "a|b|c");
}

Test(words, ideographs_are_words)
{
    cut("《战国无双3》是由ω-force开发的2017年 and Z。",
        "《|战|国|无|双|3|》|是|由|ω|-|force|开|发|的|2017|年|and|Z|。");
    cut("𠀀a１２", "𠀀|a|１|２");
}

Test(words, stand_at_code_points_and_bytes)
{
    const char *text = "\xC3\xA9t\xC3\xA9, \xE6\x88\x98 it\xE2\x80\x99s";
    const cla_span want[] = {
        { 0, 3, 0, 5 },   // été
        { 3, 4, 5, 1 },   // ,
        { 5, 6, 7, 3 },   // 战
        { 7, 9, 11, 2 },  // it
        { 9, 11, 13, 4 }, // ’s
    };
    cla_words w = { 0 };
    cr_assert_eq(cla_words_cut(&w, text, strlen(text)), CLA_OK);
    cr_assert_eq(w.count, 5);
    for (size_t i = 0; i < 5; i++) {
        cr_assert_eq(w.word[i].from, want[i].from, "word %zu", i);
        cr_assert_eq(w.word[i].to, want[i].to, "word %zu", i);
        cr_assert_eq(w.word[i].at, want[i].at, "word %zu", i);
        cr_assert_eq(w.word[i].size, want[i].size, "word %zu", i);
    }
    const cla_span joined = cla_words_join(w.word, 1, 3);
    cr_assert(joined.from == 3 && joined.to == 9 && joined.at == 5 && joined.size == 8);
    cla_words_free(&w);
}

static void cover(const cla_words *w, int32_t from, int32_t to, int first, int last)
{
    size_t a = 99, b = 99;
    const bool found = cla_words_cover(w->word, w->count, from, to, &a, &b);
    cr_assert_eq(found, first >= 0, "%d .. %d", from, to);
    if (found) {
        cr_assert_eq((int)a, first, "%d .. %d", from, to);
        cr_assert_eq((int)b, last, "%d .. %d", from, to);
    }
}

Test(words, cover_code_points)
{
    cla_words w = { 0 };
    const char *text = " ab cd, e";
    cr_assert_eq(cla_words_cut(&w, text, strlen(text)), CLA_OK);
    cover(&w, 1, 3, 0, 0);
    cover(&w, 1, 6, 0, 1);
    cover(&w, 0, 3, 0, 0); // with the blank
    cover(&w, 2, 5, 0, 1); // widened on both sides
    cover(&w, 6, 9, 2, 3);
    cover(&w, 3, 4, -1, -1); // a blank alone
    cover(&w, 5, 5, -1, -1);
    cover(&w, 9, 12, -1, -1);
    cover(&w, 0, 99, 0, 3);
    cover(&w, -5, 2, 0, 0);
    cla_words_free(&w);
    cover(&w, 0, 1, -1, -1); // no words at all
}

Test(words, forms)
{
    cla_text out = { 0 };
    const char *text = "x \xC3\x89T\xC3\xA9";
    const cla_span word = { 2, 5, 2, 5 };
    cr_assert_eq(cla_words_form(text, &word, true, &out), CLA_OK);
    cr_assert_str_eq(out.data, "\xC3\xA9t\xC3\xA9");
    out.size = 0;
    cr_assert_eq(cla_words_form(text, &word, false, &out), CLA_OK);
    cr_assert_str_eq(out.data, text + 2);
    cla_text_free(&out);
}

/* For bytes of every kind, words are in order, inside the text and whole code points;
 * the bytes between them are blank. */
Test(words, any_bytes)
{
    static const char *const parts[] = { "a",        "7",    "'s",   ".",
                                         " ",        "\xE6", "\x88", "\xC3\xA9",
                                         "\xE6\x88", "\xFF", "-",    "\0" };
    for (uint32_t round = 0; round < 500; round++) {
        char text[64];
        size_t size = 0;
        for (uint32_t i = 0; i < 20; i++) {
            const uint32_t counter[4] = { round, i, 0, 0 };
            const uint32_t key[2] = { test_seed(), 0 };
            const uint32_t pick = cla_philox4x32(counter, key).v[0] % 12;
            const size_t length = pick == 11 ? 1 : strlen(parts[pick]);
            memcpy(text + size, parts[pick], length);
            size += length;
        }
        cla_words w = { 0 };
        cr_assert_eq(cla_words_cut(&w, text, size), CLA_OK);
        size_t at = 0, k = 0;
        int32_t point = 0;
        while (at < size) {
            int32_t code = 0;
            const bool begins = k < w.count && (size_t)w.word[k].at == at;
            if (begins) {
                cr_assert_eq(w.word[k].from, point);
            }
            for (size_t end = begins ? at + (size_t)w.word[k].size : at + 1; at < end;
                 point++) {
                at += (size_t)cla_utf8_step(text + at, size - at, &code);
            }
            if (begins) {
                cr_assert_eq(w.word[k].to, point);
                cr_assert_eq((size_t)(w.word[k].at + w.word[k].size), at);
                k++;
            } else {
                cr_assert(code == ' ' || code == 0, "%d is in no word", code);
            }
        }
        cr_assert_eq(k, w.count);
        cla_words_free(&w);
    }
}
