/* conllu.c - reading and writing CoNLL-U: valid files, and errors with their
 * messages. */
#include "text/conllu.h"

#include <string.h>

#include <criterion/criterion.h>

#define ROW(id, form, tag) id "\t" form "\t_\t" tag "\t_\t_\t_\t_\t_\t_"

static cla_status parse(cla_conllu *f, const char *text)
{
    char *copy = NULL;
    if (cla_strdup(&copy, text)) {
        return CLA_E_NOMEM;
    }
    return cla_conllu_parse(f, "t.conllu", 0, copy, strlen(text));
}

static void refused(const char *text, const char *message)
{
    cla_conllu f;
    cr_assert_eq(parse(&f, text), CLA_E_INPUT, "accepted: %s", text);
    cr_assert(strstr(cla_error(), message) != NULL, "'%s' lacks '%s'", cla_error(),
              message);
}

Test(conllu, reads_words_only)
{
    cla_conllu f;
    const char *text =
        "# text = Du vin\n" ROW("1-2", "Du", "_") "\n" ROW("1", "De", "ADP") "\n" ROW(
            "2", "le", "DET") "\n" ROW("2.1", "x",
                                       "X") "\n" ROW("3", "a b",
                                                     "NOUN") "\n\n" ROW("1", "Oui",
                                                                        "INTJ") "\n\n";
    cr_assert_eq(parse(&f, text), CLA_OK, "%s", cla_error());
    cr_assert_eq(f.sentence_count, 2);
    cr_assert_eq(f.word_count, 4);
    cr_assert_eq(f.sentences[1].first, 3);
    cr_assert_str_eq(f.words[2].form, "a b"); // forms may hold blanks
    cr_assert_str_eq(f.words[1].tag, "DET");
    cr_assert_eq(f.words[3].line, 8);
    cla_conllu_free(&f);
}

/* CRLF, a missing last newline and several blank lines are accepted. */
Test(conllu, tolerates_line_endings)
{
    cla_conllu f;
    cr_assert_eq(parse(&f, "\r\n\r\n" ROW("1", "a", "X") "\r\n" ROW("2", "b", "Y")),
                 CLA_OK);
    cr_assert_eq(f.sentence_count, 1);
    cr_assert_eq(f.word_count, 2);
    cr_assert_str_eq(f.words[1].tag, "Y");
    cla_conllu_free(&f);
}

/* Column 4 of words changes, and a missing blank line is added at the end; everything
 * else stays byte for byte. */
Test(conllu, writes_tags_and_nothing_else)
{
    cla_conllu f;
    cla_text out = { 0 };
    const char *in =
        "# a comment\n1-2\tDu\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n"
        "1\tDe\tde\tOLD\tP\tx=y\t2\tcase\t_\t_\n2\tle\tle\t_\t_\t_\t0\troot\t_\tM\n"
        "2.1\tghost\t_\tX\t_\t_\t_\t_\t_\t_\n";
    const char *want =
        "# a comment\n1-2\tDu\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n"
        "1\tDe\tde\tADP\tP\tx=y\t2\tcase\t_\t_\n2\tle\tle\tDET\t_\t_\t0\troot\t_\tM\n"
        "2.1\tghost\t_\tX\t_\t_\t_\t_\t_\t_\n\n";
    const char *tags[] = { "ADP", "DET" };
    cr_assert_eq(parse(&f, in), CLA_OK);
    cr_assert_eq(cla_conllu_write(&f, 0, tags, &out), CLA_OK);
    cr_assert_str_eq(out.data, want);
    cla_text_free(&out);
    cla_conllu_free(&f);
}

Test(conllu, reads_plain_lines)
{
    cla_conllu f;
    char *text = NULL;
    cr_assert_eq(cla_strdup(&text, "il ne  vient\tpas \n\nl'été\n"), CLA_OK);
    cr_assert_eq(cla_conllu_from_lines(&f, "in", 0, text, strlen(text)), CLA_OK);
    cr_assert_eq(f.sentence_count, 2);
    cr_assert_eq(f.word_count, 5);
    cr_assert_str_eq(f.words[3].form, "pas");
    cr_assert_str_eq(f.words[4].form, "l'été");
    cla_conllu_free(&f);
}

/* Words alone are written as rows with the line end of their line; the last line gets
 * that of the line before it. */
Test(conllu, writes_words_alone_as_rows)
{
    cla_conllu f;
    cla_text out = { 0 };
    char *text = NULL;
    const char *tags[] = { "A", "B", "C", "D" };
    cr_assert_eq(cla_strdup(&text, "#1\tb \n\nc\r\n  d"), CLA_OK);
    cr_assert_eq(cla_conllu_from_lines(&f, "in", 0, text, strlen(text)), CLA_OK);
    cr_expect_eq(f.words[3].line, 4);
    for (size_t s = 0; s < f.sentence_count; s++) {
        cr_assert_eq(cla_conllu_write(&f, s, tags + f.sentences[s].first, &out),
                     CLA_OK);
    }
    cr_expect_str_eq(out.data,
                     ROW("1", "#1", "A") "\n" ROW("2", "b", "B") "\n\n" ROW(
                         "1", "c", "C") "\r\n\r\n" ROW("1", "d", "D") "\r\n\r\n");
    out.size = 0;
    cla_conllu_use_xpos(&f);
    cr_expect_str_eq(f.words[0].tag, "_");
    cr_assert_eq(cla_conllu_write(&f, 1, tags + 2, &out), CLA_OK);
    cr_expect_str_eq(out.data, "1\tc\t_\t_\tC\t_\t_\t_\t_\t_\r\n\r\n");
    cla_text_free(&out);
    cla_conllu_free(&f);
}

/* A NUL byte would end its line early. */
Test(conllu, plain_lines_without_nul)
{
    cla_conllu f;
    char *text = NULL;
    cr_assert_eq(cla_alloc(&text, 8, 1), CLA_OK);
    memcpy(text, "a\nb\0 c\n", 7);
    cr_assert_eq(cla_conllu_from_lines(&f, "in", 10, text, 7), CLA_E_INPUT);
    cr_assert(strstr(cla_error(), "in:12: holds a NUL byte"), "%s", cla_error());
    cla_conllu_free(&f);
}

/* Comments without words stay, blank lines become one, and line ends are the file's. */
Test(conllu, keeps_what_is_no_word)
{
    cla_conllu f;
    cla_text out = { 0 };
    const char *in = "# a\r\n\r\n \t\r\n# b\r\n" ROW("1", "x", "_") "\r\n\r\n" ROW(
        "1", "y", "_") "\r\n\r\n\r\n# c";
    const char *want = "# a\r\n\r\n# b\r\n" ROW("1", "x", "A") "\r\n\r\n" ROW(
        "1", "y", "B") "\r\n\r\n# c\r\n\r\n";
    const char *tags[] = { "A", "B" };
    cr_assert_eq(parse(&f, in), CLA_OK, "%s", cla_error());
    for (size_t s = 0; s < f.sentence_count; s++) {
        cr_assert_eq(cla_conllu_write(&f, s, tags + s, &out), CLA_OK);
    }
    cr_expect_str_eq(out.data, want);
    out.size = 0;
    cr_assert_eq(cla_conllu_write_comments("# a\n\n\n# b", 9, &out), CLA_OK);
    cr_expect_str_eq(out.data, "# a\n\n# b\n\n");
    cla_text_free(&out);
    cla_conllu_free(&f);
}

Test(conllu, tags_of_column_5)
{
    cla_conllu f;
    cla_text out = { 0 };
    const char *tags[] = { "new" };
    cr_assert_eq(parse(&f, "1\ta\tl\tUP\txp\t_\t_\t_\t_\t_\n"), CLA_OK);
    cla_conllu_use_xpos(&f);
    cla_conllu_use_xpos(&f); // changes nothing
    cr_expect_str_eq(f.words[0].tag, "xp");
    cr_assert_eq(cla_conllu_write(&f, 0, tags, &out), CLA_OK);
    cr_expect_str_eq(out.data, "1\ta\tl\tUP\tnew\t_\t_\t_\t_\t_\n\n");
    cla_text_free(&out);
    cla_conllu_free(&f);
}

Test(conllu, tells_rows_from_words)
{
    const struct {
        const char *line;
        cla_conllu_form form;
    } cases[] = {
        { ROW("1", "a", "X"), CLA_FORM_CONLLU },
        { ROW("1-2", "a", "X"), CLA_FORM_CONLLU },
        { ROW("0.1", "a", "X"), CLA_FORM_CONLLU },
        { ROW("7", "a", "X"), CLA_FORM_CONLLU }, // refused later: id 7 after 0
        { "il vient de là", CLA_FORM_WORDS },
        { "il\tvient\tde\tlà", CLA_FORM_WORDS },
        { "a\tb\tc\td\te\tf\tg\th\ti\tj", CLA_FORM_WORDS },
        { "1\ta", CLA_FORM_WORDS },
        { "1990\tet\t1991", CLA_FORM_WORDS },
        { "1\ta\t_\tX", CLA_FORM_NEITHER },
        { ROW("1", "a", "X") "\t_", CLA_FORM_NEITHER },
        { ROW("1x", "a", "X"), CLA_FORM_NEITHER },
        { ROW("-1", "a", "X"), CLA_FORM_NEITHER },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_expect_eq(cla_conllu_guess(cases[i].line), cases[i].form, "'%s'",
                     cases[i].line);
    }
}

Test(conllu, names_what_is_wrong)
{
    refused("", "holds no sentence");
    refused("# only\n\n", "holds no sentence");
    refused("1\ta\t_\tX\n", "t.conllu:1: 4 columns, must be 10");
    refused(ROW("1", "a", "X") "\textra\n", "11 columns");
    refused(ROW("1", "a", "X") "\n" ROW("1", "b", "X") "\n",
            "t.conllu:2: id 1 after 1");
    refused(ROW("1", "a", "X") "\n" ROW("3", "b", "X") "\n", "id 3 after 1");
    refused(ROW("2", "a", "X") "\n", "id 2 after 0");
    refused(ROW("one", "a", "X") "\n", "bad id 'one'");
    refused(ROW("1x", "a", "X") "\n", "bad id '1x'");
    refused(ROW("3-2", "a", "X") "\n", "id out of order '3-2'");
    refused(ROW("1", "", "X") "\n", "empty form");
    refused(ROW("1", "a", "X") "\n\n" ROW("1", "\xff", "X") "\n",
            "t.conllu:3: not UTF-8 (byte 3)");
    refused("\xff", "t.conllu:1: not UTF-8 (byte 1)");
    refused("# a\n\xff\n", "t.conllu:2: not UTF-8 (byte 1)");
    refused("# caf\xC3\xA9 \xff\n", "t.conllu:1: not UTF-8 (byte 9)");
    refused(ROW("99999999999", "a", "X") "\n", "bad id");
}
