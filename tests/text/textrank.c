/* textrank.c - scores of words: known answers, the sum rule, keywords, files. */
#include "text/textrank.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "base/file.h"
#include "base/rng.h"
#include "support/support.h"

static double score_of(const cla_ranking *r, const char *word)
{
    const int rank = cla_vocab_find(&r->words, word);
    cr_assert_geq(rank, 0, "'%s' has no rank", word);
    return r->score[rank];
}

/* a-b 2, a-c 1: solved by hand to a = 54/37, b = 0.15 + 0.85 a 2/3, c the rest of 3. */
Test(textrank, known_answers)
{
    cla_textrank t = { 0 };
    cla_ranking r;
    cr_assert_eq(cla_textrank_join(&t, "c", "a", 1), CLA_OK);
    cr_assert_eq(cla_textrank_join(&t, "a", "b", 1.5), CLA_OK);
    cr_assert_eq(cla_textrank_join(&t, "b", "a", 0.5), CLA_OK);
    cr_assert_eq(cla_textrank_rank(&t, &r), CLA_OK);
    const double a = 54.0 / 37;
    // 1e-9 of a round, and later rounds could add 1 / (1 - 0.85) times that
    cr_assert_float_eq(score_of(&r, "a"), a, 1e-8);
    cr_assert_float_eq(score_of(&r, "b"), 0.15 + 0.85 * a * 2 / 3, 1e-8);
    cr_assert_float_eq(score_of(&r, "c"), 0.15 + 0.85 * a / 3, 1e-8);
    cr_assert_float_eq(score_of(&r, "a"), 1.459459, 5e-7);
    cr_assert_float_eq(score_of(&r, "b"), 0.977027, 5e-7);
    cr_assert_float_eq(score_of(&r, "c"), 0.563514, 5e-7);
    cr_assert_str_eq(r.words.tokens[0], "a");
    cr_assert_str_eq(r.words.tokens[1], "b");
    cla_ranking_free(&r);
    cla_textrank_free(&t);
}

/* Scores of words with neighbours sum to their number; a word without neighbours has
 * 0.15. */
Test(textrank, scores_sum_to_the_number_of_words)
{
    enum { WORDS = 60 };
    cla_textrank t = { 0 };
    cla_ranking r;
    double sum = 0;
    for (uint32_t i = 0; i < 3 * WORDS; i++) {
        const uint32_t counter[4] = { i, 0, 0, 0 }, key[2] = { test_seed(), 0 };
        const cla_philox p = cla_philox4x32(counter, key);
        char a[16], b[16];
        snprintf(a, sizeof a, "w%u", i % WORDS);
        snprintf(b, sizeof b, "w%u", (i + 1 + p.v[0] % (WORDS - 1)) % WORDS);
        cr_assert_eq(cla_textrank_join(&t, a, b, 1 + p.v[1] % 5), CLA_OK);
    }
    cr_assert_eq(cla_textrank_join(&t, "alone", "alone", 3), CLA_OK);
    cr_assert_eq(cla_textrank_rank(&t, &r), CLA_OK);
    cr_assert_eq(r.words.count, WORDS + 1);
    for (size_t i = 0; i <= WORDS; i++) {
        sum += r.score[i];
        cr_assert(!i || r.score[i] <= r.score[i - 1]);
    }
    cr_assert_float_eq(score_of(&r, "alone"), 0.15, 1e-15);
    // every round keeps the sum but for rounding
    cr_assert_float_eq(sum - 0.15, WORDS, 1e-10);
    cla_ranking_free(&r);
    cla_textrank_free(&t);
}

static void add(cla_textrank *t, const cla_lexicon *l, const cla_lexicon *stop,
                const char *line)
{
    cr_assert_eq(cla_textrank_add(t, l, stop, line, strlen(line)), CLA_OK);
}

static void keyword(const cla_ranking *r, const cla_lexicon *l, const cla_lexicon *stop,
                    const char *line, const char *want)
{
    cla_span s = { 0 };
    bool found = false;
    cr_assert_eq(cla_ranking_keyword(r, l, stop, line, strlen(line), &s, &found),
                 CLA_OK);
    cr_assert_eq(found, want != NULL, "%s", line);
    if (found) {
        cr_assert_eq((size_t)s.size, strlen(want), "%s", line);
        cr_assert_eq(memcmp(line + s.at, want, strlen(want)), 0, "%s", line);
    }
}

/* 山 is joined with three words, 白日 with one; 不 is a stop word, and 雨 makes no
 * pair with itself. */
Test(textrank, lines_and_their_keywords)
{
    cla_lexicon l = { 0 }, stop = { 0 };
    cla_textrank t = { 0 };
    cla_ranking r;
    cr_assert_eq(cla_lexicon_add(&l, "白日"), CLA_OK);
    cr_assert_eq(cla_lexicon_add(&stop, "不"), CLA_OK);
    add(&t, &l, &stop, "白日不山");
    add(&t, &l, &stop, "山，花");
    add(&t, &l, &stop, "雨山雨");
    add(&t, &l, &stop, "不");
    cr_assert_eq(t.words.count, 4);
    cr_assert_eq(t.edge_count, 3);
    cr_assert_eq(cla_textrank_rank(&t, &r), CLA_OK);
    cr_assert_str_eq(r.words.tokens[0], "山");
    cr_assert_str_eq(r.words.tokens[1], "雨"); // its pair counts twice
    cr_assert_float_eq(score_of(&r, "白日"), score_of(&r, "花"), 1e-8);
    keyword(&r, &l, &stop, "白日山雨", "山");
    keyword(&r, &l, &stop, "不白日", "白日");
    keyword(&r, &l, &stop, "不夢月", "夢"); // none has a rank
    keyword(&r, &l, &stop, "夢花", "花");
    keyword(&r, &l, &stop, "，不", "不");
    keyword(&r, &l, NULL, "不夢", "不");
    keyword(&r, &l, &stop, "，", NULL);
    keyword(&r, &l, &stop, "", NULL);
    cla_ranking_free(&r);
    cla_textrank_free(&t);
    cla_lexicon_free(&l);
    cla_lexicon_free(&stop);
}

static char path[] = "/tmp/clattn-ranking-XXXXXX";

static cla_status load(cla_ranking *r, const char *text)
{
    strcpy(path, "/tmp/clattn-ranking-XXXXXX");
    close(mkstemp(path));
    cr_assert_eq(cla_file_write(path, text, strlen(text)), CLA_OK);
    const cla_status status = cla_ranking_load(r, path);
    unlink(path);
    return status;
}

Test(textrank, files)
{
    cla_textrank t = { 0 };
    cla_ranking r, s;
    cr_assert_eq(cla_textrank_join(&t, "a", "b c", 1), CLA_OK);
    cr_assert_eq(cla_textrank_join(&t, "a", "d", 3), CLA_OK);
    cr_assert_eq(cla_textrank_rank(&t, &r), CLA_OK);
    strcpy(path, "/tmp/clattn-ranking-XXXXXX");
    close(mkstemp(path));
    cr_assert_eq(cla_ranking_save(&r, path), CLA_OK);
    cr_assert_eq(cla_ranking_load(&s, path), CLA_OK, "%s", cla_error());
    unlink(path);
    cr_assert_eq(s.words.count, 3);
    for (size_t i = 0; i < 3; i++) {
        cr_assert_str_eq(s.words.tokens[i], r.words.tokens[i]);
        cr_assert_eq(s.score[i], r.score[i]);
    }
    cla_ranking_free(&s);
    cla_ranking_free(&r);
    cla_textrank_free(&t);
}

static void refused(const char *text, const char *message)
{
    cla_ranking r;
    cr_assert_eq(load(&r, text), CLA_E_INPUT, "accepted: %s", text);
    cr_assert(strstr(cla_error(), message) != NULL, "'%s' lacks '%s'", cla_error(),
              message);
}

Test(textrank, names_what_is_wrong)
{
    cla_textrank t = { 0 };
    cla_ranking r;
    refused("", ": holds no word");
    refused("a\t1\nb\n", ":2: must be a word, a tab and a number");
    refused("a\tx\n", ":1: must be a word");
    refused("\t1\n", ":1: must be a word");
    refused("a\t1\nb\t2\n", ":2: 2 is more than the score before, 1");
    refused("a\t1\na\t1\n", ":2: duplicate word 'a'");
    refused("\xFF\t1\n", ":1: not UTF-8");
    cr_assert_eq(cla_ranking_load(&r, "/nowhere/x"), CLA_E_IO);
    cr_assert_eq(cla_textrank_rank(&t, &r), CLA_E_INPUT);
    cr_assert_eq(cla_textrank_join(&t, "a", "b", 0), CLA_E_USAGE);
    cr_assert_eq(cla_textrank_join(&t, "a", "b", -1), CLA_E_USAGE);
    cr_assert_eq(cla_textrank_join(&t, "a", "b", (double)NAN), CLA_E_USAGE);
}
