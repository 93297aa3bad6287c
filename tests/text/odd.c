/* odd.c - files damaged at random: each reader accepts or rejects them, and accepted
 * files give consistent data. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "base/rng.h"
#include "support/support.h"
#include "text/dureader.h"
#include "text/poems.h"
#include "text/squad.h"
#include "text/textrank.h"
#include "text/vectors.h"

enum { ROUNDS = 400, MOST = 1024 };

static uint32_t pick(uint32_t round, uint32_t i, uint32_t below)
{
    const uint32_t counter[4] = { round, i, 0x6f646400, 0 };
    const uint32_t key[2] = { test_seed(), 0 };
    return cla_philox4x32(counter, key).v[0] % below;
}

/* Changes, removes, inserts or duplicates up to four bytes, or cuts the end off.
 * Returns the new size. */
static size_t damage(const char *text, size_t size, uint32_t round, char out[MOST])
{
    static const char bytes[] = "\"\\{}[],:\t\n\r 0-9.eE|ux\xFF\xE6\x98\xC2\x00\x7F";
    memcpy(out, text, size);
    for (uint32_t i = 0; i <= pick(round, 0, 4) && size > 2; i++) {
        const size_t at = pick(round, 4 * i + 1, (uint32_t)size - 1);
        const char byte = bytes[pick(round, 4 * i + 2, sizeof bytes - 1)];
        switch (pick(round, 4 * i + 3, 5)) {
        case 0:
            memmove(out + at, out + at + 1, size-- - at - 1);
            break;
        case 1:
            memmove(out + at + 1, out + at, size++ - at);
            out[at] = byte;
            break;
        case 2:
            memmove(out + at + 1, out + at, size++ - at);
            break;
        case 3:
            size = pick(round, 4 * i + 4, 8) ? size : at;
            break;
        default:
            out[at] = byte;
        }
    }
    return size;
}

static void check_span(const cla_span *s, const cla_span *before, size_t bytes)
{
    cr_assert(s->from < s->to && s->size > 0 && s->at >= 0);
    cr_assert_leq((size_t)(s->at + s->size), bytes);
    cr_assert(!before || (before->to <= s->from && before->at + before->size <= s->at));
}

static void check_text(const cla_reading *r, const cla_reading_text *t)
{
    cr_assert_lt(t->at + t->size, r->bytes.size);
    cr_assert_leq(t->first + t->count, r->words.count);
    for (size_t i = 0; i < t->count; i++) {
        const cla_span *word = &r->words.word[t->first + i];
        check_span(word, i ? word - 1 : NULL, t->size);
    }
}

static void check_reading(cla_reading *r)
{
    cla_text quote = { 0 };
    for (size_t i = 0; i < r->passage_count; i++) {
        check_text(r, &r->passages[i]);
        cr_assert_gt(r->passages[i].count, 0);
    }
    for (size_t i = 0; i < r->question_count; i++) {
        const cla_reading_question *q = &r->questions[i];
        check_text(r, &q->text);
        cr_assert(q->passage >= 0 && q->passages > 0);
        cr_assert_leq((size_t)(q->passage + q->passages), r->passage_count);
        cr_assert_leq((size_t)(q->answer + q->answers), r->answer_count);
        for (int32_t k = q->answer; k < q->answer + q->answers; k++) {
            const cla_reading_answer *a = &r->answers[k];
            cr_assert_lt(a->text.at, r->bytes.size);
            cr_assert(a->passage < 0 || (a->passage >= q->passage &&
                                         a->passage < q->passage + q->passages));
            cr_assert(a->passage < 0 || !cla_reading_quote(r, (size_t)a->passage,
                                                           a->first, a->last, &quote));
        }
    }
    cla_text_free(&quote);
    cla_reading_free(r);
}

static int taken, refused;

/* Returns whether a reader accepted a file; fails the test unless status is CLA_OK or
 * CLA_E_INPUT. */
static bool took(cla_status status)
{
    cr_assert(status == CLA_OK || status == CLA_E_INPUT, "%s", cla_error());
    taken += status == CLA_OK;
    refused += status != CLA_OK;
    return status == CLA_OK;
}

/* Reads a file and checks the result. */
typedef void try_file(const char *path);

static void try_all(const char *text, try_file *try)
{
    char path[] = "/tmp/clattn-odd-XXXXXX", bytes[MOST];
    close(mkstemp(path));
    cr_assert_lt(strlen(text) + 8, MOST);
    taken = refused = 0;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const size_t size = damage(text, strlen(text), round, bytes);
        FILE *file = fopen(path, "wb");
        cr_assert_not_null(file);
        cr_assert_eq(fwrite(bytes, 1, size, file), size);
        fclose(file);
        try(path);
    }
    unlink(path);
    cr_assert_eq(taken + refused, ROUNDS);
    cr_assert(taken > 0 && refused > 0, "%d taken, %d refused", taken, refused);
}

static void try_squad(const char *path)
{
    cla_reading r;
    cla_squad_counts counts;
    const cla_squad_options options = { .unanswered = true, .passage_limit = 9 };
    if (took(cla_squad_read(&r, path, &options, &counts))) {
        check_reading(&r);
    }
}

Test(odd, squad)
{
    try_all(
        "{\"data\": [{\"title\": \"t\", \"paragraphs\": [{\"context\": "
        "\"Caf\xC3\xA9 \xE6\x98\xA5\xE5\xA4\xA9, it's 3.5-4 o'clock \\u00e9\\n.\", "
        "\"qas\": [{\"id\": \"a\", \"question\": \"Who?\", \"answers\": [{\"text\": "
        "\"\xE6\x98\xA5\", \"answer_start\": 5}, {\"text\": \"it's\", "
        "\"answer_start\": 9}]}]}]}]}",
        try_squad);
}

static void try_dureader(const char *path)
{
    cla_reading r;
    cla_dureader_counts counts;
    const cla_dureader_options options = { .unanswered = true,
                                           .passages = 2,
                                           .passage_limit = 4,
                                           .question_limit = 2,
                                           .answer_limit = 2 };
    if (took(cla_dureader_read(&r, path, &options, &counts))) {
        check_reading(&r);
    }
}

Test(odd, dureader)
{
    try_all("{\"question_id\": 1, \"segmented_question\": [\"a\", \"b\"], \"answers\": "
            "[\"c d\"], \"segmented_answers\": [[\"c\", \"d\"]], \"documents\": "
            "[{\"is_selected\": true, \"segmented_paragraphs\": [[\"c\", "
            "\"\xE6\x98\xA5\", \"d\"], [\"e\"]]}, {\"is_selected\": false, "
            "\"segmented_paragraphs\": [[\"x\"]]}]}\n"
            "{\"question_id\": \"2\", \"segmented_question\": [\"f\"], "
            "\"documents\": [{\"segmented_paragraphs\": [[\"g\", \"h\"]]}]}\n",
            try_dureader);
    try_all(
        "{\"query_id\": 1, \"query\": \"a b?\", \"answers\": [\"c d\"], "
        "\"passages\": [{\"is_selected\": 1, \"passage_text\": \"c \xE6\x98\xA5 d\"}, "
        "{\"passage_text\": \"x\"}]}\n",
        try_dureader);
}

static void try_vectors(const char *path)
{
    cla_vectors v;
    if (took(cla_vectors_read(&v, path, NULL, 0))) {
        for (size_t i = 0; i < v.words.count * (size_t)v.dim; i++) {
            cr_assert(isfinite(v.value[i]));
        }
        cla_vectors_free(&v);
    }
}

Test(odd, vectors)
{
    try_all("3 2\nthe 0.5 -1\ncaf\xC3\xA9 1e-3 2\n. . 3 4\n", try_vectors);
}

static void check_poems(cla_poems *p)
{
    for (size_t i = 0; i < p->count; i++) {
        int32_t ids[8];
        const cla_vocab none = { 0 };
        for (int k = 0; k < CLA_POEM_LINES; k++) {
            const char *line = cla_poems_string(p, p->poem[i].line[k]);
            cr_assert_eq(cla_poems_ids(line, &none, ids, 8), (size_t)p->poem[i].length);
        }
    }
    cla_poems_free(p);
}

static void try_poems(const char *path)
{
    cla_poems p;
    if (took(cla_poems_read(&p, path, false))) {
        check_poems(&p);
    }
}

static void try_rows(const char *path)
{
    cla_poems p;
    if (took(cla_poems_read_keywords(&p, path, false))) {
        check_poems(&p);
    }
}

Test(odd, poems)
{
    try_all("tang\t王之渙\t登鸛雀樓\t"
            "白日依山盡|黃河入海流|欲窮千里目|更上一層樓\n"
            "a\tb\tc\t"
            "春眠不覺曉|處處聞啼鳥|夜來風雨聲|花落知多少\n",
            try_poems);
    try_all("白日依山盡\t白日\n黃河入海流\t海\n"
            "欲窮千里目\t千里\n更上一層樓\t樓\n"
            "春眠不覺曉\t春\n處處聞啼鳥\t鳥\n"
            "夜來風雨聲\t風\n花落知多少\t花\n",
            try_rows);
}

static void try_ranking(const char *path)
{
    cla_ranking r;
    if (took(cla_ranking_load(&r, path))) {
        for (size_t i = 1; i < r.words.count; i++) {
            cr_assert(r.score[i] <= r.score[i - 1]);
        }
        cla_ranking_free(&r);
    }
}

static void try_lexicon(const char *path)
{
    static const char text[] = "白日依山盡，ab \xE6\xFF黃河";
    cla_lexicon l;
    cla_words w = { 0 };
    if (took(cla_lexicon_read(&l, path))) {
        cr_assert_eq(cla_lexicon_cut(&l, text, sizeof text - 1, &w), CLA_OK);
        for (size_t i = 0; i < w.count; i++) {
            check_span(&w.word[i], i ? &w.word[i - 1] : NULL, sizeof text - 1);
        }
        cla_words_free(&w);
        cla_lexicon_free(&l);
    }
}

Test(odd, lists_of_words)
{
    try_all("人\t33.2\n山\t2e1\n白日\t1.5\nb c\t0.15\n", try_ranking);
    try_all("白日\n黃河\n\n海流\na\nb c\n", try_lexicon);
}
