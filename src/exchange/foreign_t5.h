/* foreign_t5.h - the order of T5's rows in other programs. */
#pragma once

#include "exchange/foreign.h"

/* The pieces of SentencePiece, other tokens, rows without a token. */
typedef struct t5_layout {
    const foreign *f;
    int32_t *row; // [rows] the piece of clattn
    int64_t rows, numbered;
    int special[CLA_SPECIALS]; // their rows
    cla_text pieces;           // names of the first [numbered] rows, each with a NUL
    const char *pad;           // name of the row of padding, such as <s>
} t5_layout;

/* Makes the layout; cla_t5_layout_free frees it in any case. Errors: CLA_E_INPUT (a key
 * or a piece that T5 does not have), CLA_E_NOMEM. */
cla_status cla_t5_layout(t5_layout *l, const foreign *f);
void cla_t5_layout_free(t5_layout *l);
