/* signature.h - the operands of an operator as a text, with the letters of docs/ops.md.
 *
 *   "x:N,D gamma:D beta:D -> y:N,D"
 *   "table:V,D ids:N:i32 -> y:N,D"      whole numbers
 *   "x:in,out b?:out -> y:in,out"       b may be NULL
 *   "x:N,C w:3,C rows(N,B) -> y:N,C"    a batch of B sequences with N tokens in all
 *   "rows(N,B,T) -> map?:B,T,T"         T: the longest; map may be omitted
 *   "x:N,in w:in+n,4n -> y:N,n"         sums of letters, numbers and their products
 *   "a:... b:... -> y:..."              any shape, the same for all
 *   "q~:N,H,d -> o:N,H,d"               q may be columns of a wider tensor
 *   "x:N,in w^:in,out -> y:N,out"       w may be stored in fewer bits than floats
 *   "q:N,H,d r:G?,n,d -> o:N,H,d"       r is [G,n,d], or [n,d], then G is 0
 *
 * A size is a number, a letter, a sum, or * for any. Batches bind their letters first;
 * then the first operand with a letter binds it. The operands are in the order of the
 * operator's arguments. */
#pragma once

#include "tensor/tensor.h"

enum { CLA_OPERANDS = 12, CLA_LETTERS = 16, CLA_LETTER = 8 };

typedef struct cla_signature {
    const char *op, *text;
} cla_signature;

/* The sizes that letters are bound to. {0}: none yet. */
typedef struct cla_sizes {
    int rank; // of "..."; 0: unknown
    int64_t shape[4];
    int count;
    struct {
        char letter[CLA_LETTER];
        int64_t size;
    } of[CLA_LETTERS];
} cla_sizes;

typedef struct cla_operand {
    char name[16];
    char size[4][CLA_LETTER]; // padded with zeros
    int rank;                 // of rows 2 or 3: tokens, sequences, longest; of "..." 0
    cla_dtype dtype;
    bool optional, rows, output, columns, weights;
    bool lead; // the first size may be missing
} cla_operand;

/* The argument for an operand: a tensor or, if the signature says so, rows. */
typedef union cla_given {
    const cla_tensor *tensor;
    const cla_ragged *rows;
} cla_given;

/* Parses a signature and returns the number of operands; the outputs are the last.
 * Asserts that the signature is well formed. */
int cla_signature_read(const cla_signature *s, cla_operand operand[CLA_OPERANDS]);

/* Checks the argument of each input, in order, against the signature, and binds the
 * letters. Some may be bound in sizes before.
 * Errors: CLA_E_SHAPE ("layer_norm: gamma is [4], must be [3]"), CLA_E_USAGE ("x is
 * NULL", "rows is NULL"). */
cla_status cla_signature_check(const cla_signature *s, const cla_given *given,
                               cla_sizes *sizes);

/* Gives the shape of an operand, -1 for * and unbound letters, and returns its rank. */
int cla_operand_shape(const cla_operand *o, const cla_sizes *sizes, int64_t shape[4]);
/* Returns how many of the operand's sizes are missing in front of its shape: 0 or 1. */
int cla_operand_missing(const cla_operand *o, const cla_sizes *sizes);

/* Return the size of a letter, or -1; and bind a letter that is not bound. */
int64_t cla_sizes_get(const cla_sizes *sizes, const char *letter);
void cla_sizes_bind(cla_sizes *sizes, const char *letter, int64_t size);
