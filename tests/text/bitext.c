/* bitext.c - pairs of lines and their batches. */
#include "text/bitext.h"

#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "text/buckets.h"

enum { MANY = 600 };

/* Lines that exist as long as the test. */
typedef struct paper {
    cla_line line[MANY];
    cla_lines lines;
} paper;

static void write_on(paper *p, const char *name, const char *const *texts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        p->line[i] = (cla_line){ texts[i], strlen(texts[i]) };
    }
    p->lines = (cla_lines){ .path = (char *)name, .line = p->line, .count = n };
}

static void learn(cla_subwords *s, const paper *p)
{
    cr_assert_eq(cla_subwords_learn(s, &p->lines, 1, true, 0), CLA_OK);
    cr_assert_eq(cla_subwords_count(s, &p->lines, 1, 0), CLA_OK);
}

Test(bitext, reads_pairs_and_passes_over_bad_ones)
{
    static char endless[20001];
    const char *en[] = { "ab", "", "a", "abcabc", " \t", "c\x01", endless, "b" };
    const char *de[] = { "b", "a", "", "c", "a", "ac", "a", "cab" };
    paper source, target;
    cla_subwords s;
    cla_bitext b;
    const cla_bitext_options options = { .max_pieces = 7, .source_eos = true };
    for (int i = 0; i < 20000; i++) {
        endless[i] = i % 2 ? ' ' : 'a';
    }
    write_on(&source, "x.en", en, 8);
    write_on(&target, "x.de", de, 8);
    learn(&s, &source);
    cr_assert_eq(cla_bitext_make(&b, &source.lines, &target.lines, &s, &s, &options),
                 CLA_OK, "%s", cla_error());
    cr_assert_eq(b.count, 4);
    cr_assert_eq(b.empty, 3);
    cr_assert_eq(b.too_long, 1);
    const int32_t line[] = { 1, 4, 6, 8 };
    cr_assert(memcmp(b.line, line, sizeof line) == 0);
    cr_assert_eq(b.source_at[1], 3); // a@@ b and the end
    cr_assert_eq(b.source[2], CLA_EOS);
    cr_assert_eq(b.target_at[1], 2);
    cr_assert_eq(b.target[1], CLA_EOS);
    cr_assert_eq(b.source_at[2] - b.source_at[1], 7);
    cla_bitext_free(&b);
    cla_subwords_free(&s);
}

Test(bitext, names_what_is_wrong)
{
    const char *en[] = { "ab", "b" }, *de[] = { "a", "" };
    paper source, target;
    cla_subwords s;
    cla_bitext b;
    cla_bitext_options options = { .max_pieces = 1 };
    write_on(&source, "x.en", en, 2);
    write_on(&target, "x.de", de, 1);
    learn(&s, &source);
    cr_assert_eq(cla_bitext_make(&b, &source.lines, &target.lines, &s, &s, &options),
                 CLA_E_INPUT);
    cr_assert_str_eq(cla_error(), "x.en:2: has no partner: x.de ends at line 1");
    write_on(&target, "x.de", de, 2);
    cr_assert_eq(cla_bitext_make(&b, &source.lines, &target.lines, &s, &s, &options),
                 CLA_E_INPUT);
    cr_assert_str_eq(cla_error(), "x.en: no pair is left: 1 with an empty side, 1 with "
                                  "more than 1 pieces");
    options.max_pieces = 0; // no limit
    cr_assert_eq(cla_bitext_make(&b, &source.lines, &target.lines, &s, &s, &options),
                 CLA_OK);
    cr_assert_eq(b.count, 1);
    cla_bitext_free(&b);
    cr_assert_eq(cla_bitext_read(&b, "/nowhere/x", "/nowhere/y", &s, &s, &options),
                 CLA_E_IO);
    cla_subwords_free(&s);
}

/* ---- batches ----------------------------------------------------------------- */

/* Makes pairs of 1 to 12 and 1 to 9 pieces. */
static void many(cla_bitext *b, cla_subwords *s)
{
    static const char a[] = "a a a a a a a a a a a a";
    static paper source, target;
    const cla_bitext_options options = { .max_pieces = 100 };
    for (size_t i = 0; i < MANY; i++) {
        source.line[i] = (cla_line){ a + 2 * (i * 7 % 12), 0 };
        target.line[i] = (cla_line){ a + 2 * (i * 5 % 9) + 6, 0 };
        source.line[i].size = strlen(source.line[i].text);
        target.line[i].size = strlen(target.line[i].text);
    }
    source.lines =
        (cla_lines){ .path = (char *)"s", .line = source.line, .count = MANY };
    target.lines =
        (cla_lines){ .path = (char *)"t", .line = target.line, .count = MANY };
    learn(s, &source);
    cr_assert_eq(cla_bitext_make(b, &source.lines, &target.lines, s, s, &options),
                 CLA_OK);
    cr_assert_eq(b->count, MANY);
}

static int64_t pieces(const int64_t *at, const cla_buckets *b, int64_t batch)
{
    int64_t sum = 0;
    for (int64_t i = b->first[batch]; i < b->first[batch + 1]; i++) {
        sum += at[b->pair[i] + 1] - at[b->pair[i]];
    }
    return sum;
}

Test(buckets, hold_each_pair_once_within_the_limit)
{
    cla_bitext text;
    cla_subwords s;
    cla_buckets b;
    many(&text, &s);
    for (int64_t tokens = 1; tokens <= 10000; tokens = 3 * tokens + 7) {
        char seen[MANY] = { 0 };
        int64_t full = 0;
        cr_assert_eq(cla_buckets_make(&b, &text, tokens, 3, 1), CLA_OK);
        cr_assert(b.first[0] == 0 && b.first[b.count] == MANY);
        for (int64_t k = 0; k < b.count; k++) {
            const int64_t n = b.first[k + 1] - b.first[k];
            const int64_t from = pieces(text.source_at, &b, k);
            const int64_t to = pieces(text.target_at, &b, k);
            cr_assert_geq(n, 1);
            cr_assert(n == 1 || (from <= tokens && to <= tokens));
            full += from > tokens - 13 || to > tokens - 13; // not another pair fits
        }
        cr_assert_geq(full, b.count - 1);
        for (int i = 0; i < MANY; i++) {
            cr_assert(!seen[b.pair[i]]++);
        }
        cla_buckets_free(&b);
    }
    cr_assert_eq(cla_buckets_make(&b, &text, 0, 3, 1), CLA_E_USAGE);
    cla_bitext_free(&text);
    cla_subwords_free(&s);
}

/* Equal seeds and epochs give the same batches, others do not. Pairs of similar length
 * are together. */
Test(buckets, depend_on_seed_and_epoch_alone)
{
    cla_bitext text;
    cla_subwords s;
    cla_buckets b, again, other;
    const uint32_t others[][2] = { { 4, 1 }, { 3, 2 } };
    many(&text, &s);
    cr_assert_eq(cla_buckets_make(&b, &text, 100, 3, 1), CLA_OK);
    cr_assert_eq(cla_buckets_make(&again, &text, 100, 3, 1), CLA_OK);
    cr_assert_eq(b.count, again.count);
    cr_assert(memcmp(b.pair, again.pair, MANY * sizeof *b.pair) == 0);
    cr_assert(memcmp(b.first, again.first, (size_t)b.count * sizeof *b.first) == 0);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(cla_buckets_make(&other, &text, 100, others[i][0], others[i][1]),
                     CLA_OK);
        cr_assert(memcmp(b.pair, other.pair, MANY * sizeof *b.pair) != 0);
        cla_buckets_free(&other);
    }
    for (int64_t k = 0; k < b.count; k++) {
        const int64_t *first = &b.pair[b.first[k]], *last = &b.pair[b.first[k + 1] - 1];
        const int64_t *at = text.target_at;
        cr_assert_leq(at[*last + 1] - at[*last] - (at[*first + 1] - at[*first]), 2);
    }
    cla_buckets_free(&b);
    cla_buckets_free(&again);
    cla_bitext_free(&text);
    cla_subwords_free(&s);
}

Test(buckets, pack_what_a_model_reads)
{
    const char *en[] = { "a b", "b" }, *de[] = { "b", "a b a" };
    paper source, target;
    cla_subwords s;
    cla_bitext text;
    cla_pair_batch b;
    const cla_bitext_options options = { .source_eos = false };
    const int64_t pair[] = { 1, 0 };
    write_on(&source, "x.en", en, 2);
    write_on(&target, "x.de", de, 2);
    learn(&s, &source);
    const int32_t i = cla_vocab_find(&s.vocab, "a"), j = cla_vocab_find(&s.vocab, "b");
    cr_assert_eq(cla_bitext_make(&text, &source.lines, &target.lines, &s, &s, &options),
                 CLA_OK);
    cr_assert_eq(cla_pair_batch_make(&b, &text, pair, 2), CLA_OK);
    const int32_t from[] = { j, i, j }, from_position[] = { 0, 0, 1 };
    const int32_t from_offsets[] = { 0, 1, 3 }, to_offsets[] = { 0, 4, 6 };
    const int32_t input[] = { -1, i, j, i, -1, j };
    const int32_t to[] = { i, j, i, CLA_EOS, j, CLA_EOS };
    const int32_t to_position[] = { 0, 1, 2, 3, 0, 1 };
    cr_assert(b.pairs == 2 && b.source_count == 3 && b.target_count == 6);
    cr_assert(memcmp(b.source, from, sizeof from) == 0);
    cr_assert(memcmp(b.source_position, from_position, sizeof from_position) == 0);
    cr_assert(memcmp(b.source_offsets, from_offsets, sizeof from_offsets) == 0);
    cr_assert(memcmp(b.input, input, sizeof input) == 0);
    cr_assert(memcmp(b.target, to, sizeof to) == 0);
    cr_assert(memcmp(b.target_position, to_position, sizeof to_position) == 0);
    cr_assert(memcmp(b.target_offsets, to_offsets, sizeof to_offsets) == 0);
    cla_pair_batch_free(&b);
    cla_bitext_free(&text);
    cla_subwords_free(&s);
}
