/* plan.c - four keywords from any text. */
#include "text/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "base/file.h"

/* Ranked words 甲 to 癸, the first the best, and vectors of some. */
static cla_ranking ranking;
static cla_lexicon lexicon, stop;
static cla_vectors vectors;
static cla_planner planner;

static const char *const names[] = { "甲", "乙", "丙", "丁", "戊",
                                     "己", "庚", "辛", "壬", "癸" };

static void add_vector(const char *word, float a, float b)
{
    float *vector = NULL;
    cr_assert_eq(cla_vectors_add(&vectors, word, &vector), CLA_OK);
    vector[0] = a;
    vector[1] = b;
}

static void set_up(void)
{
    vectors.dim = 2;
    for (size_t i = 0; i < 10; i++) {
        cr_assert_eq(cla_vocab_add(&ranking.words, names[i], 1, NULL), CLA_OK);
    }
    cr_assert_eq(cla_lexicon_add(&lexicon, "春花"), CLA_OK);
    cr_assert_eq(cla_lexicon_add(&stop, "乙"), CLA_OK);
    add_vector("庚", 1, 0.1F);
    add_vector("夢", 1, 0.11F); // near, but not ranked
    add_vector("己", 4, 1);
    add_vector("甲", 1, 1);
    add_vector("丙", -1, 0);
    planner = (cla_planner){ &ranking, &lexicon, &stop, &vectors, 3, NULL };
}

static void tear_down(void)
{
    cla_vocab_free(&ranking.words);
    cla_lexicon_free(&lexicon);
    cla_lexicon_free(&stop);
    cla_vectors_free(&vectors);
}

static void plan(const char *text, uint32_t seed, cla_plan *out)
{
    cr_assert_eq(cla_plan_make(&planner, text, strlen(text), seed, out), CLA_OK, "%s",
                 cla_error());
    for (int i = 0; i < CLA_POEM_LINES; i++) {
        cr_assert(out->word[i] >= 0 && out->word[i] < 10);
        for (int k = 0; k < i; k++) {
            cr_assert_neq(out->word[i], out->word[k], "'%s' twice",
                          names[out->word[i]]);
        }
    }
}

TestSuite(plan, .init = set_up, .fini = tear_down);

/* The four best words, in the order of the text; stop words and unknown words do not
 * count. */
Test(plan, words_of_the_text)
{
    cla_plan p;
    plan("癸春花辛，乙壬庚夢丙辛己", 1, &p);
    cr_assert_eq(p.from_text, 4);
    cr_assert_eq(p.from_vectors, 0);
    const int want[] = { 7, 6, 2, 5 }; // 辛庚丙己
    cr_assert_arr_eq(p.word, want, sizeof want);
}

/* 丁 is in two themes of 庚; 丙 and 壬 are in one, and 丙 ranks better. The theme
 * of 夢 and 甲 has one ranked word and does not count. Themes come before vectors. */
Test(plan, words_of_their_themes)
{
    char path[] = "/tmp/clattn-themes-XXXXXX", again[] = "/tmp/clattn-themes-XXXXXX";
    static const char text[] =
        "<begin>\t1\n庚 丁  丁 壬\n1\t庚\t丙 丁 己乙\n夢 甲\n\n癸 辛\n";
    cla_themes themes, copy;
    cla_plan p;
    close(mkstemp(path));
    close(mkstemp(again));
    cr_assert_eq(cla_file_write(path, text, sizeof text - 1), CLA_OK);
    cr_assert_eq(cla_themes_read(&themes, path, &ranking), CLA_OK, "%s", cla_error());
    cr_assert_eq(themes.count, 3);
    planner.themes = &themes;
    plan("庚", 1, &p);
    cr_assert(p.from_text == 1 && p.from_themes == 3 && p.from_vectors == 0);
    const int want[] = { 6, 3, 2, 8 }; // 庚丁丙壬
    cr_assert_arr_eq(p.word, want, sizeof want);
    plan("癸", 1, &p); // 辛, and no vector
    cr_assert(p.from_themes == 1 && p.from_vectors == 0 && p.word[1] == 7);
    plan("己", 1, &p);
    cr_assert(p.from_themes == 0 && p.from_vectors == 2);
    cr_assert_eq(cla_themes_save(&themes, again, &ranking), CLA_OK);
    cr_assert_eq(cla_themes_read(&copy, again, &ranking), CLA_OK);
    cr_assert_eq(copy.word_count, themes.word_count);
    cr_assert_arr_eq(copy.word, themes.word, copy.word_count * sizeof *copy.word);
    cla_themes_free(&themes);
    cla_themes_free(&copy);
    cr_assert_eq(cla_file_write(path, "夢 甲\n", strlen("夢 甲\n")), CLA_OK);
    cr_assert_eq(cla_themes_read(&themes, path, &ranking), CLA_E_INPUT);
    cr_assert(strstr(cla_error(), ": no line has two words of the poems") != NULL);
    unlink(path);
    unlink(again);
}

/* The nearest words of 庚 are 夢, which is not ranked, 己 and 甲; only three are
 * tried. */
Test(plan, words_near_to_those)
{
    cla_plan p;
    plan("庚", 1, &p);
    cr_assert_eq(p.from_text, 1);
    cr_assert_eq(p.from_vectors, 2);
    cr_assert(p.word[0] == 6 && p.word[1] == 5 && p.word[2] == 0);
    planner.neighbours = 0;
    plan("庚", 1, &p);
    cr_assert_eq(p.from_vectors, 0);
    planner.neighbours = 3;
    plan("壬", 1, &p); // has no vector
    cr_assert(p.from_text == 1 && p.from_vectors == 0);
}

/* Without a word of the text, words are drawn: the first is the best with
 * 1 / H(10) = 0.3414. */
Test(plan, words_by_chance)
{
    enum { DRAWS = 4000 };
    int first[10] = { 0 }, odd = 0;
    double harmonic = 0;
    cla_plan p, q;
    for (uint32_t seed = 0; seed < DRAWS; seed++) {
        plan("", seed, &p);
        cr_assert(p.from_text == 0 && p.from_vectors == 0);
        first[p.word[0]]++;
        plan("", seed, &q);
        cr_assert_arr_eq(p.word, q.word, sizeof p.word);
        odd += p.word[0] != 0 && p.word[1] != 0 && p.word[2] != 0 && p.word[3] != 0;
    }
    for (int i = 0; i < 10; i++) {
        harmonic += 1.0 / (i + 1);
    }
    for (int i = 0; i < 10; i++) {
        const double want = 1.0 / (i + 1) / harmonic;
        // five deviations of the binomial; the seeds are fixed
        cr_assert_float_eq(first[i] / (double)DRAWS, want,
                           5 * sqrt(want * (1 - want) / DRAWS), "rank %d: %d", i,
                           first[i]);
    }
    cr_assert(odd > 0 && odd < DRAWS / 2); // the best is among them mostly, not always
}

Test(plan, text_of_any_kind)
{
    cla_plan p;
    plan("spring 2024 \xFF\xE6 庚", 3, &p);
    cr_assert_eq(p.from_text, 1);
    planner.vectors = NULL;
    planner.stop = NULL;
    plan("乙", 3, &p);
    cr_assert_eq(p.word[0], 1);
    cla_ranking three = { 0 };
    for (size_t i = 0; i < 3; i++) {
        cr_assert_eq(cla_vocab_add(&three.words, names[i], 1, NULL), CLA_OK);
    }
    planner.ranking = &three;
    cr_assert_eq(cla_plan_make(&planner, "", 0, 1, &p), CLA_E_USAGE);
    cr_assert(strstr(cla_error(), "plan: 3 ranked words") != NULL);
    cla_vocab_free(&three.words);
}
