/* golden_kind.c - runs golden cases through an operator's kind; files name operands. */
#include <stdio.h>
#include <string.h>

#include "cli/golden.h"
#include "oracle/kind.h"

/* Reads an attribute: a number, or the index of a word in its choices. */
static cla_status attribute(const golden *g, const char *text, double *value)
{
    enum { WORDS = 4, WORD = 16 };
    char name[24], word[WORDS][WORD];
    const char *words[WORDS + 1] = { NULL };
    const int size = kind_name(text);
    snprintf(name, sizeof name, "%.*s", size, text);
    if (!cla_st_meta(golden_file(g), name)) { // an optional attribute
        *value = 0;
        return CLA_OK;
    }
    if (text[size] == '#') {
        int number = 0;
        CLA_TRY(golden_int(g, name, &number));
        *value = number;
        return CLA_OK;
    }
    const char *at = text + size + (text[size] == '?');
    if (*at != '=') {
        return golden_double(g, name, value);
    }
    for (int i = 0; i < WORDS && *at; i++) {
        const size_t length = strcspn(++at, "|");
        snprintf(word[i], WORD, "%.*s", (int)length, at);
        words[i] = word[i];
        at += length;
    }
    int chosen = 0;
    CLA_TRY(golden_choice(g, name, words, &chosen));
    *value = chosen;
    return CLA_OK;
}

/* Reads the batch of "rows" or "q_rows", which files call "offsets" or "q_offsets".
 * Self-attention has one batch for both. */
static cla_status rows(golden *g, const cla_operand *o, const cla_ragged **to)
{
    char name[32];
    cla_ragged *made = NULL;
    snprintf(name, sizeof name, "%.*soffsets", (int)strlen(o->name) - 4, o->name);
    CLA_TRY(golden_rows(g, golden_has(g, "in", name) ? name : "offsets", &made));
    *to = made;
    return CLA_OK;
}

/* Renames operands that files call by another name. */
static void rename_operands(const char *op, cla_operand *operand, int count)
{
    static const struct {
        const char *op, *operand, *file;
    } others[] = {
        { "ham_s", "out", "o" },
        { "ham_v", "out", "o" },
        { "position_attention", "absolute", "P" },
        { "position_attention", "relative", "R" },
        { "reinforce", "gates", "beta" },
        { "reinforce", "rewards", "reward" },
        { "reinforce", "scores", "logits" },
    };
    for (size_t n = 0; n < sizeof others / sizeof *others; n++) {
        for (int i = 0; i < count && !strcmp(op, others[n].op); i++) {
            if (!strcmp(operand[i].name, others[n].operand)) {
                snprintf(operand[i].name, sizeof operand[i].name, "%s", others[n].file);
            }
        }
    }
}

static cla_status input(golden *g, int i, op_call *c)
{
    const cla_operand *o = &golden_operands(g)[i]; // golden keeps a pointer to the name
    if (o->rows) {
        return rows(g, o, &c->rows[i]);
    }
    return o->optional ? golden_optional(g, o->name, &c->in[i])
                       : golden_tensor(g, o->name, &c->in[i]);
}

cla_status golden_kind(golden *g, const op_kind *kind)
{
    op_call c = { .sizes = { 0 } };
    cla_tensor *y[CLA_OPERANDS] = { NULL };
    const int count = cla_signature_read(kind->signature, golden_operands(g));
    for (int i = 0; i < KIND_ATTRIBUTES && kind->attribute[i]; i++) {
        CLA_TRY(attribute(g, kind->attribute[i], &c.attribute[i]));
    }
    cla_operand *operand = golden_operands(g);
    rename_operands(kind->signature->op, operand, count);
    int inputs = 0;
    for (; inputs < count && !operand[inputs].output; inputs++) {
        CLA_TRY(input(g, inputs, &c));
    }
    for (int i = inputs; i < count; i++) {
        c.wanted[i] = !operand[i].optional || golden_has(g, "out", operand[i].name);
    }
    CLA_TRY(kind->device(golden_tape(g), y, &c));
    for (int i = inputs; i < count; i++) {
        CLA_TRY(c.wanted[i] ? golden_output(g, operand[i].name, y[i - inputs])
                            : CLA_OK);
    }
    return CLA_OK;
}
