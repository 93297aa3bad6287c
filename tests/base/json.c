/* json.c - copies are complete or fail, whichever allocation fails; reals are written
 * short and read back as they were. */
#include "base/json.h"

#include <locale.h>
#include <math.h>

#include "support/memory.h"
#include "support/support.h"

/* Makes an object of twenty keys, more than Jansson's table holds at first. */
static json_t *many(void)
{
    json_t *object = json_object();
    for (int i = 0; i < 20; i++) {
        char key[16];
        snprintf(key, sizeof key, "key%d", i);
        cr_assert_eq(json_object_set_new(object, key, json_integer(i)), 0);
    }
    return object;
}

Test(json, copies_all_or_nothing)
{
    json_t *object = many();
    long needed = 0;
    for (long n = 0; n <= needed; n++) {
        fail_json(n, false);
        json_t *copy = cla_json_copy(object);
        needed = n ? needed : json_allocations();
        cr_expect((copy != NULL) == !n, "allocation %ld", n);
        cr_expect(!copy || json_equal(copy, object), "allocation %ld", n);
        json_decref(copy);
    }
    cr_expect_gt(needed, 20);
    json_decref(object);
}

Test(json, completes_all_or_says_so)
{
    json_t *object = many();
    for (long n = 1; n <= 20; n++) {
        json_t *some = json_pack("{s:i}", "key7", -1);
        fail_json(n, false);
        cr_expect(!cla_json_complete(some, object), "allocation %ld", n);
        cr_expect(cla_json_complete(some, object));
        cr_expect_eq(json_object_size(some), 20);
        cr_expect_eq(json_integer_value(json_object_get(some, "key7")), -1);
        json_decref(some);
    }
    json_decref(object);
}

static void check_text(const char *read, const char *want, int digits)
{
    json_error_t error;
    json_t *value = NULL;
    TEST_OK(cla_json_parse(&value, read, strlen(read), JSON_DECODE_ANY, &error));
    char *text = cla_json_write(value, JSON_ENCODE_ANY | JSON_COMPACT, digits);
    cr_expect_str_eq(text, want);
    free(text);
    json_decref(value);
}

Test(json, reals_are_short)
{
    static const char *const same[] = {
        "0.9",
        "0.1",
        "1e-9",
        "1e-7",
        "1.0",
        "1000.0",
        "-0.0",
        "0.3",
        "0.001",
        "0.0001",
        "1e-5",
        "123.456",
        "1e22",
        "5e-324",
        "1e300",
        "-2.5e-7",
        "100000.0",
        "1.5e-10",
        "12",
        "-3",
        "2.0",
        "0.0002",
        "9007199254740993",
        "1e17",
        "10000000000000000.0",
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        check_text(same[i], same[i], CLA_JSON_EXACT);
    }
    check_text("0.90000000000000002", "0.9", CLA_JSON_EXACT);
    check_text("9.9999999999999995e-8", "1e-7", CLA_JSON_EXACT);
    check_text("0.30000000000000004", "0.30000000000000004", CLA_JSON_EXACT);
    check_text("0.123456789012", "0.123456789", 9);
    check_text("{\"a\":[0.90000000000000002,\"0.90000000000000002 \\\" 1.50\"],"
               "\"1.50\":true,\"e\":null,\"n\":-7}",
               "{\"a\":[0.9,\"0.90000000000000002 \\\" 1.50\"],\"1.50\":true,"
               "\"e\":null,\"n\":-7}",
               CLA_JSON_EXACT);
}

/* Random bits, and the neighbours of short decimals; in a locale with a comma, too. */
Test(json, reals_come_back)
{
    const int places = 20000;
    for (int i = 0; i < places; i++) {
        const float *bits = test_random(2, 1, (uint32_t)i);
        double value = (double)bits[0] * pow(10, (i % 600) - 300);
        if (i % 3 == 0) value = nextafter((i % 997) / 1000.0, (double)bits[1] * 1e9);
        json_t *real = json_real(value);
        char *text = cla_json_write(real, JSON_ENCODE_ANY, CLA_JSON_EXACT);
        cr_assert_eq(strtod(text, NULL), value, "%.17g became %s", value, text);
        cr_assert_leq(strlen(text), 25);
        free(text);
        json_decref(real);
        free((void *)bits);
    }
    if (setlocale(LC_ALL, "de_DE.UTF-8")) check_text("0.9", "0.9", CLA_JSON_EXACT);
}
