/* vocab.h - tokens to whole numbers and back, in the order they were added. */
#pragma once

#include "base/text.h"

/* The first tokens of every vocabulary that numbers text. */
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

/* The id of token, added when new; its count grows by count. Errors: CLA_E_NOMEM. */
cla_status cla_vocab_add(cla_vocab *vocab, const char *token, int64_t count, int *id);

/* The id of token, or -1. */
int cla_vocab_find(const cla_vocab *vocab, const char *token);

/* Orders by falling count, ties by order of addition, and keeps the first keep. */
cla_status cla_vocab_keep_frequent(cla_vocab *vocab, size_t keep);

/* Fills an empty vocabulary: the special tokens, then what was counted, in falling
 * order of counts, at least min_count of each and at most limit tokens in all (0: any
 * number). counts is left in that order. Errors: CLA_E_NOMEM. */
cla_status cla_vocab_take(cla_vocab *vocab, cla_vocab *counts, int64_t min_count,
                          size_t limit);

/* The id of token in such a vocabulary; CLA_UNK when it is not there or spells a
 * special token. */
int cla_vocab_number(const cla_vocab *vocab, const char *token);

/* One token a line, in order of ids. Errors: CLA_E_IO, CLA_E_INPUT (a token twice: file
 * and
 * line), CLA_E_NOMEM. */
cla_status cla_vocab_text(const cla_vocab *vocab, cla_text *text);
cla_status cla_vocab_save(const cla_vocab *vocab, const char *path);
cla_status cla_vocab_load(cla_vocab *vocab, const char *path);
