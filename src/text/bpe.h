/* bpe.h - byte pair encoding with the rules and file format of subword-nmt.
 *
 * A word starts as its characters, with "</w>" appended to the last. Learning merges
 * the most frequent adjacent pair everywhere and repeats; ties go to the pair that
 * sorts last. Applying performs the merges in the order they were learnt. A piece that
 * does not end a word has the suffix "@@". Lines are UTF-8 without a line end; blanks
 * (U+0020) separate words. Source: Sennrich, Haddow and Birch 2016; codes of version
 * 0.2. */
#pragma once

#include "base/pairmap.h"
#include "base/text.h"
#include "text/vocab.h"

typedef struct cla_bpe {
    cla_vocab symbols;
    cla_pairmap rank;  // of a pair of symbols, by their ids
    int32_t(*merged);  // [count] id of the symbol that each merge makes
    size_t count, cap; // merges
} cla_bpe;

/* Adds the words of a line to the counts in words. A CR inside a line also separates
 * words, so that no merge contains one. Errors: CLA_E_NOMEM. */
cla_status cla_bpe_count(cla_vocab *words, const char *line, size_t size);

/* Learns at most merges merges of pairs that occur min_count times or more and appends
 * their codes file. Errors: CLA_E_NOMEM. */
cla_status cla_bpe_learn(const cla_vocab *words, int64_t merges, int64_t min_count,
                         cla_text *codes);

/* Reads codes. Errors: CLA_E_IO, CLA_E_INPUT with path:line, CLA_E_NOMEM. */
cla_status cla_bpe_load(cla_bpe *bpe, const char *path);
cla_status cla_bpe_parse(cla_bpe *bpe, const char *path, char *data, size_t size);
void cla_bpe_free(cla_bpe *bpe);

/* Appends the pieces of a line, separated by blanks. A word of n characters takes
 * O(n log n) steps. Errors: CLA_E_NOMEM, CLA_E_INPUT (a word of 2 GiB). */
cla_status cla_bpe_apply(const cla_bpe *bpe, const char *line, size_t size,
                         cla_text *out);

/* Appends a merge of the symbols a and b to the symbol whole, which are any numbers of
 * the caller's; a repeated pair keeps its first rank. Errors: CLA_E_NOMEM. */
cla_status cla_bpe_add(cla_bpe *bpe, int32_t a, int32_t b, int32_t whole);

/* Merges pairs of the symbols id [*n] in place, each time that of the lowest rank, from
 * the left, in O(n log n) steps; a negative symbol is in no merge. *n becomes the
 * number of those that are left. Errors: CLA_E_NOMEM, CLA_E_INPUT (2^31 symbols). */
cla_status cla_bpe_merge(const cla_bpe *bpe, int32_t *id, size_t *n);

/* Joins pieces and appends the line. Errors: CLA_E_NOMEM. */
cla_status cla_bpe_undo(const char *pieces, size_t size, cla_text *out);
