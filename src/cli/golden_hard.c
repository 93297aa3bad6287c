/* golden_hard.c - runs golden cases of hard attention and of its policy gradient. */
#include "cli/golden.h"

static cla_status projector(golden *g, cla_hard_projector *p,
                            const char *const names[4])
{
    CLA_TRY(golden_tensor(g, names[0], &p->w1));
    CLA_TRY(golden_tensor(g, names[1], &p->b1));
    CLA_TRY(golden_tensor(g, names[2], &p->w2));
    return golden_tensor(g, names[3], &p->b2);
}

static cla_status both_rows(golden *g, cla_ragged **q_rows, cla_ragged **k_rows)
{
    CLA_TRY(golden_rows(g, "q_offsets", q_rows));
    return golden_rows(g, "k_offsets", k_rows);
}

cla_status golden_hard_attention(golden *g)
{
    static const char *const names[3][4] = { { "dec_w1", "dec_b1", "dec_w2", "dec_b2" },
                                             { "enc_w1", "enc_b1", "enc_w2", "enc_b2" },
                                             { "val_w1", "val_b1", "val_w2",
                                               "val_b2" } };
    cla_tensor *from[3] = { NULL }, *row[3] = { NULL }; // of q, k, v
    cla_tensor *gates = NULL, *scores = NULL, *o = NULL;
    cla_ragged *q_rows = NULL, *k_rows = NULL;
    CLA_TRY(golden_tensor(g, "y", &from[0]));
    CLA_TRY(golden_tensor(g, "z", &from[1]));
    from[2] = from[1];
    CLA_TRY(golden_tensor(g, "beta", &gates));
    CLA_TRY(both_rows(g, &q_rows, &k_rows));
    for (int i = 0; i < 3; i++) {
        cla_hard_projector p = { .w1 = NULL };
        CLA_TRY(projector(g, &p, names[i]));
        CLA_TRY(cla_hard_project(golden_tape(g), &row[i], from[i], &p, false));
    }
    const cla_hard_options options = {
        .gate = CLA_GATE_GIVEN, .given = gates, .scale = 1, .scores = &scores
    };
    CLA_TRY(cla_hard_attention(golden_tape(g), &o, row[0], row[1], row[2], q_rows,
                               k_rows, &options));
    CLA_TRY(golden_output(g, "logits", scores));
    return golden_output(g, "o", o);
}

cla_status golden_reinforce(golden *g)
{
    cla_tensor *scores = NULL, *gates = NULL, *rewards = NULL, *loss = NULL;
    cla_ragged *q_rows = NULL, *k_rows = NULL;
    double entropy = 0;
    CLA_TRY(golden_double(g, "lambda", &entropy));
    const cla_reinforce_options options = { .entropy = (float)entropy };
    CLA_TRY(golden_tensor(g, "logits", &scores));
    CLA_TRY(golden_tensor(g, "beta", &gates));
    CLA_TRY(golden_tensor(g, "reward", &rewards));
    CLA_TRY(both_rows(g, &q_rows, &k_rows));
    CLA_TRY(cla_reinforce(golden_tape(g), &loss, scores, gates, rewards, q_rows, k_rows,
                          &options));
    return golden_output(g, "loss", loss);
}
