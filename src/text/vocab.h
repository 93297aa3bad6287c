/* vocab.h - a vocabulary: maps tokens to ids and back, in the order of addition.
 *
 * Its special tokens come first. No text reaches them: a word that is spelled as one is
 * a token like any other, with an id of its own. */
#pragma once

#include "base/text.h"

/* The first tokens of every vocabulary of text. */
enum { CLA_PAD, CLA_EOS, CLA_UNK, CLA_SPECIALS };
extern const char *const cla_special_names[CLA_SPECIALS];
bool cla_is_special_name(const char *token);

typedef struct cla_vocab {
    char **tokens;
    int64_t *counts;
    size_t count, cap, count_cap;
    uint32_t *slots; // open addressing: position + 1, 0 = free
    size_t slot_count;
    size_t specials; // the first tokens, which are in no slot
    // Tokens that an imported tokenizer finds anywhere in a text: the last of the
    // special ones and the last of all.
    size_t added_specials, added;
} cla_vocab;

void cla_vocab_free(cla_vocab *vocab);

/* Gives the id of token, which is added when new; adds count to its count. Errors:
 * CLA_E_NOMEM. */
cla_status cla_vocab_add(cla_vocab *vocab, const char *token, int64_t count, int *id);

/* Appends a special token, before all others. Rows of a table that have no token are
 * special tokens without a letter. Errors: CLA_E_NOMEM. */
cla_status cla_vocab_reserve(cla_vocab *vocab, const char *token);

/* Returns the id of token, never that of a special one, or -1. */
int cla_vocab_find(const cla_vocab *vocab, const char *token);

/* Sorts tokens, none of them special, by falling count, ties by order of addition, and
 * keeps the first `keep`. */
cla_status cla_vocab_keep_frequent(cla_vocab *vocab, size_t keep);

/* Fills an empty vocabulary with the special tokens, then the tokens of counts that
 * occur min_count times or more, in falling order of counts; at most limit tokens in
 * all (0: any number). Leaves counts in that order. Errors: CLA_E_NOMEM. */
cla_status cla_vocab_take(cla_vocab *vocab, cla_vocab *counts, int64_t min_count,
                          size_t limit);

/* Returns the id of token, or CLA_UNK when it is not there. */
int cla_vocab_number(const cla_vocab *vocab, const char *token);

/* Returns the bytes of the longest added token at the start of text, and its id; 0 if
 * there is none. */
size_t cla_vocab_added(const cla_vocab *vocab, const char *text, size_t size, int *id);

/* Returns whether token is there or spells a special token. */
bool cla_vocab_spells(const cla_vocab *vocab, const char *token);

/* Write and read one token a line, in the order of ids; with escapes for line ends if a
 * token holds one, or if there are added tokens. A file without escapes has its special
 * tokens in its first lines, `specials` of them. Errors: CLA_E_IO, CLA_E_INPUT
 * (path:line: a duplicate token, an unknown escape), CLA_E_NOMEM. */
cla_status cla_vocab_text(const cla_vocab *vocab, cla_text *text);
cla_status cla_vocab_save(const cla_vocab *vocab, const char *path);
cla_status cla_vocab_load(cla_vocab *vocab, const char *path, size_t specials);
/* Reads the same from memory; path is for messages. */
cla_status cla_vocab_parse(cla_vocab *vocab, const char *path, const char *text,
                           size_t size, size_t specials);
