/* text.c - growing strings, and numbers under every locale. */
#include "base/text.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/locale.h"

/* Sets a locale with a decimal comma, made where the system has none; skips the test
 * without. */
static void need_comma(void)
{
    if (!setlocale(LC_ALL, "de_DE.UTF-8") && !setlocale(LC_ALL, "German")) {
        char folder[] = "/tmp/clattn-locale-XXXXXX", command[256];
        cr_assert_not_null(mkdtemp(folder));
        snprintf(command, sizeof command,
                 "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >%s/log 2>&1", folder,
                 folder);
        const int failed = system(command);
        setenv("LOCPATH", folder, 1);
        const bool set = !failed && setlocale(LC_ALL, "de_DE.UTF-8");
        snprintf(command, sizeof command, "rm -r %s", folder);
        cr_expect_eq(system(command), 0);
        if (!set) {
            cr_skip_test("no locale with a decimal comma here");
        }
    }
    if (*localeconv()->decimal_point != ',') {
        cr_skip_test("the C library has points in every locale");
    }
    char text[16];
    snprintf(text, sizeof text, "%.1f", 0.5);
    cr_assert_str_eq(text, "0,5"); // otherwise the test tests nothing
}

Test(text, grows)
{
    cla_text text = { 0 };
    cr_expect_null(text.data);
    for (int i = 0; i < 1000; i++) {
        cr_assert_eq(cla_text_add(&text, "%03d,", i), CLA_OK);
    }
    cr_expect_eq(text.size, 4000);
    cr_expect_eq(strlen(text.data), 4000);
    cr_expect_eq(strncmp(text.data + 3992, "998,999,", 8), 0);
    cla_text_free(&text);
    cr_expect_null(text.data);
    cla_text_free(&text);
    cla_text_free(NULL);
}

Test(text, appends_bytes)
{
    cla_text text = { 0 };
    cr_assert_eq(cla_text_append(&text, "a\0b", 3), CLA_OK);
    cr_assert_eq(cla_text_append(&text, NULL, 0), CLA_OK);
    cr_assert_eq(cla_text_add(&text, "%s", ""), CLA_OK);
    cr_expect_eq(text.size, 3);
    cr_expect_eq(memcmp(text.data, "a\0b", 4), 0);
    cr_expect_eq(cla_text_append(&text, "x", SIZE_MAX - 3), CLA_E_NOMEM);
    cr_expect_eq(text.size, 3);
    cla_text_free(&text);
}

static const struct {
    const char *text;
    bool good;
    int64_t value;
} ints[] = {
    { "0", true, 0 },
    { "-0", true, 0 },
    { "+12", true, 12 },
    { "007", true, 7 },
    { "9223372036854775807", true, INT64_MAX },
    { "-9223372036854775808", true, INT64_MIN },
    { "9223372036854775808", false, 0 },
    { "-9223372036854775809", false, 0 },
    { "", false, 0 },
    { "-", false, 0 },
    { "+-1", false, 0 },
    { " 1", false, 0 },
    { "1 ", false, 0 },
    { "1.0", false, 0 },
    { "0x10", false, 0 },
    { "1e3", false, 0 },
    { "1-2", false, 0 },
};

static const struct {
    const char *text;
    bool good;
    double value;
} doubles[] = {
    { "0", true, 0 },      { "0.5", true, 0.5 },      { ".5", true, 0.5 },
    { "5.", true, 5 },     { "-1e-3", true, -0.001 }, { "1E+300", true, 1e300 },
    { "1e-400", true, 0 }, { "1e400", false, 0 },     { "inf", false, 0 },
    { "nan", false, 0 },   { "0x1p3", false, 0 },     { "0,5", false, 0 },
    { "", false, 0 },      { ".", false, 0 },         { "e5", false, 0 },
    { "1 ", false, 0 },    { " 1", false, 0 },        { "1e", false, 0 },
    { "1.2.3", false, 0 },
};

static void check_numbers(void)
{
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++) {
        int64_t value = 0;
        cr_expect_eq(cla_parse_int(ints[i].text, &value), ints[i].good, "'%s'",
                     ints[i].text);
        cr_expect_eq(value, ints[i].value, "'%s'", ints[i].text);
    }
    for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++) {
        double value = 0;
        cr_expect_eq(cla_parse_double(doubles[i].text, &value), doubles[i].good, "'%s'",
                     doubles[i].text);
        cr_expect(value == doubles[i].value, "'%s' is %g", doubles[i].text, value);
    }
    cr_expect_not(cla_parse_int(NULL, &(int64_t){ 0 }));
    cr_expect_not(cla_parse_double(NULL, &(double){ 0 }));
}

Test(text, numbers)
{
    check_numbers();
}

Test(text, numbers_under_a_comma)
{
    need_comma();
    check_numbers();
    cla_text text = { 0 };
    cr_assert_eq(cla_text_add(&text, "%.2f %g", 0.25, 1.5), CLA_OK);
    cr_expect_str_eq(text.data, "0.25 1.5");
    cla_text_free(&text);
    cla_fail(CLA_E_NUMERIC, "loss %.1f", 2.5);
    cr_expect_str_eq(cla_error(), "loss 2.5");

    void *const before = cla_locale_enter();
    char number[16];
    snprintf(number, sizeof number, "%.1f", 0.5);
    cr_expect_str_eq(number, "0.5");
    cla_locale_leave(before);
    snprintf(number, sizeof number, "%.1f", 0.5);
    cr_expect_str_eq(number, "0,5"); // the program's own is back
}

Test(text, nocase)
{
    cr_expect(cla_equals_nocase("GPU", "gpu"));
    cr_expect_not(cla_equals_nocase("gpu", "gpus"));
    cr_expect_not(cla_equals_nocase("", "x"));
    cr_expect(cla_equals_nocase("", ""));
    cr_expect(cla_contains_nocase("NVIDIA GeForce", "geforce"));
    cr_expect(cla_contains_nocase("abab abc", "ABC"));
    cr_expect(cla_contains_nocase("x", ""));
    cr_expect_not(cla_contains_nocase("", "x"));
    cr_expect_not(cla_contains_nocase("ab", "abc"));
}
