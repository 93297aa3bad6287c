/* yaml.c - flat mappings. */
#include "base/yaml.h"

#include <string.h>

#include "support/memory.h"
#include "support/support.h"

static const char *text(const json_t *root, const char *key)
{
    const char *value = json_string_value(json_object_get(root, key));
    return value ? value : "(none)";
}

Test(yaml, texts_and_lists)
{
    json_t *root = NULL;
    const char *const yaml =
        "type: transformer\nempty: \"\"\n\"\\\"\": 3\n'it''s': 4\n"
        "? \"long\"\n: 5\n\"\\xE9\": 6\nlist:\n  - a\n  - b\nnone:\n"
        "  []\ndeep: {x: [1, {y: 2}]}\nlast: 7\n";
    TEST_OK(cla_yaml_parse(&root, "f.yml", yaml, strlen(yaml)));
    cr_assert_str_eq(text(root, "type"), "transformer");
    cr_assert_str_eq(text(root, "empty"), "");
    cr_assert_str_eq(text(root, "\""), "3");
    cr_assert_str_eq(text(root, "it's"), "4");
    cr_assert_str_eq(text(root, "long"), "5");
    cr_assert_str_eq(text(root, "\xc3\xa9"), "6");
    cr_assert_str_eq(text(root, "last"), "7");
    cr_assert_str_eq(text(root, "deep"), "(none)");
    const json_t *list = json_object_get(root, "list");
    cr_assert_eq(json_array_size(list), 2);
    cr_assert_str_eq(json_string_value(json_array_get(list, 1)), "b");
    cr_assert_eq(json_array_size(json_object_get(root, "none")), 0);
    json_decref(root);
}

Test(yaml, refusals)
{
    static const struct {
        const char *yaml, *part;
    } bad[] = {
        { "a: 1\na: 2\n", "f.yml:2: duplicate key" },
        { "a: &x 1\nb: *x\n", "f.yml:2: aliases are not read" },
        { "a: [1, *x]\n", "aliases are not read" },
        { "a: [1\n", "f.yml:2: " },
        { "a: \"\n", "f.yml:" },
        { "- a\n- b\n", "is no mapping" },
        { "just text", "is no mapping" },
        { "", "is no mapping" },
        { "[a]: b\n", "a key is no text" },
        { "a: \"\\0\"\n\"b\\0\": 1\n", "a key is no text" },
        { "a: \xff\n", "f.yml:" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        json_t *root = NULL;
        TEST_FAILS(cla_yaml_parse(&root, "f.yml", bad[i].yaml, strlen(bad[i].yaml)),
                   CLA_E_INPUT, bad[i].part);
        cr_assert_null(root);
    }
}

/* Deep nesting is refused before libyaml has read it all: it takes n^2 steps for n
 * levels. */
Test(yaml, deep_nesting)
{
    static char yaml[200000];
    json_t *root = NULL;
    memcpy(yaml, "a: ", 3);
    memset(yaml + 3, '[', sizeof yaml - 4);
    TEST_FAILS(cla_yaml_parse(&root, "f.yml", yaml, sizeof yaml - 1), CLA_E_INPUT,
               "f.yml:1: is nested too deeply");
    cr_assert_null(root);
}

/* Lack of memory is never reported as bad input. */
Test(yaml, no_memory)
{
    const char *const yaml = "type: transformer\nlist: [a, b]\nlast: 7\n";
    json_t *root = NULL;
    long given = 0;
    for (cla_status status = CLA_E_NOMEM; status; given++) {
        fail_json(given + 1, true);
        status = cla_yaml_parse(&root, "f.yml", yaml, strlen(yaml));
        cr_assert(status == CLA_OK || (status == CLA_E_NOMEM && !root),
                  "%ld allocations: %d, %s", given, status, cla_error());
    }
    cr_assert_gt(given, 8, "%ld", given);
    cr_assert_str_eq(text(root, "last"), "7");
    json_decref(root);
}
