/* bidaf_passages.c - bidirectional attention flow for questions with several
 * passages. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/reader.h"

/* Two questions, one with three passages and one with one. */
enum { B = 2, P = 4, MANY = 3 };
static const int questions[B] = { 4, 3 }, asked[B] = { 13, 8 };
static const int passages[P] = { 4, 7, 2, 8 };
static const int32_t asker[P] = { 0, 0, 0, 1 };
static const int32_t first[B] = { 5, 0 }, last[B] = { 6, 2 };

typedef struct several {
    scene f;
    cla_ragged *question_rows, *passage_rows, *asked_rows;
} several;

static void open_several(several *s, reader_config config)
{
    scene_open(&s->f, "bidaf", config);
    s->question_rows = test_ragged(s->f.rt, B, questions, NULL);
    s->passage_rows = test_ragged(s->f.rt, P, passages, NULL);
    s->asked_rows = test_ragged(s->f.rt, B, asked, NULL);
    s->f.batch = (reader_batch){ .question_rows = s->question_rows,
                                 .passage_rows = s->passage_rows,
                                 .asked_rows = s->asked_rows,
                                 .asker = asker,
                                 .question = s->f.question,
                                 .passage = s->f.passage,
                                 .first = first,
                                 .last = last };
}

static void close_several(several *s)
{
    cla_ragged_free(&s->question_rows);
    cla_ragged_free(&s->passage_rows);
    cla_ragged_free(&s->asked_rows);
    scene_close(&s->f);
}

/* The words of all passages of a question have one distribution, from which the loss is
 * computed. */
Test(bidaf, all_passages_are_one_distribution)
{
    float at[2][SCENE_PASSAGES];
    double want = 0;
    several s;
    open_several(&s, (reader_config){ .depth = 2, .ham_q2c = true });
    scene_scores(&s.f, at);
    for (int b = 0, from = 0; b < B; from += asked[b++]) {
        for (int k = 0; k < 2; k++) {
            float sum = 0;
            for (int i = from; i < from + asked[b]; i++) {
                cr_assert_geq(at[k][i], 0);
                sum += at[k][i];
            }
            cr_assert_float_eq(sum, 1, 2e-6F);
        }
        want -= log((double)at[0][from + first[b]] + 1e-9) / B;
        want -= log((double)at[1][from + last[b]] + 1e-9) / B;
    }
    cr_assert_float_eq((double)scene_loss(&s.f), want, 1e-5);
    close_several(&s);
}

Test(bidaf, gradients_of_several_passages_are_differences)
{
    several s;
    open_several(&s, (reader_config){ .depth = 2, .ham_q2c = true });
    scene_check_gradient(&s.f);
    close_several(&s);
}

/* The published form has scores before a softmax, which is over all passages, too. */
Test(bidaf, gradients_of_the_published_form_are_differences)
{
    several s;
    open_several(&s, (reader_config){ .form = 1, .depth = 2 });
    scene_check_gradient(&s.f);
    close_several(&s);
}

/* With the third passage before the other two, the scores are in that order, too; those
 * of the other question do not change. */
Test(bidaf, passages_in_another_order_have_scores_in_that_order)
{
    static const int turned[P] = { 2, 4, 7, 8 };
    float a[2][SCENE_PASSAGES], b[2][SCENE_PASSAGES];
    several s;
    open_several(&s, (reader_config){ .depth = 2 });
    scene_scores(&s.f, a);
    cla_ragged *rows = test_ragged(s.f.rt, P, turned, NULL);
    int32_t words[SCENE_PASSAGES];
    memcpy(words, s.f.passage, sizeof words);
    memcpy(words, s.f.passage + 11, 2 * sizeof *words);
    memcpy(words + 2, s.f.passage, 11 * sizeof *words);
    s.f.batch.passage_rows = rows;
    s.f.batch.passage = words;
    scene_scores(&s.f, b);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < SCENE_PASSAGES; i++) {
            const int from = i >= 13 ? i : i < 2 ? i + 11 : i - 2;
            cr_assert_float_eq(b[k][i], a[k][from], 1e-6F, "%d: %g and %g", i,
                               (double)b[k][i], (double)a[k][from]);
        }
    }
    cla_tape_reset(s.f.tape);
    cla_ragged_free(&rows);
    close_several(&s);
}

/* Checks that each of three copies of a passage has the scores of the passage alone,
 * divided by share: 3 for probabilities, 1 for scores before the softmax (form 1). */
static void check_copies(int form, float share)
{
    enum { WORDS = 7 };
    static const int three[MANY] = { WORDS, WORDS, WORDS }, all = MANY * WORDS;
    static const int32_t one_asks[MANY] = { 0, 0, 0 };
    float a[2][SCENE_PASSAGES], b[2][SCENE_PASSAGES];
    int32_t words[SCENE_PASSAGES];
    scene f;
    scene_open(&f, "bidaf",
               (reader_config){ .form = form, .depth = 3, .ham_q2c = true });
    for (int i = 0; i < SCENE_PASSAGES; i++) {
        words[i] = f.passage[i % WORDS];
    }
    cla_ragged *question = test_ragged(f.rt, 1, questions, NULL);
    cla_ragged *alone = test_ragged(f.rt, 1, three, NULL);
    cla_ragged *copies = test_ragged(f.rt, MANY, three, NULL);
    cla_ragged *together = test_ragged(f.rt, 1, &all, NULL);
    f.batch = (reader_batch){ .question_rows = question,
                              .passage_rows = alone,
                              .question = f.question,
                              .passage = words };
    scene_scores(&f, a);
    f.batch.passage_rows = copies;
    f.batch.asked_rows = together;
    f.batch.asker = one_asks;
    scene_scores(&f, b);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < SCENE_PASSAGES; i++) {
            cr_assert_float_eq(share * b[k][i], a[k][i % WORDS], 2e-6F);
        }
    }
    cla_tape_reset(f.tape);
    cla_ragged_free(&question);
    cla_ragged_free(&alone);
    cla_ragged_free(&copies);
    cla_ragged_free(&together);
    scene_close(&f);
}

Test(bidaf, copies_of_a_passage_share_its_scores)
{
    check_copies(0, MANY);
    check_copies(1, 1);
}

/* Where each question has one passage, the code for several gives the same bits. */
Test(bidaf, one_passage_is_a_case_of_several)
{
    static const int32_t own[SCENE_B] = { 0, 1, 2 };
    float a[2][SCENE_PASSAGES], b[2][SCENE_PASSAGES];
    scene f;
    scene_open(&f, "bidaf", (reader_config){ .depth = 2 });
    scene_scores(&f, a);
    f.batch.asked_rows = f.passage_rows;
    f.batch.asker = own;
    scene_scores(&f, b);
    cr_assert(memcmp(a, b, sizeof a) == 0);
    scene_close(&f);
}

/* ---- refusals -------------------------------------------------------------------- */

Test(bidaf, other_networks_read_one_passage)
{
    static const int32_t own[SCENE_B] = { 0, 1, 2 };
    reader_scores scores;
    scene f;
    scene_open(&f, "match_lstm", (reader_config){ .depth = 1 });
    f.batch.asked_rows = f.passage_rows;
    f.batch.asker = own;
    TEST_FAILS(cla_reader_score(&f.r, f.tape, &scores, &f.batch), CLA_E_USAGE,
               "match_lstm reads one passage a question");
    scene_close(&f);
}

static cla_status configure(const char *network, int passages_key)
{
    cla_config settings = { .values = json_pack("{s:s,s:i}", "network", network,
                                                "passages", passages_key),
                            .known = json_object() };
    reader_config config;
    TEST_OK(cla_strdup(&settings.path, "test"));
    const cla_status status = cla_reader_configure(&config, &settings);
    cla_config_fini(&settings);
    return status;
}

Test(bidaf, passages_are_checked)
{
    TEST_OK(configure("bidaf", 5));
    TEST_OK(configure("r_net", 1));
    TEST_FAILS(configure("bidaf", 0), CLA_E_INPUT, "passages");
    TEST_FAILS(configure("r_net", 2), CLA_E_INPUT,
               "passages is 2, and network 'r_net' reads one a question");
}
