/* golden_ops.c - finds and runs the operator of a golden case. */
#include <stdio.h>
#include <string.h>

#include "cli/golden.h"

static const golden_op ops[] = {
    { "char_cnn", { NULL }, golden_char_cnn },
    { "custom_attention",
      { "score", "mask", "weight", "window" },
      golden_custom_attention },
    { "hard_attention", { NULL }, golden_hard_attention },
    { "matmul", { "transpose_a", "transpose_b" }, golden_matmul },
    { "reinforce", { "lambda" }, golden_reinforce },
};

static const golden_op *find(const char *name)
{
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        if (strcmp(name, ops[i].name) == 0) {
            return &ops[i];
        }
    }
    return NULL;
}

/* ---- attributes -------------------------------------------------------------- */

/* Returns whether attribute is key; choices may follow its name. */
static bool is(const char *attribute, const char *key)
{
    const size_t size = (size_t)kind_name(attribute);
    return strlen(key) == size && strncmp(attribute, key, size) == 0;
}

/* Checks the attributes of a case. names ends at a NULL or after count; a required one
 * must be in the file, and no other is allowed. */
static cla_status check_attributes(const golden *g, const char *op,
                                   const char *const *names, int count)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(golden_file(g)->metadata, key, value)
    {
        bool known = strcmp(key, "op") == 0;
        for (int i = 0; i < count && names[i] && !known; i++) {
            known = is(names[i], key);
        }
        if (!known) {
            return cla_fail(CLA_E_USAGE, "operator '%s' has no attribute '%s'", op,
                            key);
        }
    }
    for (int i = 0; i < count && names[i]; i++) {
        char name[32];
        snprintf(name, sizeof name, "%.*s", kind_name(names[i]), names[i]);
        if (!cla_st_meta(golden_file(g), name) &&
            names[i][kind_name(names[i])] != '?') {
            return cla_fail(CLA_E_USAGE, "operator '%s' needs the attribute '%s'", op,
                            name);
        }
    }
    return CLA_OK;
}

/* ---- the operator of a case -------------------------------------------------- */

static cla_status run_optimiser(golden *g, const cla_optimiser *o)
{
    const char *attributes[4 + CLA_OPTIMISER_DECAYS] = { "lr" };
    int count = 1;
    if (o->usual.epsilon > 0) {
        attributes[count++] = "eps";
    }
    if (o->usual.weight_decay > 0) {
        attributes[count++] = "weight_decay";
    }
    for (int i = 0; i < CLA_OPTIMISER_DECAYS && o->decay[i]; i++) {
        attributes[count++] = o->decay[i];
    }
    CLA_TRY(check_attributes(g, o->signature.op, attributes, count));
    return golden_optimiser(g, o);
}

cla_status golden_run_op(golden *g)
{
    const char *name = cla_st_meta(golden_file(g), "op");
    if (!name) {
        return cla_fail(CLA_E_INPUT, "no operator is named in the metadata");
    }
    const golden_op *op = find(name);
    const op_kind *kind = op_kind_find(name);
    const cla_optimiser *optimiser = cla_optimiser_named(name);
    if (op) {
        CLA_TRY(check_attributes(g, name, op->attributes, GOLDEN_ATTRIBUTES));
        return op->run(g);
    }
    if (kind) {
        CLA_TRY(check_attributes(g, name, kind->attribute, KIND_ATTRIBUTES));
        return golden_kind(g, kind);
    }
    return optimiser ? run_optimiser(g, optimiser)
                     : cla_fail(CLA_E_USAGE, "unknown operator '%s'", name);
}
