/* seal.c - a file's hash is the same whether it is read whole or in pieces. */
#include "base/seal.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "base/file.h"
#include "base/safetensors.h"
#include "base/text.h"

enum { SIZE = 3000, HEAD = 200 };

/* Makes bytes with a seal in the head. */
static void make_bytes(char bytes[SIZE])
{
    for (int i = 0; i < SIZE; i++) {
        bytes[i] = (char)(i * 7 % 100 + 1);
    }
    memcpy(bytes + 90, "\"xxh3\":\"" CLA_SEAL_BLANK "\"", 25);
    cr_assert(cla_seal_put(bytes, SIZE, HEAD));
}

static cla_seal in_pieces(char bytes[SIZE], size_t piece)
{
    cla_seal_watch watch = { 0 };
    for (size_t at = HEAD; at < SIZE; at += piece) {
        cla_seal_see(&watch, bytes, at, HEAD);
    }
    cla_seal_see(&watch, bytes, SIZE, HEAD);
    return cla_seal_end(&watch);
}

Test(seal, pieces)
{
    char bytes[SIZE], before[SIZE];
    make_bytes(bytes);
    memcpy(before, bytes, SIZE);
    for (size_t piece = 1; piece < SIZE; piece = piece * 3 + 1) {
        cr_assert_eq(in_pieces(bytes, piece), CLA_SEAL_GOOD, "pieces of %zu", piece);
        cr_assert_arr_eq(bytes, before, SIZE);
        for (size_t i = 0; i < SIZE; i += 13) {
            const bool key = i >= 90 && i < 98; // without its key there is no seal
            bytes[i] ^= 1;
            cr_expect_eq(in_pieces(bytes, piece), key ? CLA_SEAL_NONE : CLA_SEAL_BROKEN,
                         "byte %zu in pieces of %zu", i, piece);
            cr_expect_eq(cla_seal_check(bytes, SIZE, HEAD), in_pieces(bytes, piece));
            bytes[i] ^= 1;
        }
    }
}

static cla_status open_damaged(const char *path, char *bytes, size_t size, size_t at)
{
    cla_st_file file;
    bytes[at] ^= 1;
    FILE *out = fopen(path, "wb");
    cr_assert_not_null(out);
    cr_assert_eq(fwrite(bytes, 1, size, out), size);
    cr_assert_eq(fclose(out), 0);
    bytes[at] ^= 1;
    const cla_status status = cla_st_open(&file, path);
    cla_st_close(&file);
    return status;
}

/* Checks a state that is read in several pieces, or whose header is. */
static void check_file(const char *text, int64_t numbers)
{
    char path[] = "/tmp/clattn-seal-XXXXXX", *bytes = NULL;
    size_t size = 0;
    float *x = calloc((size_t)numbers, sizeof *x);
    cla_st_tensor tensor = { .name = "x", .dtype = CLA_ST_F32, .rank = 1, .data = x };
    tensor.shape[0] = numbers;
    json_t *metadata = json_pack("{ss}", "note", text);
    const int fd = mkstemp(path);
    cr_assert(fd >= 0 && x);
    close(fd);
    cr_assert_eq(cla_st_save(path, &tensor, 1, metadata), CLA_OK, "%s", cla_error());
    cr_assert_eq(cla_file_read(path, &bytes, &size), CLA_OK);
    for (size_t back = 1; back < size; back = back * 2 + 3) {
        cr_expect_eq(open_damaged(path, bytes, size, size - back), CLA_E_INPUT,
                     "a bit at %zu of %zu", size - back, size);
    }
    cr_expect_eq(open_damaged(path, bytes, size, size), CLA_OK, "%s", cla_error());
    json_decref(metadata);
    unlink(path);
    free(bytes);
    free(x);
}

Test(seal, large_files)
{
    cla_text text = { 0 };
    for (int i = 0; i < 50000; i++) {
        cr_assert_eq(cla_text_add(&text, "word%d ", i), CLA_OK);
    }
    check_file("short", 250000);
    check_file(text.data, 1);
    cla_text_free(&text);
}
