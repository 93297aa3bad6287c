/* criterion.h - what the tests use of Criterion, for systems without a package of it.
 *
 * Each test runs in a process of its own, as with Criterion: runner.c starts the
 * program once more for each. The log has the form of TAP. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#include "small/windows.h"
#endif

typedef struct small_test {
    const char *suite, *name; // a suite's own entry has no name
    void (*run)(void);
    void (*init)(void), (*fini)(void);
    double timeout; // seconds; this runner does not hold it
    struct small_test *next;
} small_test;

void small_add(small_test *test);

/* Reports a check that does not hold; ends the test where it is fatal. */
void small_check(bool fatal, bool holds, const char *file, int line, const char *text,
                 const char *format, ...);
_Noreturn void small_skip(const char *format, ...);

#define Test(suite_, name_, ...)                                                      \
    static void suite_##_##name_##_test(void);                                        \
    static small_test suite_##_##name_##_entry = {                                    \
        .suite = #suite_, .name = #name_, .run = suite_##_##name_##_test, __VA_ARGS__ \
    };                                                                                \
    __attribute__((constructor)) static void suite_##_##name_##_add(void)             \
    {                                                                                 \
        small_add(&suite_##_##name_##_entry);                                         \
    }                                                                                 \
    static void suite_##_##name_##_test(void)

#define TestSuite(suite_, ...)                                            \
    static small_test suite_##_entry = { .suite = #suite_, __VA_ARGS__ }; \
    __attribute__((constructor)) static void suite_##_add(void)           \
    {                                                                     \
        small_add(&suite_##_entry);                                       \
    }                                                                     \
    static small_test suite_##_entry

/* The format, if any, is a literal. */
#define SMALL(fatal, holds, text, ...) \
    small_check(fatal, holds, __FILE__, __LINE__, text, "" __VA_ARGS__)
#define SMALL_NEAR(a, b, within) (fabs((double)(a) - (double)(b)) <= (double)(within))

#define cr_assert(x, ...)          SMALL(true, (x), #x, __VA_ARGS__)
#define cr_assert_not(x, ...)      SMALL(true, !(x), "!" #x, __VA_ARGS__)
#define cr_assert_fail(...)        SMALL(true, false, "reached", __VA_ARGS__)
#define cr_assert_eq(a, b, ...)    SMALL(true, (a) == (b), #a " == " #b, __VA_ARGS__)
#define cr_assert_neq(a, b, ...)   SMALL(true, (a) != (b), #a " != " #b, __VA_ARGS__)
#define cr_assert_lt(a, b, ...)    SMALL(true, (a) < (b), #a " < " #b, __VA_ARGS__)
#define cr_assert_leq(a, b, ...)   SMALL(true, (a) <= (b), #a " <= " #b, __VA_ARGS__)
#define cr_assert_gt(a, b, ...)    SMALL(true, (a) > (b), #a " > " #b, __VA_ARGS__)
#define cr_assert_geq(a, b, ...)   SMALL(true, (a) >= (b), #a " >= " #b, __VA_ARGS__)
#define cr_assert_null(x, ...)     SMALL(true, (x) == NULL, #x " == NULL", __VA_ARGS__)
#define cr_assert_not_null(x, ...) SMALL(true, (x) != NULL, #x " != NULL", __VA_ARGS__)
#define cr_assert_str_eq(a, b, ...) \
    SMALL(true, strcmp(a, b) == 0, #a " is " #b, __VA_ARGS__)
#define cr_assert_str_neq(a, b, ...) \
    SMALL(true, strcmp(a, b) != 0, #a " is not " #b, __VA_ARGS__)
#define cr_assert_arr_eq(a, b, bytes, ...) \
    SMALL(true, memcmp(a, b, bytes) == 0, #a " is " #b, __VA_ARGS__)
#define cr_assert_float_eq(a, b, within, ...) \
    SMALL(true, SMALL_NEAR(a, b, within), #a " is near " #b, __VA_ARGS__)

#define cr_expect(x, ...)          SMALL(false, (x), #x, __VA_ARGS__)
#define cr_expect_not(x, ...)      SMALL(false, !(x), "!" #x, __VA_ARGS__)
#define cr_expect_eq(a, b, ...)    SMALL(false, (a) == (b), #a " == " #b, __VA_ARGS__)
#define cr_expect_neq(a, b, ...)   SMALL(false, (a) != (b), #a " != " #b, __VA_ARGS__)
#define cr_expect_lt(a, b, ...)    SMALL(false, (a) < (b), #a " < " #b, __VA_ARGS__)
#define cr_expect_leq(a, b, ...)   SMALL(false, (a) <= (b), #a " <= " #b, __VA_ARGS__)
#define cr_expect_gt(a, b, ...)    SMALL(false, (a) > (b), #a " > " #b, __VA_ARGS__)
#define cr_expect_geq(a, b, ...)   SMALL(false, (a) >= (b), #a " >= " #b, __VA_ARGS__)
#define cr_expect_null(x, ...)     SMALL(false, (x) == NULL, #x " == NULL", __VA_ARGS__)
#define cr_expect_not_null(x, ...) SMALL(false, (x) != NULL, #x " != NULL", __VA_ARGS__)
#define cr_expect_str_eq(a, b, ...) \
    SMALL(false, strcmp(a, b) == 0, #a " is " #b, __VA_ARGS__)
#define cr_expect_str_neq(a, b, ...) \
    SMALL(false, strcmp(a, b) != 0, #a " is not " #b, __VA_ARGS__)
#define cr_expect_str_empty(a, ...) SMALL(false, !*(a), #a " is empty", __VA_ARGS__)
#define cr_expect_arr_eq(a, b, bytes, ...) \
    SMALL(false, memcmp(a, b, bytes) == 0, #a " is " #b, __VA_ARGS__)
#define cr_expect_arr_neq(a, b, bytes, ...) \
    SMALL(false, memcmp(a, b, bytes) != 0, #a " is not " #b, __VA_ARGS__)
#define cr_expect_float_eq(a, b, within, ...) \
    SMALL(false, SMALL_NEAR(a, b, within), #a " is near " #b, __VA_ARGS__)

#define cr_skip(...)      small_skip("" __VA_ARGS__)
#define cr_skip_test(...) small_skip("" __VA_ARGS__)
#define cr_log_info(...)  fprintf(stderr, __VA_ARGS__)
