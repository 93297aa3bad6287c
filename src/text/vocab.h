/* vocab.h - a vocabulary: maps tokens to ids and back, in the order of addition. */
#pragma once

#include "base/text.h"

/* The first tokens of every vocabulary of text. */
enum { CLA_PAD, CLA_EOS, CLA_UNK, CLA_SPECIALS };
extern const char *const cla_special_names[CLA_SPECIALS];

typedef struct cla_vocab {
    char **tokens;
    int64_t *counts;
    size_t count, cap, count_cap;
    uint32_t *slots; // open addressing: position + 1, 0 = free
    size_t slot_count;
} cla_vocab;

void cla_vocab_free(cla_vocab *vocab);

/* Gives the id of token, which is added when new; adds count to its count. Errors:
 * CLA_E_NOMEM. */
cla_status cla_vocab_add(cla_vocab *vocab, const char *token, int64_t count, int *id);

/* Returns the id of token, or -1. */
int cla_vocab_find(const cla_vocab *vocab, const char *token);

/* Sorts by falling count, ties by order of addition, and keeps the first `keep`. */
cla_status cla_vocab_keep_frequent(cla_vocab *vocab, size_t keep);

/* Fills an empty vocabulary with the special tokens, then the tokens of counts that
 * occur min_count times or more, in falling order of counts; at most limit tokens in
 * all (0: any number). Leaves counts in that order. Errors: CLA_E_NOMEM. */
cla_status cla_vocab_take(cla_vocab *vocab, cla_vocab *counts, int64_t min_count,
                          size_t limit);

/* Returns the id of token in a vocabulary with special tokens; CLA_UNK when it is not
 * there or spells a special token. */
int cla_vocab_number(const cla_vocab *vocab, const char *token);

/* Write and read one token a line, in the order of ids. Errors: CLA_E_IO, CLA_E_INPUT
 * (path:line: a duplicate token), CLA_E_NOMEM. */
cla_status cla_vocab_text(const cla_vocab *vocab, cla_text *text);
cla_status cla_vocab_save(const cla_vocab *vocab, const char *path);
cla_status cla_vocab_load(cla_vocab *vocab, const char *path);
