/* readers.c - every reader of base/readers.h: byte order mark, line ends, blank lines,
 * line numbers, what messages show. */
#include "base/readers.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "base/file.h"
#include "base/utf8.h"
#include "cli/readers.h"

#define MARK "\xEF\xBB\xBF"

#define NUMBER(name, file, blanks) READER_##name,
enum { CLA_READERS(NUMBER) READERS };
#undef NUMBER

typedef struct entry {
    const char *name, *file;
    cla_blank_lines blanks;
} entry;

#define ENTRY(name, file, blanks) { #name, file, blanks },
static const entry table[] = { CLA_READERS(ENTRY) };
#undef ENTRY

/* Samples by name: one for each reader, or none is left untested. */
static const reader_sample *sample_of(const char *name)
{
    for (const reader_sample *s = reader_samples; s->name; s++) {
        if (strcmp(s->name, name) == 0) {
            return s;
        }
    }
    cr_assert_fail("tests/cli/readers_samples.c has no sample of the reader '%s'",
                   name);
    return NULL;
}

static char folder[] = "/tmp/clattn-readers-XXXXXX";
static char said[256]; // the path that messages name

static void begin(void)
{
    strcpy(folder, "/tmp/clattn-readers-XXXXXX");
    cr_assert(mkdtemp(folder));
}

static void end(void)
{
    cr_expect_eq(cla_folder_remove(folder), CLA_OK);
}

TestSuite(readers, .init = begin, .fini = end);

/* Reads a text with a reader; digest gets what it made of it. */
static cla_status read_with(const reader_sample *s, const cla_text *text,
                            cla_text *digest)
{
    digest->size = 0;
    cr_assert_eq(cla_text_append(digest, "", 0), CLA_OK);
    snprintf(said, sizeof said, "%s/%s", folder, s->file ? s->file : "file");
    cr_assert_eq(reader_write(said, text->data, text->size), CLA_OK);
    return s->read(said, folder, digest);
}

/* ---- variants of a text -------------------------------------------------------- */

typedef struct variant {
    bool mark, carriage, cut; // cut: the last line has no end
    const char *blank;        // a line before the last one, or NULL
} variant;

static const variant variants[] = {
    { .mark = true },
    { .carriage = true },
    { .mark = true, .carriage = true },
    { .cut = true },
    { .cut = true, .carriage = true },
    { .blank = "" },
    { .blank = " \t" },
    { .blank = "", .carriage = true, .mark = true },
};

/* Makes a variant; line is text that begins the last line. */
static void vary(const variant *v, const char *text, const char *line, cla_text *out)
{
    const size_t size = strlen(text);
    const char *last = text + size - 1;
    while (last > text && last[-1] != '\n') {
        last--;
    }
    out->size = 0;
    cr_assert_eq(cla_text_add(out, "%s", v->mark ? MARK : ""), CLA_OK);
    for (const char *at = text; at < text + size; at++) {
        if (at == last) {
            const char *stop = v->carriage ? "\r\n" : "\n";
            cr_assert_eq(cla_text_add(out, "%s%s%s", v->blank ? v->blank : "",
                                      v->blank ? stop : "", line),
                         CLA_OK);
        }
        if (*at == '\n' && at == text + size - 1 && v->cut) {
            break;
        }
        if (*at == '\n' && v->carriage) {
            cr_assert_eq(cla_text_append(out, "\r", 1), CLA_OK);
        }
        cr_assert_eq(cla_text_append(out, at, 1), CLA_OK);
    }
}

/* Returns whether a message has a character that cannot be seen. */
static bool hides(const char *message)
{
    for (const char *at = message; *at;) {
        int32_t code = 0;
        at += cla_utf8_step(at, strlen(at), &code);
        if (code < 0x20 || (code >= 0x7F && code <= 0xA0) || code == 0xFEFF ||
            code == 0xFFFD || (code >= 0x200B && code <= 0x202E)) {
            return true;
        }
    }
    return false;
}

static int lines_of(const char *text)
{
    int lines = 0;
    for (; *text; text++) {
        lines += *text == '\n';
    }
    return lines;
}

/* ---- tests --------------------------------------------------------------------- */

/* A byte order mark, line ends and lines without a word change nothing. */
static void reads_alike(const entry *e, const reader_sample *s)
{
    const variant plain = { 0 };
    cla_text text = { 0 }, want = { 0 }, got = { 0 };
    vary(&plain, s->text, "", &text);
    cr_assert_eq(read_with(s, &text, &want), CLA_OK, "%s: %s", e->name, cla_error());
    cr_assert_gt(want.size, 0, "%s reads nothing", e->name);
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        const variant *v = &variants[i];
        if ((v->blank && e->blanks == CLA_BLANKS_KEPT) || (v->cut && s->needs_end)) {
            continue;
        }
        vary(v, s->text, "", &text);
        cr_expect_eq(read_with(s, &text, &got), CLA_OK, "%s, variant %zu: %s", e->name,
                     i, cla_error());
        cr_expect_str_eq(got.data, want.data, "%s, variant %zu", e->name, i);
    }
    cla_text_free(&text);
    cla_text_free(&want);
    cla_text_free(&got);
}

/* Refuses a text at its line, whatever stands before it; nothing of it is hidden. */
static void refused(const entry *e, const reader_sample *s, const char *bad,
                    const char *line, const char *behind)
{
    cla_text text = { 0 }, got = { 0 }, place = { 0 };
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        const variant *v = &variants[i];
        if ((v->blank && e->blanks == CLA_BLANKS_KEPT) || v->cut) {
            continue;
        }
        vary(v, bad, line, &text);
        cr_assert_eq(cla_text_append(&text, behind, strlen(behind)), CLA_OK);
        place.size = 0;
        const int number = lines_of(bad) + (v->blank != NULL) + (*behind != 0);
        cr_assert_eq(cla_text_add(&place, "%s%d", s->place ? s->place : ":", number),
                     CLA_OK);
        const cla_status status = read_with(s, &text, &got);
        cr_expect(status == CLA_E_INPUT && strstr(cla_error(), place.data),
                  "%s, variant %zu: %d, '%s' lacks '%s'", e->name, i, (int)status,
                  cla_error(), place.data);
        cr_expect(!hides(cla_error()), "%s: '%s'", e->name, cla_error());
    }
    cla_text_free(&text);
    cla_text_free(&got);
    cla_text_free(&place);
}

/* Lines that end in CR alone are refused, or they are white space of JSON. */
static void reads_no_cr(const entry *e, const reader_sample *s)
{
    cla_text text = { 0 }, want = { 0 }, got = { 0 };
    cr_assert_eq(cla_text_add(&text, "%s", s->text), CLA_OK);
    cr_assert_eq(read_with(s, &text, &want), CLA_OK);
    for (char *c = text.data; *c; c++) {
        *c = *c == '\n' ? '\r' : *c;
    }
    const cla_status status = read_with(s, &text, &got);
    if (s->json) {
        cr_expect(!status && strcmp(got.data, want.data) == 0, "%s: %s", e->name,
                  cla_error());
    } else {
        cr_expect(status == CLA_E_INPUT && strstr(cla_error(), ":1: lines end in CR"),
                  "%s: %d, '%s'", e->name, (int)status, cla_error());
    }
    cla_text_free(&text);
    cla_text_free(&want);
    cla_text_free(&got);
}

Test(readers, each_of_the_product)
{
    cr_assert_eq(sizeof table / sizeof *table, READERS);
    for (size_t i = 0; i < READERS; i++) {
        const entry *e = &table[i];
        const reader_sample *s = sample_of(e->name);
        if (!s->read) {
            cr_expect(s->elsewhere, "%s: neither read nor elsewhere", e->name);
            continue;
        }
        reads_alike(e, s);
        if (s->bad) {
            refused(e, s, s->bad, "", "");
            refused(e, s, s->bad, MARK "\xE2\x80\xAE\xC2\xA0\x1B", "");
        }
        if (!s->no_lines) {
            refused(e, s, s->text, "", "x\xFFy\n");
            reads_no_cr(e, s);
        }
    }
}

/* Readers that need a trained model are tried by the script that has one. */
Test(readers, others_are_tried_by_scripts)
{
    for (size_t i = 0; i < READERS; i++) {
        const reader_sample *s = sample_of(table[i].name);
        if (s->read) {
            continue;
        }
        char *text = NULL, path[512], call[128];
        size_t size = 0;
        snprintf(path, sizeof path, "%s/../%s", getenv("CLATTN_TEST_DATA"),
                 s->elsewhere);
        snprintf(call, sizeof call, "reader %s", table[i].name);
        cr_assert_eq(cla_text_read(&text, &size, path, CLA_SOURCE_FILE), CLA_OK, "%s",
                     cla_error());
        cr_expect(strstr(text, call), "%s has no '%s'", path, call);
        free(text);
    }
}

/* No sample is of a reader that is gone. */
Test(readers, samples_have_their_readers)
{
    for (const reader_sample *s = reader_samples; s->name; s++) {
        bool found = false;
        for (size_t i = 0; i < READERS; i++) {
            found = found || strcmp(table[i].name, s->name) == 0;
        }
        cr_expect(found, "no reader is called '%s'", s->name);
    }
}
