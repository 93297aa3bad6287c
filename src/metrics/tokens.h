/* tokens.h - tokenizers of metrics: split lines into tokens and number these. */
#pragma once

#include "base/text.h"
#include "text/lines.h"

/* none: splits at blanks; 13a: mteval-v13a; intl: the international form, mteval-v14;
 * zh: each Chinese character is a token, the rest as 13a (all as in sacreBLEU); char:
 * each non-blank character is a token; ascii: splits at ASCII white space and
 * lower-cases ASCII letters only, as multi-bleu.perl; spaces: splits at each U+0020, so
 * that words may be empty and other blanks are part of them, as the MS COCO caption
 * scorer; its name is that of none. */
typedef enum cla_token_kind {
    CLA_TOKENS_NONE,
    CLA_TOKENS_13A,
    CLA_TOKENS_INTL,
    CLA_TOKENS_CHAR,
    CLA_TOKENS_ZH,
    CLA_TOKEN_KINDS, // the number of kinds above, which --tokenize names
    CLA_TOKENS_ASCII = CLA_TOKEN_KINDS,
    CLA_TOKENS_SPACES
} cla_token_kind;

/* "none", "13a", "intl", "char", "zh", "ascii". */
const char *cla_token_kind_name(cla_token_kind kind);

typedef struct cla_tokens {
    int32_t *id; // equal tokens of one tokenizer have equal ids
    size_t count, cap;
} cla_tokens;

typedef struct cla_tokenizer cla_tokenizer;

/* Creates a tokenizer. lowercase: lower-cases each line first, as Python's str.lower
 * (ascii: as Perl's lc of bytes). Errors: CLA_E_NOMEM. */
cla_status cla_tokenizer_new(cla_tokenizer **out, cla_token_kind kind, bool lowercase);
void cla_tokenizer_free(cla_tokenizer **t);

/* Sets out to the tokens of the line, separated by one blank; of spaces, to the line.
 * Errors: CLA_E_NOMEM. */
cla_status cla_tokenize(cla_tokenizer *t, const char *line, size_t size, cla_text *out);

/* Sets tokens to the ids of the line's tokens. Errors: CLA_E_NOMEM. */
cla_status cla_tokenize_ids(cla_tokenizer *t, const char *line, size_t size,
                            cla_tokens *tokens);
void cla_tokens_free(cla_tokens *tokens);
