/* tokens.h - lines to the tokens that a metric counts, as whole numbers. */
#pragma once

#include "base/text.h"
#include "text/lines.h"

/* none: separated by blanks; 13a: mteval-v13a; intl: its international form (both as in
 * sacreBLEU); char: each character that is no blank. */
typedef enum cla_token_kind {
    CLA_TOKENS_NONE,
    CLA_TOKENS_13A,
    CLA_TOKENS_INTL,
    CLA_TOKENS_CHAR,
    CLA_TOKEN_KINDS
} cla_token_kind;

/* "none", "13a", "intl", "char". */
const char *cla_token_kind_name(cla_token_kind kind);

typedef struct cla_tokens {
    int32_t *id; // equal tokens of one tokenizer have equal numbers
    size_t count, cap;
} cla_tokens;

typedef struct cla_tokenizer cla_tokenizer;

/* Errors: CLA_E_NOMEM. */
cla_status cla_tokenizer_new(cla_tokenizer **out, cla_token_kind kind, bool lowercase);
void cla_tokenizer_free(cla_tokenizer **t);

/* The line's tokens with one blank between them. Errors: CLA_E_NOMEM. */
cla_status cla_tokenize(cla_tokenizer *t, const char *line, size_t size, cla_text *out);

/* Replaces what tokens holds. Errors: CLA_E_NOMEM. */
cla_status cla_tokenize_ids(cla_tokenizer *t, const char *line, size_t size,
                            cla_tokens *tokens);
void cla_tokens_free(cla_tokens *tokens);
