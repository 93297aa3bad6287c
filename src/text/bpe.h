/* bpe.h - words to pieces by byte pair encoding; rules and files of subword-nmt.
 *
 * A word is its characters, the last with "</w>" glued on. Learning merges the most
 * frequent pair of neighbours everywhere, again and again; of equally frequent pairs
 * the one that sorts last. Applying does the merges in the order they were learnt.
 * Pieces that do not end a word carry "@@". Sennrich, Haddow and Birch 2016; codes of
 * version 0.2. Lines are UTF-8 without line end, words have blanks (U+0020) between. */
#pragma once

#include "base/pairmap.h"
#include "base/text.h"
#include "text/vocab.h"

typedef struct cla_bpe {
    cla_vocab symbols;
    cla_pairmap rank;  // of a pair of symbols, by their ids
    int32_t(*merged);  // id that the merge of a rank makes
    size_t count, cap; // merges
} cla_bpe;

/* Adds the words of a line to their counts; a CR inside of a line parts words as well,
 * so that no merge has one. Errors: CLA_E_NOMEM. */
cla_status cla_bpe_count(cla_vocab *words, const char *line, size_t size);

/* Appends the file of at most merges merges, none of a pair rarer than min_count.
 * Errors: CLA_E_NOMEM. */
cla_status cla_bpe_learn(const cla_vocab *words, int64_t merges, int64_t min_count,
                         cla_text *codes);

/* Reads codes. Errors: CLA_E_IO, CLA_E_INPUT with path:line, CLA_E_NOMEM. */
cla_status cla_bpe_load(cla_bpe *bpe, const char *path);
cla_status cla_bpe_parse(cla_bpe *bpe, const char *path, char *data, size_t size);
void cla_bpe_free(cla_bpe *bpe);

/* Appends the pieces of a line, with blanks between them. Takes n log n steps for a
 * word of n characters. Errors: CLA_E_NOMEM, CLA_E_INPUT (a word of 2 GiB). */
cla_status cla_bpe_apply(const cla_bpe *bpe, const char *line, size_t size,
                         cla_text *out);

/* Appends the line whose pieces these are. Errors: CLA_E_NOMEM. */
cla_status cla_bpe_undo(const char *pieces, size_t size, cla_text *out);
