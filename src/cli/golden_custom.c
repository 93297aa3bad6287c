/* golden_custom.c - runs golden cases of attention with scores of expressions. */
#include <string.h>

#include "cli/golden.h"

/* Returns the expression of an attribute, or NULL when it is empty. */
static const char *expression(const golden *g, const char *key)
{
    const char *text = cla_st_meta(golden_file(g), key);
    return *text ? text : NULL;
}

/* Returns X for a tensor in.X or param.X that expressions may read, else NULL. */
static const char *input_name(const char *name)
{
    static const char *const others[] = { "q", "k", "v", "offsets" };
    const bool given = strncmp(name, "in.", 3) == 0 || strncmp(name, "param.", 6) == 0;
    const char *short_name = given ? strchr(name, '.') + 1 : NULL;
    for (size_t i = 0; i < sizeof others / sizeof *others && short_name; i++) {
        short_name = strcmp(short_name, others[i]) == 0 ? NULL : short_name;
    }
    return short_name;
}

static cla_status take_inputs(golden *g, cla_attention_mod *mod)
{
    const cla_st_file *file = golden_file(g);
    int n = 0;
    for (size_t i = 0; i < file->count; i++) {
        const char *name = input_name(file->tensors[i].name);
        if (name && n == CLA_CUSTOM_INPUTS) {
            return cla_fail(CLA_E_INPUT, "more than %d inputs", CLA_CUSTOM_INPUTS);
        }
        if (name) {
            CLA_TRY(golden_tensor(g, name, &mod->inputs[n].tensor));
            mod->inputs[n++].name = name;
        }
    }
    return CLA_OK;
}

cla_status golden_custom_attention(golden *g)
{
    cla_tensor *q = NULL, *k = NULL, *v = NULL, *o = NULL;
    cla_ragged *rows = NULL;
    cla_attention_mod mod = { .score = expression(g, "score"),
                              .mask = expression(g, "mask"),
                              .weight = expression(g, "weight") };
    CLA_TRY(golden_int(g, "window", &mod.window));
    CLA_TRY(golden_tensor(g, "q", &q));
    CLA_TRY(golden_tensor(g, "k", &k));
    CLA_TRY(golden_tensor(g, "v", &v));
    CLA_TRY(golden_rows(g, "offsets", &rows));
    CLA_TRY(take_inputs(g, &mod));
    CLA_TRY(cla_custom_attention(golden_tape(g), &o, q, k, v, rows, rows, &mod, NULL));
    return golden_output(g, "o", o);
}
