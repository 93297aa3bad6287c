/* zip.c - archives: stored, deflated, damaged and malicious. */
#include "base/zip.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "support/support.h"

/* An archive under construction; each field can be wrong. */
typedef struct maker {
    char bytes[4096];
    size_t size;
    char directory[2048];
    size_t directory_size;
    unsigned entries;
} maker;

typedef struct item {
    const char *name;
    const char *data;    // as stored
    size_t bytes;        // of data
    size_t stored, size; // as the directory has them
    unsigned method, flags;
    uint32_t crc;
    uint32_t at; // 0: the true place
} item;

static void put(char *to, size_t *at, uint32_t number, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        to[(*at)++] = (char)(number >> (8 * i) & 0xff);
    }
}

static void put_bytes(char *to, size_t *at, const char *from, size_t n)
{
    memcpy(to + *at, from, n);
    *at += n;
}

static void add(maker *m, const item *i)
{
    const size_t name = strlen(i->name);
    const uint32_t at = i->at ? i->at : (uint32_t)m->size;
    put_bytes(m->bytes, &m->size, "PK\3\4\24\0\0\0\0\0\0\0\0\0", 14);
    put(m->bytes, &m->size, 0, 4); // only the directory's checksum and sizes are read
    put(m->bytes, &m->size, 0, 4);
    put(m->bytes, &m->size, 0, 4);
    put(m->bytes, &m->size, (uint32_t)name, 2);
    put(m->bytes, &m->size, 0, 2);
    put_bytes(m->bytes, &m->size, i->name, name);
    put_bytes(m->bytes, &m->size, i->data, i->bytes);
    char *d = m->directory;
    size_t *n = &m->directory_size;
    put_bytes(d, n, "PK\1\2\24\0\24\0", 8);
    put(d, n, i->flags, 2);
    put(d, n, i->method, 2);
    put(d, n, 0, 4);
    put(d, n, i->crc, 4);
    put(d, n, (uint32_t)i->stored, 4);
    put(d, n, (uint32_t)i->size, 4);
    put(d, n, (uint32_t)name, 2);
    put(d, n, 0, 4);
    put(d, n, 0, 4);
    put(d, n, 0, 4);
    put(d, n, at, 4);
    put_bytes(d, n, i->name, name);
    m->entries++;
}

static void finish(maker *m)
{
    const uint32_t at = (uint32_t)m->size, size = (uint32_t)m->directory_size;
    put_bytes(m->bytes, &m->size, m->directory, m->directory_size);
    put_bytes(m->bytes, &m->size, "PK\5\6\0\0\0\0", 8);
    put(m->bytes, &m->size, m->entries, 2);
    put(m->bytes, &m->size, m->entries, 2);
    put(m->bytes, &m->size, size, 4);
    put(m->bytes, &m->size, at, 4);
    put(m->bytes, &m->size, 0, 2);
}

static char path[] = "/tmp/clattn-zip-XXXXXX";

static void make_file(void)
{
    strcpy(path + sizeof path - 7, "XXXXXX");
    const int file = mkstemp(path);
    cr_assert_geq(file, 0);
    close(file);
}

static void drop_file(void)
{
    unlink(path);
}

TestSuite(zip, .init = make_file, .fini = drop_file);

static cla_status open_bytes(cla_zip *zip, const char *bytes, size_t size)
{
    TEST_OK(cla_file_write(path, bytes, size));
    return cla_zip_open(zip, path, false);
}

static item plain(const char *name, const char *data)
{
    const size_t n = strlen(data);
    return (item){ .name = name,
                   .data = data,
                   .bytes = n,
                   .stored = n,
                   .size = n,
                   .crc = (uint32_t)crc32(0, (const Bytef *)data, (uInt)n) };
}

/* Checks that an archive of one item is refused with this text, when opened or read. */
static void refused(const item *i, const char *text)
{
    maker m = { .size = 0 };
    cla_zip zip;
    char *data = NULL;
    add(&m, i);
    finish(&m);
    cla_status status = open_bytes(&zip, m.bytes, m.size);
    status = status ? status : cla_zip_read(&zip, &zip.entries[0], &data);
    TEST_FAILS(status, CLA_E_INPUT, text);
    cr_assert_null(data);
    cla_zip_close(&zip);
}

Test(zip, stored_and_deflated)
{
    char text[600] = "", packed[600] = "";
    memset(text, 'a', 500);
    z_stream z = { .next_in = (Bytef *)text,
                   .avail_in = 500,
                   .next_out = (Bytef *)packed,
                   .avail_out = sizeof packed };
    cr_assert_eq(deflateInit2(&z, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    cr_assert_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    maker m = { .size = 0 };
    const item first = plain("first", "hello");
    const item second = { .name = "second",
                          .data = packed,
                          .bytes = z.total_out,
                          .stored = z.total_out,
                          .size = 500,
                          .method = 8,
                          .crc = (uint32_t)crc32(0, (Bytef *)text, 500) };
    deflateEnd(&z);
    add(&m, &first);
    add(&m, &second);
    finish(&m);
    cla_zip zip;
    char *data = NULL;
    TEST_OK(open_bytes(&zip, m.bytes, m.size));
    cr_assert_eq(zip.count, 2);
    cr_assert_str_eq(zip.entries[1].name, "second");
    TEST_OK(cla_zip_read(&zip, &zip.entries[0], &data));
    cr_assert_str_eq(data, "hello");
    free(data);
    TEST_OK(cla_zip_read(&zip, &zip.entries[1], &data));
    cr_assert_str_eq(data, text);
    free(data);
    cla_zip_close(&zip);
}

Test(zip, refuses_names_with_a_path)
{
    static const char *const names[] = {
        "../a", "a..b", "..", "a/b", "/etc", "a\\b", ""
    };
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const item i = plain(names[k], "x");
        refused(&i, "has a path or no name");
    }
}

Test(zip, refuses_lengths_that_do_not_fit)
{
    item i = plain("a", "hello");
    i.stored = i.size = 100000;
    refused(&i, "lies beyond the end");
    i.stored = i.size = UINT32_MAX;
    refused(&i, "ZIP64");
    i = plain("a", "hello");
    i.at = 0x7fffffff;
    refused(&i, "lies beyond the end");
    i.at = 3;
    refused(&i, "is not where the directory says");
    i = plain("a", "hello");
    i.size = 6;
    refused(&i, "has two sizes");
    i.method = 8;
    i.size = 0x7fffffff;
    refused(&i, "is larger than deflate can be");
}

Test(zip, refuses_damage)
{
    item i = plain("a", "hello");
    i.crc ^= 1;
    refused(&i, "is damaged");
    i = plain("a", "hello");
    i.method = 8;
    refused(&i, "is damaged");
    i.method = 12;
    refused(&i, "is neither stored nor deflated");
    i = plain("a", "hello");
    i.flags = 1;
    refused(&i, "is encrypted");
}

Test(zip, refuses_a_name_twice_and_shared_bytes)
{
    maker m = { .size = 0 };
    const item a = plain("a", "hello");
    cla_zip zip;
    add(&m, &a);
    add(&m, &a);
    finish(&m);
    TEST_FAILS(open_bytes(&zip, m.bytes, m.size), CLA_E_INPUT, "duplicate entry");
    cla_zip_close(&zip);
    m = (maker){ .size = 0 };
    char name[] = "a", text[1024] = "";
    memset(text, 'b', sizeof text - 1);
    item big = plain(name, text);
    add(&m, &big);
    big.bytes = 0;
    big.at = 1; // all in one place; the local headers are small
    for (name[0] = 'b'; name[0] < 'f'; name[0]++) {
        add(&m, &big);
    }
    finish(&m);
    TEST_FAILS(open_bytes(&zip, m.bytes, m.size), CLA_E_INPUT, "share their bytes");
    cla_zip_close(&zip);
}

/* An archive that is cut anywhere is refused; no changed byte crashes the reader. */
Test(zip, refuses_every_cut_and_survives_every_byte)
{
    maker m = { .size = 0 };
    const item a = plain("name", "hello"), b = plain("other", "world");
    cla_zip zip;
    add(&m, &a);
    add(&m, &b);
    finish(&m);
    for (size_t n = 0; n < m.size; n++) {
        const cla_status status = open_bytes(&zip, m.bytes, n);
        cr_assert_eq(status, CLA_E_INPUT, "cut to %zu bytes", n);
        cla_zip_close(&zip);
    }
    for (size_t n = 0; n < m.size; n++) {
        for (int k = 0; k < 3; k++) {
            const char before = m.bytes[n];
            m.bytes[n] = (char)(before ^ (k == 0 ? 0xff : k == 1 ? 0x01 : 0x80));
            cla_status status = open_bytes(&zip, m.bytes, m.size);
            for (size_t e = 0; e < zip.count && !status; e++) {
                char *data = NULL;
                cla_zip_read(&zip, &zip.entries[e], &data);
                free(data);
            }
            cla_zip_close(&zip);
            m.bytes[n] = before;
        }
    }
}
