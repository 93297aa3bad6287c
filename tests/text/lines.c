/* lines.c - line ends, and files that are not text. */
#include "text/lines.h"

#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "base/file.h"

static char path[] = "/tmp/clattn-lines-XXXXXX";

static cla_status read_bytes(cla_lines *lines, const char *bytes, size_t size)
{
    strcpy(path, "/tmp/clattn-lines-XXXXXX");
    close(mkstemp(path));
    cr_assert_eq(cla_file_write(path, bytes, size), CLA_OK);
    const cla_status status = cla_lines_read(lines, path);
    unlink(path);
    return status;
}

Test(lines, ends_of_all_kinds)
{
    cla_lines l;
    static const char text[] = "\xEF\xBB\xBF"
                               "a b\r\n\n\tc\r\r\nlast";
    const char *want[] = { "a b", "", "\tc\r", "last" };
    cr_assert_eq(read_bytes(&l, text, sizeof text - 1), CLA_OK);
    cr_assert_eq(l.count, 4);
    for (size_t i = 0; i < 4; i++) {
        cr_assert_str_eq(l.line[i].text, want[i]);
        cr_assert_eq(l.line[i].size, strlen(want[i]));
    }
    cla_lines_free(&l);
    cr_assert_eq(read_bytes(&l, "", 0), CLA_OK);
    cr_assert_eq(l.count, 0);
    cla_lines_free(&l);
    cr_assert_eq(read_bytes(&l, "\n", 1), CLA_OK);
    cr_assert_eq(l.count, 1);
    cla_lines_free(&l);
}

static void refused(const char *bytes, size_t size, const char *message)
{
    cla_lines l;
    cr_assert_eq(read_bytes(&l, bytes, size), CLA_E_INPUT);
    cr_assert(strstr(cla_error(), message) != NULL, "'%s' lacks '%s'", cla_error(),
              message);
    cr_assert(strstr(cla_error(), path) != NULL);
}

Test(lines, names_what_is_no_text)
{
    cla_lines l;
    refused("a\nb\xff\n", 5, ":2: not UTF-8 (byte 2)");
    refused("a\n\xE4\xB8", 4, ":2: not UTF-8 (byte 1)"); // ends inside a character
    refused("\xC0\x80\n", 3, ":1: not UTF-8");
    refused("a\nb\nc\0d\n", 8, ":3: holds a NUL byte");
    cr_assert_eq(cla_lines_read(&l, "/nowhere/x"), CLA_E_IO);
}

static cla_status join(void *to, size_t number, char *text, size_t size)
{
    return strcmp(text, "stop") == 0
               ? cla_fail(CLA_E_USAGE, "told to")
               : cla_text_add(to, "%zu:%.*s;", number, (int)size, text);
}

static cla_status join_bytes(cla_text *to, const char *bytes, size_t size)
{
    strcpy(path, "/tmp/clattn-lines-XXXXXX");
    close(mkstemp(path));
    cr_assert_eq(cla_file_write(path, bytes, size), CLA_OK);
    const cla_status status = cla_lines_each(path, join, to);
    unlink(path);
    return status;
}

Test(lines, one_by_one)
{
    cla_text all = { 0 };
    cr_assert_eq(join_bytes(&all,
                            "\xEF\xBB\xBF"
                            "a b\r\n\nlast",
                            13),
                 CLA_OK);
    cr_assert_str_eq(all.data, "1:a b;2:;3:last;");
    all.size = 0;
    cr_assert_eq(join_bytes(&all, "a\nstop\nb\n", 9), CLA_E_USAGE);
    cr_assert_str_eq(all.data, "1:a;");
    cr_assert_eq(join_bytes(&all, "a\n\xFF\n", 4), CLA_E_INPUT);
    cr_assert(strstr(cla_error(), ":2: not UTF-8 (byte 1)") != NULL);
    cr_assert_eq(join_bytes(&all, "", 0), CLA_OK);
    cr_assert_eq(cla_lines_each("/nowhere/x", join, &all), CLA_E_IO);
    cr_assert_eq(cla_lines_each("/tmp", join, &all), CLA_E_IO);
    cla_text_free(&all);
}

/* A line that is much longer than one read is complete, between short ones. */
Test(lines, of_any_length)
{
    enum { SIZE = 300000 };
    char *bytes = malloc(SIZE + 8);
    memset(bytes, 'x', SIZE + 8);
    memcpy(bytes, "a\r\n", 3);
    bytes[SIZE] = '\n';
    strcpy(path, "/tmp/clattn-lines-XXXXXX");
    close(mkstemp(path));
    cr_assert_eq(cla_file_write(path, bytes, SIZE + 8), CLA_OK);
    static const size_t sizes[] = { 1, SIZE - 3, 7 };
    cla_line_stream s;
    char *text = NULL;
    size_t size = 0;
    cr_assert_eq(cla_lines_open(&s, path), CLA_OK);
    for (size_t i = 0; i < 3; i++) {
        cr_assert_eq(cla_lines_next(&s, &text, &size), CLA_OK, "%s", cla_error());
        cr_assert_eq(size, sizes[i], "line %zu has %zu bytes", i, size);
        cr_assert_eq(strlen(text), size);
        cr_assert_eq(s.carriage, i == 0);
        cr_assert_eq(s.number, i + 1);
    }
    cr_assert_eq(cla_lines_next(&s, &text, &size), CLA_OK);
    cr_assert_null(text);
    cla_lines_close(&s);
    unlink(path);
    free(bytes);
}

/* A pipe that stays open gives a line as soon as it is complete. An endless line is an
 * error and does not fill the memory. */
Test(lines, of_a_pipe)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    cla_line_stream s = { .path = "pipe", .fd = ends[0] };
    char *text = NULL;
    size_t size = 0;
    cr_assert_eq(write(ends[1], "one\ntwo", 7), 7);
    cr_assert_eq(cla_lines_next(&s, &text, &size), CLA_OK);
    cr_assert_str_eq(text, "one");
    cr_assert_eq(write(ends[1], "!\n", 2), 2);
    cr_assert_eq(cla_lines_next(&s, &text, &size), CLA_OK);
    cr_assert_str_eq(text, "two!");
    close(ends[1]);
    cla_lines_close(&s);
    cr_assert_eq(close(ends[0]), 0);
    cr_assert_eq(cla_lines_open(&s, "/dev/zero"), CLA_OK);
    cr_assert_eq(cla_lines_next(&s, &text, &size), CLA_E_INPUT);
    cr_assert_str_eq(cla_error(), "/dev/zero:1: a line of more than 67108864 bytes");
    cla_lines_close(&s);
}

Test(lines, pairs_must_be_equal_in_number)
{
    cla_line three[3] = { { "a", 1 }, { "b", 1 }, { "c", 1 } };
    const cla_lines a = { .path = (char *)"x.en", .line = three, .count = 3 };
    const cla_lines b = { .path = (char *)"x.de", .line = three, .count = 2 };
    cr_assert_eq(cla_lines_pair(&a, &a), CLA_OK);
    cr_assert_eq(cla_lines_pair(&b, &a), CLA_E_INPUT);
    cr_assert_str_eq(cla_error(), "x.en:3: has no partner: x.de ends at line 2");
}
