/* signature.h - the tensors of an operator, written as the rows of docs/ops.md are.
 *
 *   "x:N,D gamma:D beta:D -> y:N,D"
 *   "table:V,D ids:N:i32 -> y:N,D"      whole numbers
 *   "x:in,out b?:out -> y:in,out"       b may be NULL
 *   "x:N,C w:3,C rows(N,B) -> y:N,C"    a batch of B sequences with N tokens in all
 *   "rows(N,B,T) -> map?:B,T,T"         T: of the longest; the caller may not want map
 *   "x:N,in w:in+n,4n -> y:N,n"         sums of letters, numbers and their products
 *   "a:... b:... -> y:..."              any shape, the same for all
 *   "q~:N,H,d -> o:N,H,d"               q may be columns of a wider tensor
 *   "x:N,in w^:in,out -> y:N,out"       w may hold fewer bits than floats have
 *
 * A size is a number, a letter, a sum, or * for any. Batches are looked at first; then
 * the first operand with a letter says what it is. The order is that of the operator's
 * arguments. */
#pragma once

#include "tensor/tensor.h"

enum { CLA_OPERANDS = 12, CLA_LETTERS = 16, CLA_LETTER = 8 };

typedef struct cla_signature {
    const char *op, *text;
} cla_signature;

/* What letters stand for. {0}: nothing yet. */
typedef struct cla_sizes {
    int rank; // of "...", 0: not known
    int64_t shape[4];
    int count;
    struct {
        char letter[CLA_LETTER];
        int64_t size;
    } of[CLA_LETTERS];
} cla_sizes;

typedef struct cla_operand {
    char name[16];
    char size[4][CLA_LETTER]; // filled up with zeros
    int rank; // rows: 2 or 3, tokens, sequences and the longest; "...": 0
    cla_dtype dtype;
    bool optional, rows, output, columns, weights;
} cla_operand;

/* What a caller gives for an operand, as the signature says: a tensor, or rows. */
typedef union cla_given {
    const cla_tensor *tensor;
    const cla_ragged *rows;
} cla_given;

/* Reads a signature; gives the number of operands, of which the outputs are the last.
 * Asserts that it is well formed. */
int cla_signature_read(const cla_signature *s, cla_operand operand[CLA_OPERANDS]);

/* Compares what is given for each input, in order, with the signature, and binds the
 * letters; sizes may have some before.
 * Errors: CLA_E_SHAPE ("layer_norm: gamma is [4], must be [3]"), CLA_E_USAGE ("x is
 * NULL", "rows is NULL"). */
cla_status cla_signature_check(const cla_signature *s, const cla_given *given,
                               cla_sizes *sizes);

/* The shape of an operand; -1 where a letter is not bound. Gives its rank. */
int cla_operand_shape(const cla_operand *o, const cla_sizes *sizes, int64_t shape[4]);

/* The size of a letter, or -1. bind sets a letter that has none. */
int64_t cla_sizes_get(const cla_sizes *sizes, const char *letter);
void cla_sizes_bind(cla_sizes *sizes, const char *letter, int64_t size);
