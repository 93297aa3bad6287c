/* tuning.c - valid and invalid values of a tuning file, without a device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "base/file.h"
#include "runtime/internal.h"

static char path[] = "/tmp/clattn-tuning-XXXXXX";
static char said[8192]; // messages of the last read

static void listen(void *context, cla_log_level level, const char *line)
{
    (void)context;
    (void)level;
    const size_t n = strlen(said);
    snprintf(said + n, sizeof said - n, "%s\n", line);
}

/* Reads a file of constants for a made-up device; said gets the messages. */
static cla_runtime *read_file(const char *constants)
{
    cla_runtime *rt = NULL;
    cla_text text = { 0 };
    cr_assert_eq(cla_alloc(&rt, 1, sizeof *rt), CLA_OK);
    rt->class = CLA_CLASS_GPU; // has no constants of its own
    snprintf(rt->device.platform_name, sizeof rt->device.platform_name, "Maker");
    snprintf(rt->device.name, sizeof rt->device.name, "Device");
    snprintf(rt->device.driver, sizeof rt->device.driver, "7");
    cr_assert_eq(cla_text_add(&text, "{ \"Maker | Device | 7\": %s }", constants), 0);
    cr_assert_eq(cla_file_write(path, text.data, text.size), CLA_OK);
    cla_text_free(&text);
    setenv("CLATTN_TUNING", path, 1);

    *said = '\0';
    cla_log_set(listen, NULL);
    cr_assert_eq(cla_tuning_init(rt), CLA_OK, "%s", cla_error());
    return rt;
}

static void close_runtime(cla_runtime *rt)
{
    free(rt->tuning);
    free(rt->tuning_path);
    free(rt);
}

static void begin(void)
{
    const int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    close(fd);
}

static void end(void)
{
    unlink(path);
}

TestSuite(tuning, .init = begin, .fini = end);

static int lines(const char *text)
{
    int count = 0;
    for (; *text; text++) {
        count += *text == '\n';
    }
    return count;
}

/* Invalid values, each with part of its message. */
static const struct {
    const char *name, *key, *value, *says;
} refused[] = {
    { "masked_softmax_tile", "ROWS", "0",
      "is 0, must be a whole number from 1 to 256" },
    { "masked_softmax_tile", "ROWS", "-1", "is -1, must be" },
    { "masked_softmax", "WG", "0", "is 0, must be a power of two from 32 to 256" },
    { "masked_softmax", "WG", "-1", "is -1, must be" },
    { "masked_softmax", "WG", "-9223372036854775808", "is -9223372036854775808, must" },
    { "masked_softmax", "WG", "9223372036854775807", "is 9223372036854775807, must" },
    { "masked_softmax", "WG", "4294967360", "is 4294967360, must" }, // 64 + 2^32
    { "masked_softmax", "WG", "96", "is 96, must be a power of two" },
    { "masked_softmax", "WG", "128.0", "is 128.0, must be" },
    { "masked_softmax", "WG", "\"128\"", "is \"128\", must be" },
    { "masked_softmax", "WG", "null", "is null, must be" },
    { "masked_softmax", "WG", "[128]", "is [128], must be" },
    { "band_attention", "ROWS", "0", "is 0, must be" },
    { "band_attention", "ROWS", "-1", "is -1, must be" },
    { "band_attention_2d", "ROWS", "0", "is 0, must be" },
    { "band_attention_tile", "QUERIES", "0", "is 0, must be a multiple of 16 from" },
    { "band_attention_tile", "QUERIES", "-1", "is -1, must be" },
    { "band_attention_tile", "QUERIES", "-16", "is -16, must be" },
    { "band_attention_tile", "QUERIES", "24", "is 24, must be" },
    { "band_attention_tile", "KEYS", "0", "is 0, must be" },
    { "band_attention_2d_tile", "KEYS", "-1", "is -1, must be" },
    { "attention_tile", "ROWS", "0", "is 0, must be a power of two from 1 to 4" },
    { "attention_tile", "ROWS", "-1", "is -1, must be" },
    { "attention_tile", "ROWS", "3", "is 3, must be" },
    { "attention_backward_tile", "ROWS", "0", "is 0, must be" },
    { "attention_tile", "ITEMS", "-1", "is -1, must be" },
    { "custom_attention_tile", "ROWS", "8", "is 8, must be" },
    { "conv_attention_2d", "WG", "32", "is 32, must be" },
    { "conv_attention_2d", "FFT_SIDE", "65536", "is 65536, must be" },
    { "conv_attention_2d_tile", "MR", "0",
      "is 0, must be a multiple of 2 from 2 to 6" },
    { "conv_attention_2d_tile", "MR", "-1", "is -1, must be" },
    { "matmul_tile", "MR", "0", "is 0, must be" },
    { "matmul_tile", "MR", "-1", "is -1, must be" },
    { "matmul_tile", "MR", "17", "is 17, must be" },
    { "matmul_tile", "ROWS", "0", "is 0, must be" },
    { "matmul_tile", "ROWS", "2147483647", "is 2147483647, must be" },
    { "matmul", "CLBLAST_FROM", "-1", "is -1, must be" },
    { "clblast_gemm", "NWG", "0", "is 0, must be" },
    { "clblast_direct", "PADA", "2", "is 2, must be" },
    { "matmul_tile", "MN", "8", "there is no constant matmul_tile MN" },
    { "some_kernel", "WG", "64", "there is no constant some_kernel WG" },
};

Test(tuning, names_and_ignores_values_outside_a_range)
{
    char file[256], before[17], after[17];
    cla_runtime *none = read_file("{}");
    cr_expect_str_empty(said);
    cr_expect_eq(cla_tuning_hash(none, before), CLA_OK);
    close_runtime(none);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        snprintf(file, sizeof file, "{ \"%s\": { \"%s\": %s } }", refused[i].name,
                 refused[i].key, refused[i].value);
        cla_runtime *rt = read_file(file);
        cr_expect(strstr(said, refused[i].says), "%s: '%s'", file, said);
        cr_expect(strstr(said, refused[i].key) && strstr(said, path), "'%s'", said);
        cr_expect_eq(lines(said), 1, "%s: '%s'", file, said);
        cr_expect_eq(cla_tuning_hash(rt, after), CLA_OK);
        cr_expect_str_eq(before, after, "%s counts as a constant in force", file);
        if (!strstr(said, "no constant")) {
            cr_expect_eq(cla_tuned(rt, refused[i].name, refused[i].key, 64), 64, "%s",
                         file);
        }
        close_runtime(rt);
    }
}

/* A bad value does not affect the good ones beside it. */
Test(tuning, takes_values_in_their_ranges)
{
    cla_runtime *rt = read_file(
        "{ \"matmul_tile\": { \"MR\": 0, \"DEPTH\": 192, \"ROWS\": 1 },"
        "  \"masked_softmax\": { \"WG\": 256 }, \"attention_tile\": { \"ROWS\": 4 },"
        "  \"band_attention_tile\": { \"QUERIES\": 16, \"KEYS\": 128 } }");
    cr_expect_eq(lines(said), 1, "%s", said);
    cr_expect_eq(cla_tuned(rt, "matmul_tile", "MR", 6), 6);
    cr_expect_eq(cla_tuned(rt, "matmul_tile", "DEPTH", 256), 192);
    cr_expect_eq(cla_tuned(rt, "matmul_tile", "ROWS", 128), 1);
    cr_expect_eq(cla_tuned(rt, "masked_softmax", "WG", 128), 256);
    cr_expect_eq(cla_tuned(rt, "attention_tile", "ROWS", 2), 4);
    cr_expect_eq(cla_tuned(rt, "band_attention_tile", "QUERIES", 32), 16);
    cr_expect_eq(cla_tuned(rt, "band_attention_tile", "KEYS", 96), 128);
    close_runtime(rt);
}

Test(tuning, names_what_is_no_object)
{
    static const char *const files[] = { "[1]", "7", "{ \"matmul_tile\": 6 }" };
    for (int i = 0; i < 3; i++) {
        cla_runtime *rt = read_file(files[i]);
        cr_expect(strstr(said, "is not an object"), "%s: '%s'", files[i], said);
        cr_expect_eq(lines(said), 1);
        cr_expect_eq(cla_tuned(rt, "matmul_tile", "MR", 6), 6);
        close_runtime(rt);
    }
}

Test(tuning, refuses_to_set_what_it_would_not_read)
{
    cla_runtime *rt = read_file("{}");
    cr_expect_eq(cla_tuning_set(rt, "masked_softmax", "WG", 0), CLA_E_USAGE);
    cr_expect_eq(cla_tuning_set(rt, "some_op", "WG", 64), CLA_E_USAGE);
    cr_expect_eq(cla_tuning_set(rt, "masked_softmax", "WG", 64), CLA_OK);
    cr_expect_eq(cla_tuned(rt, "masked_softmax", "WG", 128), 64);
    close_runtime(rt);
}

/* Files that are not JSON, each with part of the message: line and reason. */
static const struct {
    const char *constants, *says;
} damaged[] = {
    { "{ \"matmul_tile\": ", "line 1: value expected" },
    { "{ \"matmul_tile\": { \"MR\": 4, } }", "line 1: string expected" },
    { "{\n \"matmul_tile\": { \"MR\" 4 } }", "line 2: ':' expected" },
    { "{\n\n \"matmul_tile\": { \"MR\": 4 \"ROWS\": 1 } }", "line 3: ',' or an end" },
    { "{ \"a\nb\": 1 }", "line 1: string without its end" },
    { "{ \"\\x41\": 1 }", "line 1: invalid escape" },
    { "{ \"\\u00g1\": 1 }", "line 1: invalid escape" },
    { "{ \"matmul_tile\": { \"MR\": 04 } }", "line 1: value expected" },
    { "{ \"matmul_tile\": { \"MR\": 4. } }", "line 1: digits expected" },
    { "{ \"matmul_tile\": { \"MR\": 4e } }", "line 1: digits expected" },
    { "{ \"matmul_tile\": { \"MR\": nul } }", "line 1: value expected" },
    { "{ \"matmul_tile\": { \"MR\": [4 } }", "line 1: ',' or an end expected" },
    { "{} } {", "line 1: end of file expected" },
    { "{ \"matmul_tile\": { \"MR\": 4 } } }\n}", "line 2: end of file expected" },
};

Test(tuning, names_the_line_that_is_no_json)
{
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        cla_runtime *rt = read_file(damaged[i].constants);
        cr_expect(strstr(said, damaged[i].says), "%s: '%s'", damaged[i].constants,
                  said);
        cr_expect(strstr(said, path) && lines(said) == 1, "'%s'", said);
        cr_expect_eq(cla_tuned(rt, "matmul_tile", "MR", 6), 6);
        close_runtime(rt);
    }
}

/* Levels are limited, so that no file can overflow the stack. */
Test(tuning, refuses_too_many_levels)
{
    char deep[2048];
    memset(deep, '[', 1000);
    memset(deep + 1000, ']', 1000);
    deep[2000] = '\0';
    cla_runtime *rt = read_file(deep);
    cr_expect(strstr(said, "line 1: too many levels"), "'%s'", said);
    close_runtime(rt);
}

Test(tuning, reads_what_json_allows)
{
    cla_runtime *rt =
        read_file("{\t\"matmul\\u005ftile\":\r\n{\"\\u004DR\":4},\"x\":{},"
                  "\"masked_softmax\":{\"WG\":64,\"WG\":32} }");
    cr_expect_str_empty(said);
    cr_expect_eq(cla_tuned(rt, "matmul_tile", "MR", 6), 4);
    cr_expect_eq(cla_tuned(rt, "masked_softmax", "WG", 128), 32, "the last one counts");
    close_runtime(rt);
    rt = read_file(
        "{ \"x\": { \"y\": [ -1.5e+3, true, false, null, \"\\\"\\\\\", {} ] } }");
    cr_expect(strstr(said, "there is no constant x y"), "'%s'", said);
    close_runtime(rt);
}

/* The entries of other devices stay as they are, whatever version wrote them. */
Test(tuning, keeps_what_other_devices_have)
{
    static const char other[] =
        "\"A \\\"B\\\" \\u00e9 | C\": {\n    \"old\": [1, 2.50]\n  }";
    static const char mine[] =
        "\"Maker | Device | 7\": {\n    \"masked_softmax\": {\n      \"WG\": 32\n    "
        "},\n"
        "    \"matmul_tile\": {\n      \"DEPTH\": 192,\n      \"MR\": 4\n    }\n  }";
    char file[512], expected[512], *data = NULL;
    size_t size = 0;
    const char *written = NULL;
    snprintf(file, sizeof file, "{ \"matmul_tile\": { \"MR\": 4 } }, %s", other);
    snprintf(expected, sizeof expected, "{\n  %s,\n  %s\n}\n", other, mine);
    cla_runtime *rt = read_file(file);
    cr_expect_str_empty(said);
    cr_expect_eq(cla_tuning_set(rt, "matmul_tile", "DEPTH", 192), CLA_OK);
    cr_expect_eq(cla_tuning_set(rt, "masked_softmax", "WG", 32), CLA_OK);
    cr_expect_eq(cla_tuning_save(rt, &written), CLA_OK, "%s", cla_error());
    cr_expect_eq(cla_file_read(path, &data, &size), CLA_OK);
    cr_expect_str_eq(data, expected);
    free(data);
    cr_expect_eq(cla_tuning_save(rt, &written), CLA_OK, "a file it wrote");
    cr_expect_eq(cla_file_read(path, &data, &size), CLA_OK);
    cr_expect_str_eq(data, expected);
    free(data);
    close_runtime(rt);
}

/* Results name the constants in force by this hash: it is the same in all versions. */
Test(tuning, hashes_as_before)
{
    char hash[17];
    cla_runtime *rt = read_file("{}");
    cr_expect_eq(cla_tuning_hash(rt, hash), CLA_OK);
    cr_expect_str_eq(hash, "1349cde127705c16");
    cr_expect_eq(cla_tuning_set(rt, "matmul_tile", "MR", 4), CLA_OK);
    cr_expect_eq(cla_tuning_set(rt, "matmul_tile", "DEPTH", 192), CLA_OK);
    cr_expect_eq(cla_tuning_set(rt, "masked_softmax", "WG", 32), CLA_OK);
    cr_expect_eq(cla_tuning_hash(rt, hash), CLA_OK);
    cr_expect_str_eq(hash, "c4877a270a06f5d6");
    close_runtime(rt);
}
