/* sentences.c - paragraphs cut into sentences, and long sentences into clauses. */
#include "text/sentences.h"

#include <string.h>

#include <criterion/criterion.h>

#include "base/utf8.h"

/* A paragraph, a bar where a sentence begins. */
typedef struct paragraph {
    const char *language, *text;
} paragraph;

static const paragraph paragraphs[] = {
    { "en", "" },
    { "en", "One." },
    { "en", "One. |Two! |Three? |\"Four.\" |(Five.)  |Six" },
    { "en", "Dr. Smith met Mrs. Jones at 10.30 a.m. in St. Ives. |She left." },
    { "en", "J. R. R. Tolkien wrote it. |It has 3.5 parts, e.g. Two Towers." },
    { "en", "See no. 5 and fig. 3. |He said no. |Then he went." },
    { "en", "It costs $3.50. |\"Really?\" she asked. www.example.org is down." },
    { "en", "\"Really?\" |She asked. |(Twice!) |Then not." },
    { "en", "all is small. |dr. no came! |is it? |(yes.) |e.g. this" },
    { "", "a? |b. c" },
    { "en", "Well... maybe. |Wait" },
    { "de", "Das gilt z. B. Montags, d. h. bald. |Ich mag es. |Es ist Nr. 7." },
    { "de", "Hr. Dr. Weber kam am 3. Mai. |\xE2\x80\x9EWirklich?\xE2\x80\x9C |Ja." },
    { "fr", "M. Dupont arrive. |Qui est-ce ? |Mme. Curie !" },
    { "es", "El Sr. García llegó. |¿Quién es? |¡Hola!" },
    { "en", "It was May 3. |Then it rained." },
    { "zh", "我们是。|你呢？|好！" },
    { "ja", "これはペンです。|本当？" },
    { "no such language", "One. |Two." },
};

/* Takes the bars out of a paragraph, and notes where they were. */
static void take_bars(const char *marked, cla_text *text, cla_cuts *cuts)
{
    cr_assert_eq(cla_text_append(text, "", 0), CLA_OK);
    for (; *marked; marked++) {
        cr_assert_eq(*marked == '|' ? cla_cuts_add(cuts, text->size)
                                    : cla_text_append(text, marked, 1),
                     CLA_OK);
    }
}

static void check_paragraph(const paragraph *p)
{
    cla_text text = { 0 };
    cla_cuts want = { 0 }, got = { 0 };
    cla_sentences *sentences = NULL;
    take_bars(p->text, &text, &want);
    cr_assert_eq(cla_sentences_new(&sentences, p->language), CLA_OK);
    for (int twice = 0; twice < 2; twice++) {
        got.count = 0;
        cr_assert_eq(cla_sentences_cut(sentences, text.data, text.size, &got), CLA_OK);
        cr_assert_eq(got.count, want.count, "%s: %zu cuts, not %zu", p->text, got.count,
                     want.count);
        for (size_t i = 0; i < got.count; i++) {
            cr_expect_eq(got.at[i], want.at[i], "%s: byte %zu, not %zu", p->text,
                         got.at[i], want.at[i]);
        }
    }
    cla_sentences_free(&sentences);
    cla_cuts_free(&want);
    cla_cuts_free(&got);
    cla_text_free(&text);
}

Test(sentences, end_where_readers_say)
{
    if (!cla_sentences_there()) {
        cla_sentences *sentences = NULL;
        cr_assert_eq(cla_sentences_new(&sentences, "en"), CLA_E_USAGE);
        cr_assert(strstr(cla_error(), "built without ICU"));
        cr_skip_test("built without ICU");
    }
    for (size_t i = 0; i < sizeof paragraphs / sizeof *paragraphs; i++) {
        check_paragraph(&paragraphs[i]);
    }
}

/* A bar where a sentence is cut in two; none: it cannot be. */
static const char *const clauses[] = {
    "",
    "a",
    "a|b",
    "äöü|äöü",
    "one two |six ten",
    "one, two three: |four five six, ten",
    "one two three, |four five six seven",
    "12:30 and 1,000,000 |and 10:45 or so",
    "one; two three four |five six seven eight nine",
    "一二，|三四五",
    "一二。|三，四五",
    "一二三|四五六",
};

Test(clauses, are_cut_at_the_best_mark_near_the_middle)
{
    for (size_t i = 0; i < sizeof clauses / sizeof *clauses; i++) {
        cla_text text = { 0 };
        cla_cuts want = { 0 };
        take_bars(clauses[i], &text, &want);
        const size_t at = want.count ? want.at[0] : 0;
        const size_t got = cla_clause_cut(text.data, text.size);
        cr_expect_eq(got, at, "%s: byte %zu, not %zu", clauses[i], got, at);
        cla_cuts_free(&want);
        cla_text_free(&text);
    }
}

Test(clauses, end_between_code_points)
{
    static const char *const letters[] = {
        "a", " ", "é", ",", "、", "😀", ";", ".",
    };
    uint32_t seed = 7;
    for (int round = 0; round < 2000; round++) {
        cla_text text = { 0 };
        const int length = 2 + round % 30;
        for (int i = 0; i < length; i++) {
            seed = seed * 1664525u + 1013904223u;
            const char *letter = i && i < length - 1 ? letters[seed >> 29] : "a";
            cr_assert_eq(cla_text_append(&text, letter, strlen(letter)), CLA_OK);
        }
        const size_t at = cla_clause_cut(text.data, text.size);
        cr_assert(at > 0 && at < text.size, "%s", text.data);
        cr_assert_eq(cla_utf8_check(text.data + at, text.size - at), text.size - at);
        cla_text_free(&text);
    }
}
