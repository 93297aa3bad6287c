/* status.c - error text, log levels, clock and host memory. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "base/base.h"
#include "base/text.h"
#include "clattn/version.h"

Test(status, text_is_one_line)
{
    cr_expect_str_eq(cla_error(), "");
    cr_expect_eq(cla_fail(CLA_E_INPUT, "%s: line %d", "a.json", 7), CLA_E_INPUT);
    cr_expect_str_eq(cla_error(), "a.json: line 7");
    cla_fail(CLA_E_INPUT, "name '%s'\n", "a\nb\tc\033[31m\x7f");
    cr_expect_str_eq(cla_error(), "name 'a b c\\u{1b}[31m\\u{7f}'");
}

/* Every class of characters without a picture; those with one stay. */
Test(status, text_hides_nothing)
{
    const char *cases[][2] = {
        { "\xEF\xBB\xBF{", "\\u{feff}{" },
        { "a\xC2\xA0"
          "b",
          "a\\u{a0}b" },
        { "\xE2\x80\xAEx\xE2\x81\xA9", "\\u{202e}x\\u{2069}" },
        { "\xE2\x80\xA8\xC2\x85\r", "\\u{2028}\\u{85}\\u{d}" },
        { "\xF3\xA0\x81\xA1", "\\u{e0061}" },
        { "é 中 😀", "é 中 😀" },
        { "a\xFF\xC0\x80z", "a\\xff\\xc0\\x80z" },
        { "\xED\xA0\x80", "\\xed\\xa0\\x80" }, // a surrogate
        { "ab\xE4\xB8", "ab" },                // cut off by a precision
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cla_fail(CLA_E_INPUT, "%s", cases[i][0]);
        cr_expect_str_eq(cla_error(), cases[i][1]);
        cla_fail(CLA_E_INPUT, "%s", cla_error());
        cr_expect_str_eq(cla_error(), cases[i][1], "twice");
    }
}

Test(status, text_may_quote_itself)
{
    cla_fail(CLA_E_SHAPE, "inner sizes differ");
    cla_fail(CLA_E_SHAPE, "matmul: %s", cla_error());
    cr_expect_str_eq(cla_error(), "matmul: inner sizes differ");
    cr_expect_eq(cla_fail_within(CLA_E_INPUT, "layer %d, %s", 3, cla_error()),
                 CLA_E_INPUT);
    cr_expect_str_eq(cla_error(),
                     "layer 3, matmul: inner sizes differ: matmul: inner sizes differ");
}

Test(status, long_text_is_cut)
{
    char *text = malloc(100001);
    memset(text, 'x', 100000);
    text[100000] = '\0';
    cla_fail(CLA_E_IO, "%s", text);
    const size_t size = strlen(cla_error());
    cr_expect(size >= 1000 && size < 100000);
    cla_fail_within(CLA_E_IO, "%s", text);
    cr_expect_eq(strlen(cla_error()), size);
    free(text);
}

static void *fail_elsewhere(void *error)
{
    cla_fail(CLA_E_IO, "elsewhere");
    strcpy(error, cla_error());
    return NULL;
}

Test(status, threads_do_not_see_each_other)
{
    pthread_t thread;
    char error[64] = "";
    cla_fail(CLA_E_IO, "here");
    cr_assert_eq(pthread_create(&thread, NULL, fail_elsewhere, error), 0);
    pthread_join(thread, NULL);
    cr_expect_str_eq(cla_error(), "here");
    cr_expect_str_eq(error, "elsewhere");
}

Test(status, names)
{
    static const cla_status codes[] = { CLA_OK,        CLA_E_USAGE, CLA_E_INPUT,
                                        CLA_E_DEVICE,  CLA_E_NOMEM, CLA_E_IO,
                                        CLA_E_NUMERIC, CLA_E_SHAPE };
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        cr_expect_neq(strcmp(cla_status_name(codes[i]), "unknown"), 0);
        for (size_t j = 0; j < i; j++) {
            cr_expect_str_neq(cla_status_name(codes[i]), cla_status_name(codes[j]));
        }
    }
    cr_expect_str_eq(cla_status_name((cla_status)99), "unknown");
}

Test(status, version_of_headers_and_library)
{
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", CLA_VERSION_MAJOR, CLA_VERSION_MINOR,
             CLA_VERSION_PATCH);
    cr_expect_str_eq(cla_version(), text);
}

Test(log, levels)
{
    unsetenv("CLATTN_LOG");
    cr_expect_eq(cla_log_check(), CLA_OK);
    setenv("CLATTN_LOG", "Info", 1);
    cr_expect_eq(cla_log_check(), CLA_OK);
    cr_expect(cla_log_enabled(CLA_LOG_ERROR) && cla_log_enabled(CLA_LOG_INFO));
    cr_expect_not(cla_log_enabled(CLA_LOG_DEBUG));
    setenv("CLATTN_LOG", "loud", 1);
    cr_expect_eq(cla_log_check(), CLA_E_USAGE);
    cr_expect_str_eq(cla_error(),
                     "CLATTN_LOG is 'loud', must be error, warn, info or debug");
}

static void collect(void *context, cla_log_level level, const char *line)
{
    snprintf(context, 64, "%d %s", (int)level, line);
}

Test(log, lines_go_to_the_application)
{
    char seen[64] = "";
    cla_log(CLA_LOG_ERROR, "without a callback");
    cla_log_set(collect, seen);
    cla_log(CLA_LOG_DEBUG, "%d things", 3);
    cr_expect_str_eq(seen, "3 3 things");
    cla_log_set(NULL, NULL);
    cla_log(CLA_LOG_ERROR, "dropped");
    cr_expect_str_eq(seen, "3 3 things");
}

Test(log, unknown_level_is_the_default)
{
    setenv("CLATTN_LOG", "loud", 1);
    cr_expect(cla_log_enabled(CLA_LOG_WARN));
    cr_expect_not(cla_log_enabled(CLA_LOG_INFO));
}

Test(clock, runs)
{
    const int64_t first = cla_time_ns();
    usleep(2000);
    const int64_t passed = cla_time_ns() - first;
    cr_expect(passed >= 2000000 && passed < 60000000000);
}

Test(memory, alloc_is_zeroed)
{
    int *items = NULL;
    cr_assert_eq(cla_alloc(&items, 1000, sizeof *items), CLA_OK);
    for (int i = 0; i < 1000; i++) {
        cr_assert_eq(items[i], 0);
    }
    free(items);
    cr_assert_eq(cla_alloc(&items, 0, sizeof *items), CLA_OK);
    cr_expect_not_null(items);
    free(items);
}

Test(memory, too_much_is_said)
{
    int *items = NULL;
    cr_expect_eq(cla_alloc(&items, SIZE_MAX / 8, 16), CLA_E_NOMEM);
    cr_expect_null(items);
    cr_expect(strstr(cla_error(), "times 16 bytes") != NULL, "%s", cla_error());

    size_t cap = 0;
    cr_expect_eq(cla_grow(&items, &cap, SIZE_MAX / 2, 16), CLA_E_NOMEM);
    cr_expect_null(items);
    cr_expect_eq(cap, 0);
}

Test(memory, grow_keeps)
{
    int64_t *items = NULL;
    size_t cap = 0, moves = 0;
    for (int64_t i = 0; i < 10000; i++) {
        const size_t before = cap;
        cr_assert_eq(cla_grow(&items, &cap, (size_t)i + 1, sizeof *items), CLA_OK);
        moves += cap != before;
        items[i] = i;
    }
    for (int64_t i = 0; i < 10000; i++) {
        cr_assert_eq(items[i], i);
    }
    cr_expect(moves < 20, "%zu", moves); // grows by factors
    free(items);
}

Test(memory, strdup)
{
    char *copy = NULL;
    cr_assert_eq(cla_strdup(&copy, "text"), CLA_OK);
    cr_expect_str_eq(copy, "text");
    free(copy);
}
