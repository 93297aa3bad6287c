/* utf8.c - lower case of texts, as Python's str.lower, and of code points. */
#include "base/utf8.h"

#include <string.h>

#include <criterion/criterion.h>

static void lower_is(const char *text, const char *want)
{
    cla_text out = { 0 };
    cr_assert_eq(cla_text_append(&out, "", 0), CLA_OK);
    cr_assert_eq(cla_utf8_lower_text(text, strlen(text), &out), CLA_OK);
    cr_expect_str_eq(out.data, want, "'%s' is '%s', not '%s'", text, out.data, want);
    cla_text_free(&out);
}

/* The right-hand sides are Python 3.11's. */
Test(utf8, lower_text_equals_python)
{
    lower_is("", "");
    lower_is("ÄÖ ẞ Ǆ Ⅷ Ⓐ 你1", "äö ß ǆ ⅷ ⓐ 你1");
    lower_is("Ο ΔΡΌΜΟΣ ΜΕΓΆΛΟΣ", "ο δρόμος μεγάλος");
    lower_is("ΣΑΣ ΑΣΣ, Σ ΑΣΑ", "σας ασς, σ ασα");
    lower_is("οδοΣ οδοΣ.", "οδος οδος.");
    lower_is("A.Σ Α'Σ 1Σ ªΣ", "a.ς α'ς 1σ ªς"); // skipped and cased
    lower_is("🅐Σ ⓐΣ", "🅐ς ⓐς");
    lower_is("ΑΣ.Α ΑΣ:Α", "ασ.α ασ:α");
    lower_is("ΑΣ-Α ΑΣ1", "ας-α ας1");
    lower_is("Ο\xCC\x81Σ\xCC\x81", "ο\xCC\x81ς\xCC\x81");
    lower_is("Α\xC2\xADΣʰ", "α\xC2\xADςʰ");
    lower_is("İstanbul", "i\xCC\x87stanbul");
}

Test(utf8, lower_text_keeps_other_bytes)
{
    cla_text out = { 0 };
    cr_assert_eq(cla_text_append(&out, "X", 1), CLA_OK); // what is there stays
    cr_assert_eq(cla_utf8_lower_text("A\0\xFFΣ\xCE", 6, &out), CLA_OK);
    cr_expect_eq(out.size, 7);
    cr_expect_eq(memcmp(out.data, "Xa\0\xFFσ\xCE", 8), 0);
    cla_text_free(&out);
}

Test(utf8, code_points_keep_the_simple_mapping)
{
    cr_expect_eq(cla_utf8_lower(0x03A3), 0x03C3);
    cr_expect_eq(cla_utf8_lower(0x0130), 'i');
    cr_expect_eq(cla_utf8_lower(0x00C4), 0x00E4);
}
