/* config.c - strict settings: defaults, ranges, unknown keys, overrides. */
#include "base/config.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "base/file.h"
#include "base/nearest.h"

static char path[] = "/tmp/clattn-config-XXXXXX";

static cla_status read_text(cla_config *c, const char *text)
{
    if (strstr(path, "XXXXXX")) {
        close(mkstemp(path));
    }
    cr_assert_eq(cla_file_write(path, text, strlen(text)), CLA_OK);
    return cla_config_read(c, path);
}

static void refuses(cla_status status, const char *message)
{
    cr_assert_neq(status, CLA_OK);
    cr_assert(strstr(cla_error(), message) != NULL, "'%s' lacks '%s'", cla_error(),
              message);
}

Test(config, values_and_defaults)
{
    cla_config c;
    int n = 7, m = 3;
    double x = 0.5;
    bool b = false;
    const char *text = NULL, *kinds[] = { "one", "two", NULL };
    int kind = 0;
    cr_assert_eq(
        read_text(&c,
                  "{\"n\": 4, \"a\": {\"x\": 2}, \"t\": \"hello\", \"k\": \"two\"}"),
        CLA_OK);
    cr_assert_eq(cla_config_int(&c, "n", &n, 1, 9), CLA_OK);
    cr_assert_eq(cla_config_int(&c, "m", &m, 1, 9), CLA_OK);
    cr_assert_eq(cla_config_double(&c, "a.x", &x, 0, 9), CLA_OK);
    cr_assert_eq(cla_config_bool(&c, "b", &b), CLA_OK);
    cr_assert_eq(cla_config_text(&c, "t", &text), CLA_OK);
    cr_assert_eq(cla_config_choice(&c, "k", kinds, &kind), CLA_OK);
    cr_assert(n == 4 && m == 3 && x == 2 && !b && kind == 1);
    cr_assert_str_eq(text, "hello");
    cr_assert_eq(cla_config_check(&c), CLA_OK);
    /* A saved copy has all values, including defaults. */
    cr_assert_eq(cla_config_save(&c, path), CLA_OK);
    cla_config_fini(&c);
    cr_assert_eq(cla_config_read(&c, path), CLA_OK);
    m = 0;
    cr_assert_eq(cla_config_int(&c, "m", &m, 1, 9), CLA_OK);
    cr_assert_eq(m, 3);
    cla_config_fini(&c);
    unlink(path);
}

Test(config, overrides)
{
    cla_config c;
    int n = 0;
    double x = 0;
    const char *t = "";
    cr_assert_eq(read_text(&c, "{\"n\": 4}"), CLA_OK);
    cr_assert_eq(cla_config_set(&c, "n=5"), CLA_OK);
    cr_assert_eq(cla_config_set(&c, "a.b.x=1e-3"), CLA_OK);
    cr_assert_eq(cla_config_set(&c, "t=a/b c=d"), CLA_OK);
    cr_assert_eq(cla_config_int(&c, "n", &n, 0, 9), CLA_OK);
    cr_assert_eq(cla_config_double(&c, "a.b.x", &x, 0, 1), CLA_OK);
    cr_assert_eq(cla_config_text(&c, "t", &t), CLA_OK);
    cr_assert(n == 5 && x == 1e-3);
    cr_assert_str_eq(t, "a/b c=d");
    refuses(cla_config_set(&c, "novalue"), "must be key=value");
    // a value is JSON to its end, or a word
    cr_assert_eq(cla_config_set(&c, "t=a\"b"), CLA_OK);
    refuses(cla_config_set(&c, "t=\"a"), "--set t: the value is broken JSON");
    refuses(cla_config_set(&c, "t=[1"), "--set t: the value is broken JSON");
    refuses(cla_config_set(&c, "t=a\xff"), "--set t: the value is not UTF-8 (byte 2)");
    refuses(cla_config_set(&c, "\xff=1"), "must be a key");
    refuses(cla_config_set(&c, "n.a=1"), "--set n.a: n must be an object");
    // long keys are errors and are not cut
    char key[400];
    memset(key, 'k', sizeof key);
    memcpy(key + 300, "=1", 3);
    refuses(cla_config_set(&c, key), "must be a key");
    refuses(cla_config_set(&c, key + 300 - 64), "must be a key");
    cr_assert_eq(cla_config_set(&c, key + 300 - 63), CLA_OK);
    refuses(cla_config_set(&c, "=1"), "must be key=value");
    refuses(cla_config_set(&c, ".=1"), "must be a key");
    refuses(cla_config_set(&c, "a.=1"), "must be a key");
    refuses(cla_config_set(&c, "a..b=1"), "must be a key");
    cla_config_fini(&c);
    unlink(path);
}

/* Parts of an object that --set gave, and objects with such a part, are its own. */
Test(config, names_set_around_a_key)
{
    cla_config c;
    const char *t = NULL;
    char where[128];
    cr_assert_eq(read_text(&c, "{\"a\": {\"x\": 1}, \"b\": 1}"), CLA_OK);
    cr_assert_eq(cla_config_set(&c, "l={\"m\": {\"n\": 1}}"), CLA_OK);
    cr_assert_eq(cla_config_set(&c, "a.y=1"), CLA_OK);
    refuses(cla_config_text(&c, "l.m.n", &t), "--set: l.m.n is 1, must be");
    refuses(cla_config_refuse(&c, "a.y", "is odd"), "--set: a.y is odd");
    refuses(cla_config_refuse(&c, "l", "is odd"), "--set: l is odd");
    snprintf(where, sizeof where, "%s:1: a.x is odd", path);
    refuses(cla_config_refuse(&c, "a.x", "is odd"), where);
    cla_config_fini(&c);
    unlink(path);
}

/* A message names the line of the key, or --set where that gave the value. */
Test(config, names_where_it_is_wrong)
{
    cla_config c;
    int n = 1;
    double x = 1;
    const char *t = NULL;
    char where[128];
    cr_assert_eq(read_text(&c,
                           "{\"x\": \"}{\\\"\",\n\"a\": {\"n\": [\"n\", {\"b\": 1}],\n"
                           "\"b\" : 2}, \"n\"\n:\n40,\n\"o\": 3, \"b\": 7}"),
                 CLA_OK);
    snprintf(where, sizeof where, "%s:3: n is 40, must be", path);
    refuses(cla_config_int(&c, "n", &n, 1, 9), where);
    snprintf(where, sizeof where, "%s:3: a.b is 2, must be", path);
    refuses(cla_config_text(&c, "a.b", &t), where);
    snprintf(where, sizeof where, "%s:1: x is ", path);
    refuses(cla_config_double(&c, "x", &x, 0, 1), where);
    snprintf(where, sizeof where, "%s:6: o is 3, must be an object", path);
    refuses(cla_config_int(&c, "o.p", &n, 1, 9), where);
    snprintf(where, sizeof where, "%s: key 'z' is missing", path);
    refuses(cla_config_text(&c, "z", &t), where);
    cr_assert_eq(cla_config_set(&c, "n=50"), CLA_OK);
    refuses(cla_config_int(&c, "n", &n, 1, 9), "--set: n is 50, must be");
    cr_assert_eq(cla_config_give(&c, "y=7", "x"), CLA_OK);
    snprintf(where, sizeof where, "%s:1: x: y is 7, must be", path);
    refuses(cla_config_int(&c, "y", &n, 8, 9), where);
    cr_assert_eq(cla_config_give(&c, "y=8", "x"), CLA_OK); // it is there
    refuses(cla_config_int(&c, "y", &n, 8, 9), where);
    cr_assert_eq(cla_config_set(&c, "x=1"), CLA_OK);
    refuses(cla_config_int(&c, "y", &n, 8, 9), "--set: x: y is 7, must be");
    cr_assert_eq(cla_config_set(&c, "y=9"), CLA_OK);
    cr_assert_eq(cla_config_int(&c, "y", &n, 8, 9), CLA_OK);
    snprintf(where, sizeof where, "%s:2: unknown key 'a.n'", path);
    refuses(cla_config_check(&c), where);
    cr_assert_eq(cla_config_int(&c, "a.n", &n, 1, 9), CLA_E_INPUT);
    snprintf(where, sizeof where, "%s:6: unknown key 'b'", path);
    refuses(cla_config_check(&c), where);
    cr_assert_eq(cla_config_set(&c, "b=1"), CLA_OK);
    refuses(cla_config_check(&c), "--set: unknown key 'b'");
    cla_config_fini(&c);
    unlink(path);
}

Test(config, suggests_the_key_that_is_meant)
{
    static const char *const known[] = { "lr",        "batch",    "layers",  "dropout",
                                         "word_dim",  "char_dim", "epochs",  "heads",
                                         "min_count", "patience", "warmup",  "data",
                                         "tokens",    "merges",   "network", NULL };
    static const char *const pairs[][2] = {
        { "learning_rate", "lr" },
        { "batch_size", "batch" },
        { "num_layers", "layers" },
        { "dropuot", "dropout" },
        { "wrod_dim", "word_dim" },
        { "epoch", "epochs" },
        { "n_head", "heads" },
        { "drop_out", "dropout" },
        { "worddim", "word_dim" },
        { "warm_up", "warmup" },
        { "dropout_rate", "dropout" },
        { "min", "min_count" },
        { "x", NULL },
        { "colour", NULL },
        { "", NULL },
        { "momentum", NULL },
        { "zzzzzzzzzzz", NULL },
        { "_", NULL },
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const char *near = cla_nearest(pairs[i][0], known);
        const bool same =
            near && pairs[i][1] ? strcmp(near, pairs[i][1]) == 0 : near == pairs[i][1];
        cr_expect(same, "'%s' suggests '%s', must be '%s'", pairs[i][0],
                  near ? near : "nothing", pairs[i][1] ? pairs[i][1] : "nothing");
    }
}

Test(config, names_what_is_wrong)
{
    cla_config c;
    int n = 1;
    double x = 1;
    bool b = false;
    const char *t = NULL;
    refuses(read_text(&c, "{\"n\": 4,\n \"m\" 5}"), ":2:");
    refuses(read_text(&c, "[1]"), "must be an object");
    refuses(read_text(&c, "{\"n\": 1, \"n\": 2}"), "duplicate");
    cr_assert_eq(
        read_text(&c, "{\"layers\": -2, \"x\": \"y\", \"b\": 1, \"a\": {\"z\": 1}}"),
        CLA_OK);
    refuses(cla_config_int(&c, "layers", &n, 1, 16),
            "layers is -2, must be a whole number from 1 to 16");
    refuses(cla_config_double(&c, "x", &x, 0, 1), "x is \"y\", must be a number");
    refuses(cla_config_bool(&c, "b", &b), "true or false");
    refuses(cla_config_text(&c, "t", &t), "key 't' is missing");
    refuses(cla_config_check(&c), "unknown key 'a'");
    cla_config_fini(&c);
    cr_assert_eq(read_text(&c, "{\"dropuot\": 0.1}"), CLA_OK);
    cr_assert_eq(cla_config_double(&c, "dropout", &x, 0, 1), CLA_OK);
    refuses(cla_config_check(&c), "unknown key 'dropuot'; did you mean 'dropout'?");
    refuses(cla_config_text(&c, "drop_out", &t),
            ":1: key 'drop_out' is missing; did you mean it by 'dropuot'?");
    // known keys are accepted and get no default
    cr_assert_eq(cla_config_know(&c, (const char *const[]){ "dropuot", "m", NULL }),
                 CLA_OK);
    cr_assert_eq(cla_config_check(&c), CLA_OK);
    cr_assert_null(json_object_get(c.values, "m"));
    cla_config_fini(&c);
    unlink(path);
}

/* Paths are searched for beside the config, and stay as they are where nothing is
 * found. */
Test(config, finds_files_beside_it)
{
    char folder[] = "/tmp/clattn-config-XXXXXX", file[80], want[80];
    cla_config c;
    static const char *const keys[] = { "data", "vectors", "lexicon", "more", NULL };
    cr_assert_not_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/sub/deep", folder);
    cr_assert_eq(cla_folder_make(file), CLA_OK);
    snprintf(file, sizeof file, "%s/sub/c.json", folder);
    static const char text[] =
        "{\"data\": \"./deep/.././deep\", \"vectors\": \"none\", "
        "\"lexicon\": \"/dev/null\", \"more\": \"..\"}";
    cr_assert_eq(cla_file_write(file, text, strlen(text)), CLA_OK);
    cr_assert_eq(cla_config_read(&c, file), CLA_OK);
    cr_assert_eq(cla_config_find_files(&c, keys), CLA_OK);
    snprintf(want, sizeof want, "%s/sub/deep", folder);
    cr_assert_str_eq(json_string_value(json_object_get(c.values, "data")), want);
    cr_assert_str_eq(json_string_value(json_object_get(c.values, "vectors")), "none");
    cr_assert_str_eq(json_string_value(json_object_get(c.values, "lexicon")),
                     "/dev/null");
    cr_assert_str_eq(json_string_value(json_object_get(c.values, "more")), folder);
    cr_assert_eq(cla_config_set(&c, "data=deep"), CLA_OK);
    cr_assert_eq(cla_config_find_files(&c, keys), CLA_OK);
    cr_assert_str_eq(json_string_value(json_object_get(c.values, "data")), "deep");
    cla_config_fini(&c);
    unlink(file);
    rmdir(want);
    snprintf(file, sizeof file, "%s/sub", folder);
    rmdir(file);
    rmdir(folder);
}
