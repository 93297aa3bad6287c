/* markup.c - documents cut into parts, and written with other texts. */
#include "text/markup.h"

#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

/* A document, its parts with bars between them, and what is written when each part
 * becomes "<1>", "<2>" and so on. */
typedef struct sample {
    cla_markup markup;
    const char *source, *parts, *written;
} sample;

static const sample samples[] = {
    { CLA_MARKUP_HTML, "", "", "" },
    { CLA_MARKUP_HTML, " One. ", "One.", " &lt;1&gt; " },
    { CLA_MARKUP_HTML, "<p>A &amp; B &lt;3 &eacute;</p>", "A & B <3 \xC3\xA9",
      "<p>&lt;1&gt;</p>" },
    { CLA_MARKUP_HTML,
      "<!doctype html><html><head><title>T\n x</title>\n<body >a<br/>b", "T x|a|b",
      "<!doctype html><html><head><title>&lt;1&gt;</title>\n"
      "<body >&lt;2&gt;<br/>&lt;3&gt;" },
    { CLA_MARKUP_HTML, "<P Class=x>I <b>love</b>\n you.<code>if (a)</code> 42 !</P>",
      "I|love|you.",
      "<P Class=x>&lt;1&gt; <b>&lt;2&gt;</b>\n &lt;3&gt;<code>if (a)</code> 42 !</P>" },
    { CLA_MARKUP_HTML,
      "<pre>a</pre><script>b</script><style>c</style><p translate=no>d"
      "</p><p class='x notranslate'>e</p><p class=notranslated>f",
      "f",
      "<pre>a</pre><script>b</script><style>c</style><p translate=no>d</p>"
      "<p class='x notranslate'>e</p><p class=notranslated>&lt;1&gt;" },
    { CLA_MARKUP_HTML, "a<!-- no -->b<img alt='no'>c", "a|b|c",
      "&lt;1&gt;<!-- no -->&lt;2&gt;<img alt='no'>&lt;3&gt;" },
    /* The standard moves a text out of a table; its place in the source stays. */
    { CLA_MARKUP_HTML, "<table>x<tr><td>y</table>z", "x|y|z",
      "<table>&lt;1&gt;<tr><td>&lt;2&gt;</table>&lt;3&gt;" },
    { CLA_MARKUP_HTML, "<b>a<i>b</b>c</i>d", "a|b|c|d",
      "<b>&lt;1&gt;<i>&lt;2&gt;</b>&lt;3&gt;</i>&lt;4&gt;" },
    { CLA_MARKUP_HTML, "a</i>b", "a|b", "&lt;1&gt;</i>&lt;2&gt;" },
    { CLA_MARKUP_HTML, "1 < 2 is so", "1 < 2 is so", "&lt;1&gt;" },
    { CLA_MARKUP_MARKDOWN, "", "", "" },
    { CLA_MARKUP_MARKDOWN, "# Head\n\nA *b* `c d`\ne\n", "Head|A|b|e",
      "# \\<1>\n\n\\<2> *\\<3>* `c d`\n\\<4>\n" },
    { CLA_MARKUP_MARKDOWN, "> one\n> two\n\n1. three\n   four\n- [x] five",
      "one two|three four|five", "> \\<1>\n\n1. \\<2>\n- [x] \\<3>" },
    { CLA_MARKUP_MARKDOWN,
      "```c\nint a;\n```\n\n    code\n\n<p>html</p>\n\nText\n\n---\n", "Text",
      "```c\nint a;\n```\n\n    code\n\n<p>html</p>\n\n\\<1>\n\n---\n" },
    { CLA_MARKUP_MARKDOWN, "[a link](http://x.y 't') <http://a.b> www.a.org ![no](p)",
      "a link", "[\\<1>](http://x.y 't') <http://a.b> www.a.org ![no](p)" },
    { CLA_MARKUP_MARKDOWN, "|a|b &amp; c|\n|---|---|\n|d\\|e|2|\n",
      "a|b & c|d\xC2\xA6"
      "e",
      "|\\<1>|\\<2>|\n|---|---|\n|\\<3>|2|\n" },
    { CLA_MARKUP_MARKDOWN, "\\*a\\* b\\\\", "*a* b\\", "\\<1>" },
    { CLA_MARKUP_MARKDOWN, "line one  \nline two &copy; three",
      "line one|line two|three", "\\<1>  \n\\<2> &copy; \\<3>" },
};

static void append(cla_text *out, const char *text, size_t size)
{
    cr_assert_eq(cla_text_append(out, text, size), CLA_OK);
}

/* Joins the parts with bars; a bar of a text becomes a broken one. */
static void join(const cla_document *d, cla_text *out)
{
    append(out, "", 0);
    for (size_t i = 0; i < d->count; i++) {
        append(out, "|", i > 0);
        for (const char *c = d->part[i].text; *c; c++) {
            append(out, *c == '|' ? "\xC2\xA6" : c, *c == '|' ? 2 : 1);
        }
    }
}

static void check(const sample *s)
{
    cla_document d;
    cla_text parts = { 0 }, written = { 0 };
    char names[8][8];
    const char *texts[8];
    cr_assert_eq(cla_document_read(&d, s->markup, s->source, strlen(s->source)),
                 CLA_OK);
    join(&d, &parts);
    cr_assert_str_eq(parts.data, s->parts, "%s: %s", s->source, parts.data);
    for (size_t i = 0; i < d.count; i++) {
        snprintf(names[i], sizeof names[i], "<%d>", (int)(i + 1) % 10);
        texts[i] = names[i];
    }
    cr_assert_eq(cla_document_write(&d, texts, &written), CLA_OK);
    cr_assert_str_eq(written.data, s->written, "%s: %s", s->source, written.data);
    cla_text_free(&parts);
    cla_text_free(&written);
    cla_document_free(&d);
}

Test(markup, parts)
{
    if (!cla_markup_there()) {
        cr_skip_test("built without Gumbo and MD4C");
    }
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        check(&samples[i]);
    }
}

Test(markup, own_texts_change_nothing)
{
    /* Texts written back are read as the same texts, and the third writing is the
     * second: escapes are decoded again. */
    static const char *const texts[] = { "a_b *c* [d](e) <f> &amp; \\ |g|",
                                         "# h",
                                         "3. i",
                                         "- j",
                                         "1) k",
                                         "`l` ~~m~~",
                                         "=== n" };
    if (!cla_markup_there()) {
        cr_skip_test("built without Gumbo and MD4C");
    }
    for (int markup = CLA_MARKUP_HTML; markup <= CLA_MARKUP_MARKDOWN; markup++) {
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            cla_document d;
            cla_text out = { 0 };
            cr_assert_eq(cla_document_read(&d, markup, "x", 1), CLA_OK);
            cr_assert_eq(cla_document_write(&d, &texts[i], &out), CLA_OK);
            cla_document_free(&d);
            cr_assert_eq(cla_document_read(&d, markup, out.data, out.size), CLA_OK);
            cr_assert_eq(d.count, 1, "%s: %zu parts", out.data, d.count);
            cr_assert_str_eq(d.part[0].text, texts[i], "%s", out.data);
            cla_document_free(&d);
            cla_text_free(&out);
        }
    }
}

/* Deep nesting, and formatting that the standard repeats in each paragraph, are refused
 * or read in little time. */
Test(markup, hostile, .timeout = 60)
{
    static const char *const repeated[] = {
        "<b>",   "<div>",      "<table>", "<b><p>x</p>", "<a href=x>", "<p><b><i><u>x",
        "<svg>", "<template>", "</x>",    "<x",          "&#",         "<!--"
    };
    if (!cla_markup_there()) {
        cr_skip_test("built without Gumbo and MD4C");
    }
    for (size_t i = 0; i < sizeof repeated / sizeof *repeated; i++) {
        for (int n = 4000; n <= 40000; n += 36000) {
            cla_document d;
            cla_text all = { 0 };
            for (int k = 0; k < n; k++) {
                cr_assert_eq(cla_text_add(&all, "%s", repeated[i]), CLA_OK);
            }
            const cla_status status =
                cla_document_read(&d, CLA_MARKUP_HTML, all.data, all.size);
            cr_assert(status == CLA_OK || status == CLA_E_INPUT, "%s", cla_error());
            cla_document_free(&d);
            cla_text_free(&all);
        }
    }
    cla_document d;
    cla_text odd = { 0 };
    for (int k = 0; k < 7000; k++) {
        cr_assert_eq(cla_text_add(&odd, "<b a=%d>", k), CLA_OK);
    }
    for (int k = 0; k < 7000; k++) {
        cr_assert_eq(cla_text_add(&odd, "<p>x</p>"), CLA_OK);
    }
    const cla_status status =
        cla_document_read(&d, CLA_MARKUP_HTML, odd.data, odd.size);
    cr_assert(status == CLA_OK || status == CLA_E_INPUT, "%s", cla_error());
    cla_document_free(&d);
    cla_text_free(&odd);
}
