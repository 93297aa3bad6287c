/* poems.c - quatrains, their characters, and lines cut by a list of words. */
#include "text/poems.h"

#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "base/file.h"
#include "text/lexicon.h"

static char path[] = "/tmp/clattn-poems-XXXXXX";

static const char *file_of(const char *text)
{
    strcpy(path, "/tmp/clattn-poems-XXXXXX");
    close(mkstemp(path));
    cr_assert_eq(cla_file_write(path, text, strlen(text)), CLA_OK);
    return path;
}

static cla_status read_tsv(cla_poems *p, const char *text, bool strict)
{
    const cla_status status = cla_poems_read(p, file_of(text), strict);
    unlink(path);
    return status;
}

static cla_status read_rows(cla_poems *p, const char *text, bool strict)
{
    const cla_status status = cla_poems_read_keywords(p, file_of(text), strict);
    unlink(path);
    return status;
}

#define DENG "白日依山盡|黃河入海流|欲窮千里目|更上一層樓"
#define LIANG                                      \
    "葡萄美酒夜光杯|欲飲琵琶馬上催|" \
    "醉臥沙場君莫笑|古來征戰幾人回"

Test(poems, reads_quatrains)
{
    cla_poems p;
    cr_assert_eq(
        read_tsv(&p, "tang\t王之渙\t登鸛雀樓\t" DENG "\ntang\t\t\t" LIANG, true),
        CLA_OK, "%s", cla_error());
    cr_assert_eq(p.count, 2);
    cr_assert_eq(p.poem[0].length, 5);
    cr_assert_eq(p.poem[1].length, 7);
    cr_assert_str_eq(cla_poems_string(&p, p.poem[0].author), "王之渙");
    cr_assert_str_eq(cla_poems_string(&p, p.poem[0].title), "登鸛雀樓");
    cr_assert_str_eq(cla_poems_string(&p, p.poem[1].dynasty), "tang");
    cr_assert_str_eq(cla_poems_string(&p, p.poem[1].author), "");
    cr_assert_str_eq(cla_poems_string(&p, p.poem[1].line[3]), "古來征戰幾人回");
    cr_assert_str_eq(cla_poems_string(&p, p.poem[1].keyword[3]), "");
    cla_poems_free(&p);
}

Test(poems, passes_over_or_refuses)
{
    static const char *const odd[] = {
        "白日依山盡|黃河入海流|欲窮千里目",            // three lines
        DENG "|更上一層樓",                            // five
        "白日依山盡|黃河入海流|欲窮千里|更上一層樓",   // one shorter
        "白日依山|黃河入海|欲窮千里|更上一層",         // all of four
        "白日依山盡|黃河入海流|欲窮，里目|更上一層樓", // a mark
        "白日依山盡|黃河入海流|欲窮 里目|更上一層樓",  // a blank
        "白日依山盡|黃河入海流|欲窮a里目|更上一層樓",
        "",
        "|||",
    };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        cla_poems p;
        cla_text text = { 0 };
        cr_assert_eq(cla_text_add(&text, "a\tb\tc\t" DENG "\na\tb\tc\t%s\n", odd[i]),
                     CLA_OK);
        cr_assert_eq(read_tsv(&p, text.data, false), CLA_OK, "%s", odd[i]);
        cr_assert_eq(p.count, 1);
        cr_assert_eq(p.passed_over, 1);
        cla_poems_free(&p);
        cr_assert_eq(read_tsv(&p, text.data, true), CLA_E_INPUT, "%s", odd[i]);
        cr_assert(strstr(cla_error(), ":2: not four lines of 5 or of 7") != NULL);
        cla_text_free(&text);
    }
}

Test(poems, reads_keywords)
{
    cla_poems p;
    const char *text = "白日依山盡\t白日\n黃河入海流\t海\n"
                       "欲窮千里目\t千里\n更上一層樓\t樓\n";
    const char *other = "白日依山盡\t白日\n黃河入海流\t海\n"
                        "欲窮千里目\t萬里\n更上一層樓\t樓\n";
    cla_text both = { 0 };
    cr_assert_eq(cla_text_add(&both, "%s%s", other, text), CLA_OK);
    cr_assert_eq(read_rows(&p, text, true), CLA_OK, "%s", cla_error());
    cr_assert_eq(p.count, 1);
    cr_assert_eq(p.poem[0].length, 5);
    cr_assert_str_eq(cla_poems_string(&p, p.poem[0].keyword[2]), "千里");
    cr_assert_str_eq(cla_poems_string(&p, p.poem[0].line[3]), "更上一層樓");
    cr_assert_str_eq(cla_poems_string(&p, p.poem[0].title), "");
    cla_poems_free(&p);
    cr_assert_eq(read_rows(&p, both.data, false), CLA_OK);
    cr_assert_eq(p.count, 1);
    cr_assert_eq(p.passed_over, 1);
    cla_poems_free(&p);
    cr_assert_eq(read_rows(&p, both.data, true), CLA_E_INPUT);
    cr_assert(strstr(cla_error(), ":4: a keyword of the poem") != NULL);
    cla_text_free(&both);
}

Test(poems, names_what_is_wrong)
{
    cla_poems p;
    const struct {
        const char *text, *message;
        bool rows;
    } cases[] = {
        { "", ": holds no poem", false },
        { "a\tb\t" DENG "\n", ":1: 3 columns, must be 4", false },
        { "a\tb\tc\t" DENG "\td\n", ":1: more than 4 columns, must be 4", false },
        { "a\tb\tc\t" DENG "\n\nx\n", ":3: 1 columns", false },
        { "a\tb\tc\td\n", ": holds no poem", false },
        { "a\tb\tc\t\xFF\n", ":1: not UTF-8", false },
        { "", ": holds no poem", true },
        { "白日依山盡\n", ":1: must be a line, a tab and a keyword", true },
        { "白日依山盡\t白日\n", ":1: the file ends within a poem", true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_assert_eq(cases[i].rows ? read_rows(&p, cases[i].text, false)
                                   : read_tsv(&p, cases[i].text, false),
                     CLA_E_INPUT, "case %zu", i);
        cr_assert(strstr(cla_error(), cases[i].message) != NULL, "'%s' lacks '%s'",
                  cla_error(), cases[i].message);
    }
    cr_assert_eq(cla_poems_read(&p, "/nowhere/x", false), CLA_E_IO);
}

Test(poems, characters_as_numbers)
{
    cla_poems p;
    cla_vocab v = { 0 };
    int32_t ids[CLA_POEM_LONGEST];
    const char *text = "a\tb\tc\t"
                       "春春春春春|春花花花花|花月月月月|"
                       "𠀀春花月春\n";
    cr_assert_eq(read_tsv(&p, text, true), CLA_OK);
    cr_assert_eq(cla_poems_vocab(&p, 0, &v), CLA_OK);
    cr_assert_eq(v.count, CLA_SPECIALS + 4);
    cr_assert_eq(v.counts[CLA_SPECIALS], 8);
    cr_assert_eq(cla_poems_ids("月雪𠀀", &v, ids, 7), 3);
    cr_assert(ids[0] == CLA_SPECIALS + 2 && ids[1] == CLA_UNK &&
              ids[2] == CLA_SPECIALS + 3);
    cr_assert_eq(cla_poems_ids("春春春春春", &v, ids, 2), 2);
    cla_vocab_free(&v);
    cr_assert_eq(cla_poems_vocab(&p, CLA_SPECIALS + 1, &v), CLA_OK);
    cr_assert_eq(v.count, CLA_SPECIALS + 1);
    cla_vocab_free(&v);
    cla_poems_free(&p);
}

/* 明月 occurs three times, 雨風 only across pauses, 風雪 once. */
Test(poems, words_of_two)
{
    cla_poems p;
    cla_lexicon l;
    const char *text = "a\tb\tc\t"
                       "明月山水水|明月山山水|"
                       "月山月水山|水水水水明\n"
                       "a\tb\tc\t"
                       "山山水水明月山|風雨風雨風雨雪|"
                       "風雪雪雪雪雪雪|花花花花花花花\n";
    cr_assert_eq(read_tsv(&p, text, true), CLA_OK, "%s", cla_error());
    cr_assert_eq(cla_poems_words(&p, 2, 2, &l), CLA_OK);
    cr_assert(cla_lexicon_has(&l, "明月", 6));
    cr_assert(cla_lexicon_has(&l, "風雨", 6));
    cr_assert(cla_lexicon_has(&l, "花花", 6));
    cr_assert_not(cla_lexicon_has(&l, "雨風", 6));
    cr_assert_not(cla_lexicon_has(&l, "風雪", 6));
    cla_lexicon_free(&l);
    // 明月: 3 * 48 / (4 * 5) = 7.2
    cr_assert_eq(cla_poems_words(&p, 2, 7.19, &l), CLA_OK);
    cr_assert(cla_lexicon_has(&l, "明月", 6));
    cla_lexicon_free(&l);
    const cla_status status = cla_poems_words(&p, 2, 7.21, &l);
    cr_assert(status || !cla_lexicon_has(&l, "明月", 6));
    cla_lexicon_free(&l);
    const cla_poems none = { 0 };
    cr_assert_eq(cla_poems_words(&none, 2, 1, &l), CLA_E_INPUT);
    cr_assert_eq(cla_poems_words(&p, 2, 1000, &l), CLA_E_INPUT);
    cr_assert(strstr(cla_error(), "no pair of characters occurs 2 times") != NULL);
    cla_poems_free(&p);
}

/* Checks the words of text, with a bar between them. */
static void cut(const cla_lexicon *l, const char *text, const char *want)
{
    cla_words w = { 0 };
    cla_text got = { 0 };
    cr_assert_eq(cla_lexicon_cut(l, text, strlen(text), &w), CLA_OK);
    for (size_t i = 0; i < w.count; i++) {
        const cla_span *s = &w.word[i];
        cr_assert_eq(cla_text_add(&got, "%s%.*s", i ? "|" : "", s->size, text + s->at),
                     CLA_OK);
    }
    cr_assert_str_eq(got.data ? got.data : "", want);
    cla_text_free(&got);
    cla_words_free(&w);
}

Test(poems, words_of_a_list)
{
    cla_lexicon l;
    cla_words w = { 0 };
    const char *list = "\n黃河\n 海 \n海流水\n白日\n白日\n";
    cr_assert_eq(cla_lexicon_read(&l, file_of(list)), CLA_OK);
    unlink(path);
    cr_assert_eq(l.words.count, 4);
    cr_assert_eq(l.longest, 3);
    cr_assert(cla_lexicon_has(&l, "黃河入", 6));
    cr_assert(!cla_lexicon_has(&l, "黃河入", 9));
    cut(&l, "白日依山盡", "白日|依|山|盡");
    cut(&l, "黃河入海流，黃", "黃河|入|海|流|黃");
    cut(&l, "海流水。a 7\xFF日", "海流水|a|7|日");
    cut(&l, "", "");
    cr_assert_eq(cla_lexicon_cut(&l, "，黃河", 9, &w), CLA_OK);
    cr_assert_eq(w.count, 1);
    cr_assert(w.word[0].from == 1 && w.word[0].to == 3 && w.word[0].at == 3 &&
              w.word[0].size == 6);
    cla_words_free(&w);
    cla_lexicon_free(&l);
    cut(&l, "白日", "白|日"); // with an empty list
    char word[300];
    memset(word, 'a', sizeof word);
    word[sizeof word - 1] = 0;
    cr_assert_eq(cla_lexicon_read(&l, file_of(word)), CLA_E_INPUT);
    cr_assert(strstr(cla_error(), ":1: 'aaaaaaaaaaaaaaaaaaaa...' is too") != NULL);
    unlink(path);
    cr_assert_eq(cla_lexicon_read(&l, file_of(" \n\n")), CLA_E_INPUT);
    unlink(path);
    cr_assert_eq(cla_lexicon_read(&l, file_of("a\n\xFF\n")), CLA_E_INPUT);
    cr_assert(strstr(cla_error(), ":2: not UTF-8") != NULL);
    unlink(path);
}
