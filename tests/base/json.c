/* json.c - copies are complete or fail, whichever allocation fails. */
#include "base/json.h"

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
