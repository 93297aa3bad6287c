/* treebank.c - the lengths of the sentences that come with the program. */
#include "bench/treebank.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

enum { SENTENCES = 2786 }; // as its README says, with 34972 words

/* reader bench_treebank: the bundled files alone. */
Test(treebank, knows_every_sentence)
{
    static int lengths[SENTENCES + 1];
    cr_assert(eq(int, bench_treebank_lengths(lengths, SENTENCES), CLA_OK));
    int words = 0, longest = 0;
    for (int i = 0; i < SENTENCES; i++) {
        cr_assert(lengths[i] >= 1);
        words += lengths[i];
        longest = lengths[i] > longest ? lengths[i] : longest;
    }
    cr_assert(eq(int, words, 34972));
    cr_assert(eq(int, longest, 130));
    cr_assert(eq(int, bench_treebank_lengths(lengths, SENTENCES + 1), CLA_E_INPUT));
}

Test(treebank, draws_from_all_of_it)
{
    int lengths[64], words = 0;
    cr_assert(eq(int, bench_treebank_lengths(lengths, 64), CLA_OK));
    for (int i = 0; i < 64; i++) {
        words += lengths[i];
    }
    cr_assert(words > 64 * 8 && words < 64 * 18, "mean of %d words", words / 64);
}
