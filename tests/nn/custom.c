/* custom.c - custom attention from a config: keys and errors. */
#include "nn/custom.h"

#include <string.h>

#include "support/support.h"

static void open_config(cla_config *s, const char *const *set)
{
    *s = (cla_config){ .values = json_object(), .known = json_object() };
    TEST_OK(cla_strdup(&s->path, "test"));
    for (; *set; set++) {
        TEST_OK(cla_config_set(s, *set));
    }
}

Test(custom, reads_its_keys)
{
    const char *const set[] = {
        "score=s - slope[h] + table[h][j]", "window=5", "mask=i != j",
        "learn={\"slope\": {\"shape\": [\"heads\"], \"init\": \"alibi\"}, "
        "\"table\": {\"shape\": [\"heads\", \"length\"], \"init\": 0.5}}",
        NULL
    };
    cla_config s;
    custom_config c;
    cla_params params = { 0 };
    cla_tensor *learned[CLA_CUSTOM_INPUTS] = { NULL };
    open_config(&s, set);
    TEST_OK(cla_custom_configure(&c, &s));
    TEST_OK(cla_config_check(&s));
    cr_assert_eq(c.count, 2);
    cr_assert_eq(c.window, 5);
    TEST_OK(cla_custom_init(&c, &params, learned, "layer.0", 2, 60));
    cla_runtime *rt = NULL;
    TEST_OK(cla_runtime_new(&rt, NULL));
    TEST_OK(cla_params_build(&params, rt, 42));
    cr_assert_str_eq(params.list[1].name, "layer.0.table");
    cr_assert_eq(cla_tensor_dim(learned[1], 1), 60);
    float slope[2] = { 0 };
    TEST_OK(cla_tensor_download(learned[0], slope));
    cr_assert_eq(slope[0], 0.0625f); // 2^(-8/2), 2^(-8)
    cr_assert_eq(slope[1], 0.00390625f);
    const cla_attention_mod mod = cla_custom_mod(&c, learned);
    cr_assert_str_eq(mod.mask, "i != j");
    cr_assert_null(mod.weight);
    cr_assert_eq(mod.inputs[1].tensor, learned[1]);
    cla_params_free(&params);
    cla_config_fini(&s);
    cla_runtime_free(&rt);
}

Test(custom, refuses)
{
    static const struct {
        const char *set[3], *part;
    } cases[] = {
        { { "score=s +" }, "--set: score: the expression ends too early" },
        { { "window=4" }, "window is 4, must be odd" },
        { { "learn=7" }, "learn must be an object" },
        { { "learn={\"a\": 7}" }, "learn.a must be an object of" },
        { { "score=s * a[h]", "learn={\"a\": {\"shape\": [0], \"init\": 1}}" },
          "learn.a.shape must be a list" },
        { { "score=s * a[h]", "learn={\"a\": {\"shape\": [\"head\"], \"init\": 1}}" },
          "learn.a.shape must be a list" },
        { { "score=s * a[h]", "learn={\"a\": {\"shape\": [2], \"init\": \"one\"}}" },
          "learn.a.init must be" },
        { { "score=s", "learn={\"a\": {\"shape\": [2], \"init\": 1}}" },
          "no expression reads 'a'" },
        { { "score=s + floor(a[h])", "learn={\"a\": {\"shape\": [2], \"init\": 1}}" },
          "no gradient of 'a'" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cla_config s;
        custom_config c;
        open_config(&s, cases[i].set);
        TEST_FAILS(cla_custom_configure(&c, &s), CLA_E_INPUT, cases[i].part);
        cla_config_fini(&s);
    }
}
