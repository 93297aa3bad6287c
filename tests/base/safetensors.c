/* safetensors.c - valid files are read, damaged ones are refused with the reason. */
#include "base/safetensors.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "base/file.h"
#include "base/platform.h"
#include "base/rng.h"
#include "base/text.h"
#include "support/memory.h"

static char path[64];

static void make_path(void)
{
    strcpy(path, "/tmp/clattn-st-XXXXXX");
    const int fd = mkstemp(path);
    cr_assert(fd >= 0);
    close(fd);
}

static void drop_path(void)
{
    unlink(path);
}

TestSuite(safetensors, .init = make_path, .fini = drop_path);

/* Saves four tensors, one of them empty and one a single number. */
static void save_sample(void)
{
    static const float x[6] = { 1, -2, 3.5f, 0, 1e-30f, 1e30f };
    static const int32_t ids[3] = { 0, -1, INT32_MAX };
    const cla_st_tensor tensors[] = {
        { .name = "in.x",
          .dtype = CLA_ST_F32,
          .rank = 2,
          .shape = { 2, 3 },
          .data = x },
        { .name = "empty",
          .dtype = CLA_ST_F32,
          .rank = 2,
          .shape = { 0, 4 },
          .data = x },
        { .name = "ids", .dtype = CLA_ST_I32, .rank = 1, .shape = { 3 }, .data = ids },
        { .name = "one", .dtype = CLA_ST_F32, .rank = 0, .data = x },
    };
    json_t *metadata = json_pack("{ssss}", "op", "test", "lr", "0.001");
    cr_assert_eq(cla_st_save(path, tensors, 4, metadata), CLA_OK, "%s", cla_error());
    json_decref(metadata);
}

Test(safetensors, round_trip)
{
    cla_st_file f;
    save_sample();
    cr_assert_eq(cla_st_open(&f, path), CLA_OK, "%s", cla_error());
    cr_expect_eq(f.count, 4);
    cr_expect_str_eq(cla_st_meta(&f, "op"), "test");
    cr_expect_str_eq(cla_st_meta(&f, "lr"), "0.001");
    cr_expect_null(cla_st_meta(&f, "none"));
    cr_expect_null(cla_st_find(&f, "none"));

    const cla_st_tensor *x = cla_st_find(&f, "in.x"), *ids = cla_st_find(&f, "ids");
    cr_assert(x && ids);
    cr_expect(x->rank == 2 && x->shape[0] == 2 && x->shape[1] == 3 && x->size == 6);
    cr_expect_eq(x->dtype, CLA_ST_F32);
    cr_expect_eq((uintptr_t)x->data % 8, 0);
    cr_expect(((const float *)x->data)[2] == 3.5f);
    cr_expect_eq(ids->dtype, CLA_ST_I32);
    cr_expect_eq(((const int32_t *)ids->data)[2], INT32_MAX);
    cr_expect_eq(cla_st_find(&f, "empty")->size, 0);
    cr_expect_eq(cla_st_find(&f, "one")->size, 1);
    cla_st_close(&f);
    cr_expect_null(f.bytes);
    cla_st_close(&f);
    cla_st_close(NULL);
}

/* Equal tensors give equal bytes: checkpoints are compared with cmp. */
Test(safetensors, same_bytes)
{
    char *first = NULL, *second = NULL;
    size_t n = 0, m = 0;
    save_sample();
    cr_assert_eq(cla_file_read(path, &first, &n), CLA_OK);
    save_sample();
    cr_assert_eq(cla_file_read(path, &second, &m), CLA_OK);
    cr_expect(n == m && memcmp(first, second, n) == 0);
    free(first);
    free(second);
}

/* Writes without the fsync of cla_file_write: there are thousands of these files. */
static void write_bytes(const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(bytes, 1, size, file), size);
    cr_assert_eq(fclose(file), 0);
}

/* Writes a file with this header and so many zero bytes of data. */
static void write_file(const char *header, size_t data)
{
    static const char zeros[256];
    cla_text text = { 0 };
    const uint64_t size = strlen(header);
    cr_assert_eq(cla_text_append(&text, (const char *)&size, 8), CLA_OK);
    cr_assert_eq(cla_text_append(&text, header, size), CLA_OK);
    cr_assert_eq(cla_text_append(&text, zeros, data), CLA_OK);
    write_bytes(text.data, text.size);
    cla_text_free(&text);
}

static void expect_refused(const char *part)
{
    cla_st_file f;
    const cla_status status = cla_st_open(&f, path);
    cr_expect_eq(status, CLA_E_INPUT, "%d: %s", status, cla_error());
    cr_expect(strstr(cla_error(), path) != NULL, "'%s' does not name the file",
              cla_error());
    cr_expect(strstr(cla_error(), part) != NULL, "'%s' lacks '%s'", cla_error(), part);
    cr_expect_null(f.bytes);
    cr_expect_null(f.tensors);
}

#define ENTRY(type, shape, range) \
    "{\"t\":{\"dtype\":\"" type "\",\"shape\":" shape ",\"data_offsets\":" range "}}"

static const struct {
    const char *header;
    size_t data;
    const char *says;
} lies[] = {
    { "", 0, "header" },
    { "x", 0, "header" },
    { "[]", 0, "no JSON object" },
    { "{\"t\":1}", 0, "no object" },
    { "{\"t\":{}}", 0, "dtype" },
    { "{\"t\":{\"dtype\":1}}", 0, "dtype" },
    { "{", 0, "header" },
    { "{} {}", 0, "header" },
    { "{\"a\":\"\xff\"}", 0, "header" },
    { "{\"__metadata__\":1}", 0, "__metadata__" },
    { "{\"__metadata__\":{\"a\":1}}", 0, "'a' is no string" },
    { "{\"a\":1,\"a\":2}", 0, "duplicate" },
    { ENTRY("F64", "[1]", "[0,8]"), 8, "F64" },
    { ENTRY("f32", "[1]", "[0,4]"), 4, "f32" },
    { ENTRY("F32", "3", "[0,4]"), 4, "shape" },
    { ENTRY("F32", "[-1]", "[0,4]"), 4, "shape" },
    { ENTRY("F32", "[1.5]", "[0,4]"), 4, "shape" },
    { ENTRY("F32", "[\"1\"]", "[0,4]"), 4, "shape" },
    { ENTRY("F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), 4, "rank 9" },
    { ENTRY("F32", "[4294967296,4294967296]", "[0,4]"), 4, "64 bits" },
    { ENTRY("F32", "[4611686018427387904]", "[0,0]"), 0,
      "0 bytes" }, // 4 times it wraps
    { ENTRY("F32", "[9223372036854775808]", "[0,4]"), 4, "header" },
    { ENTRY("F32", "[2]", "[0,4]"), 4, "2 elements" },
    { ENTRY("F32", "[1]", "[0,5]"), 5, "5 bytes" },
    { ENTRY("F32", "[1]", "[0,4,8]"), 4, "two numbers" },
    { ENTRY("F32", "[1]", "7"), 4, "two numbers" },
    { ENTRY("F32", "[1]", "[0,\"4\"]"), 4, "two numbers" },
    { ENTRY("F32", "[1]", "[4,0]"), 4, "4 to 0" },
    { ENTRY("F32", "[1]", "[-4,0]"), 4, "-4 to 0" },
    { ENTRY("F32", "[1]", "[4,8]"), 4, "file's 4 bytes" },
    { ENTRY("F32", "[2]", "[0,8]"), 4, "file's 4 bytes" },
    { ENTRY("F32", "[1]", "[4,8]"), 8, "begins at byte 4" },
    { ENTRY("F32", "[1]", "[0,4]"), 8, "end at byte 4, the data at 8" },
    { "{}", 4, "end at byte 0" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
      "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}}",
      12, "'b' begins at byte 4" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
      "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
      4, "begins at byte 0" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
      "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,12]}}",
      12, "before ends at 4" },
};

Test(safetensors, lies)
{
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        write_file(lies[i].header, lies[i].data);
        expect_refused(lies[i].says);
    }
}

Test(safetensors, accepts)
{
    static const struct {
        const char *header;
        size_t data, count;
    } good[] = {
        { "{}", 0, 0 },
        { "{\"__metadata__\":{}}", 0, 0 },
        { ENTRY("F32", "[]", "[0,4]"), 4, 1 },
        { ENTRY("F32", "[0,9223372036854775807]", "[0,0]"), 0, 1 },
        { ENTRY("I32", "[1,1,1,1,1,1,1,2]", "[0,8]") "   ", 8, 1 }, // padded, odd size
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        cla_st_file f;
        write_file(good[i].header, good[i].data);
        cr_assert_eq(cla_st_open(&f, path), CLA_OK, "%s", cla_error());
        cr_expect_eq(f.count, good[i].count);
        if (f.count) {
            cr_expect_eq((uintptr_t)f.tensors[0].data % 4, 0);
        }
        cla_st_close(&f);
    }
}

/* Shorter files are refused, and so are wrong claims of the header's size. */
Test(safetensors, truncated)
{
    char *bytes = NULL;
    size_t size = 0;
    save_sample();
    cr_assert_eq(cla_file_read(path, &bytes, &size), CLA_OK);
    for (size_t cut = 0; cut < size; cut++) {
        write_bytes(bytes, cut);
        expect_refused("");
    }
    const uint64_t claims[] = {
        0,    1,         7,          size - 7,   size - 8,
        size, 100000001, 1ull << 62, UINT64_MAX, UINT64_MAX - 7
    };
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        memcpy(bytes, &claims[i], 8);
        write_bytes(bytes, size);
        expect_refused("");
    }
    free(bytes);
}

/* Any changed bit is refused, except in the hash's name: the file then has no hash. */
Test(safetensors, each_bit_counts)
{
    char *bytes = NULL;
    size_t size = 0;
    cla_st_file f;
    save_sample();
    cr_assert_eq(cla_st_open(&f, path), CLA_OK, "%s", cla_error());
    cr_assert(f.sealed);
    cla_st_close(&f);
    cr_assert_eq(cla_file_read(path, &bytes, &size), CLA_OK);
    const char *key = cla_os_find(bytes, size, "\"xxh3\":", 7);
    cr_assert_not_null(key);
    for (size_t bit = 0; bit < 8 * size; bit++) {
        bytes[bit / 8] ^= (char)(1 << bit % 8);
        write_bytes(bytes, size);
        const cla_status status = cla_st_open(&f, path);
        const bool name = bytes + bit / 8 >= key && bytes + bit / 8 < key + 7;
        cr_assert(status ? status == CLA_E_INPUT : name && !f.sealed,
                  "bit %zu passes: %d", bit, status);
        cla_st_close(&f);
        bytes[bit / 8] ^= (char)(1 << bit % 8);
    }
    free(bytes);
}

/* Numbers that are not finite are found, also in data of several pieces. */
Test(safetensors, knows_finite_numbers)
{
    enum { SIZE = 100000 };
    static float x[SIZE];
    cla_st_tensor t = { .name = "x", .rank = 1, .shape = { SIZE }, .data = x };
    for (int at = -1; at < SIZE; at = at * 5 + 7) {
        cla_st_file f;
        if (at >= 0) x[at] = at % 2 ? INFINITY : NAN;
        cr_assert_eq(cla_st_save(path, &t, 1, NULL), CLA_OK, "%s", cla_error());
        cr_assert_eq(cla_st_open(&f, path), CLA_OK, "%s", cla_error());
        cr_expect_eq(f.finite, at < 0, "a special number at %d", at);
        cr_expect_eq(cla_st_finite(f.tensors), at < 0);
        cla_st_close(&f);
        if (at >= 0) x[at] = 0;
    }
}

/* ---- lack of memory ---------------------------------------------------------- */

static cla_status save_other(void)
{
    static const float x[2] = { 5, 6 };
    const cla_st_tensor tensor = {
        .name = "x", .dtype = CLA_ST_F32, .rank = 2, .shape = { 1, 2 }, .data = x
    };
    return cla_st_save(path, &tensor, 1, NULL);
}

/* Wherever memory ends: status 5 and the old file, or the whole new one. */
Test(safetensors, saving_without_memory)
{
    char *old = NULL, *new = NULL;
    size_t old_size = 0, new_size = 0;
    cr_assert_eq(save_other(), CLA_OK);
    cr_assert_eq(cla_file_read(path, &new, &new_size), CLA_OK);
    save_sample();
    cr_assert_eq(cla_file_read(path, &old, &old_size), CLA_OK);
    cla_status status = CLA_E_NOMEM;
    for (long n = 1; status; n++) {
        bool same = false;
        fail_json(n, true);
        status = save_other();
        fail_json(0, false);
        cr_assert(!status || status == CLA_E_NOMEM, "n %ld: %d", n, status);
        cr_assert_eq(cla_file_compare(path, status ? old : new,
                                      status ? old_size : new_size, &same),
                     CLA_OK);
        cr_assert(same, "n %ld, status %d: another file", n, status);
        cr_assert(status ? n < 1000 : n > 8, "n %ld", n);
    }
    free(old);
    free(new);
}

/* A reader that lacks memory does not blame the file. */
Test(safetensors, opening_without_memory)
{
    cla_st_file f;
    cla_status status = CLA_E_NOMEM;
    save_sample();
    for (long n = 1; status; n++) {
        fail_json(n, true);
        status = cla_st_open(&f, path);
        fail_json(0, false);
        cr_assert(!status || status == CLA_E_NOMEM, "n %ld: %d: %s", n, status,
                  cla_error());
        cr_assert(status ? n < 1000 : n > 8, "n %ld", n);
    }
    cr_expect_eq(f.count, 4);
    cla_st_close(&f);
}

/* Invalid text stays bad input. */
Test(safetensors, bad_text_is_no_lack_of_memory)
{
    write_file("{\"a\": }", 0);
    expect_refused("header");
}

/* Random damage to the file: it is opened or refused; sanitizers check the rest. */
Test(safetensors, damaged)
{
    char *bytes = NULL;
    size_t size = 0;
    save_sample();
    cr_assert_eq(cla_file_read(path, &bytes, &size), CLA_OK);
    for (uint32_t round = 0; round < 2000; round++) {
        const cla_philox r =
            cla_philox4x32((uint32_t[4]){ round }, (uint32_t[2]){ 42 });
        char *copy = malloc(size);
        memcpy(copy, bytes, size);
        copy[r.v[0] % size] = (char)r.v[1];
        copy[8 + r.v[2] % (size - 8)] = "0123456789{}[],:\"-e"[r.v[3] % 19];
        write_bytes(copy, size);
        free(copy);
        cla_st_file f;
        if (cla_st_open(&f, path) == CLA_OK) {
            volatile char sum = 0;
            for (size_t i = 0; i < f.count; i++) {
                for (int64_t b = 0; b < 4 * f.tensors[i].size; b++)
                    sum = (char)(sum + ((const char *)f.tensors[i].data)[b]);
            }
            cla_st_close(&f);
        }
    }
    free(bytes);
}
