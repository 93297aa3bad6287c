/* kind.c - cases of an operator from its kind. */
#include "bench/kind.h"

#include <stdio.h>

#include "base/base.h"

static cla_status run_case(bench *b, const bench_table *t, kind_case *c, bench_op *op)
{
    const op_kind *kind = t->lines.kind;
    const kind_cost cost =
        kind->cost ? kind->cost(&c->call, op->backward) : (kind_cost){ 0 };
    op->flops = cost.flops;
    op->bytes = cost.bytes;
    op->inputs = c->inputs;
    op->context = c;
    for (int n = 0; n < c->inputs; n++) {
        const cla_operand *o = &c->operand[c->input[n]];
        op->in[n].rank = cla_operand_shape(o, &c->call.sizes, op->in[n].shape);
        op->in[n].scale = t->scale[c->input[n]];
        op->in[n].constant = t->constant && !strcmp(t->constant, o->name);
    }
    return bench_op_run(b, op);
}

static cla_status run_shape(bench *b, const bench_table *t, const bench_shape *shape,
                            bool backward)
{
    kind_case c = { 0 };
    bench_op op = {
        .suite = t->suite,
        .backward = backward,
        .forward = kind_case_device,
        .oracle = t->no_oracle ? NULL : kind_case_oracle,
    };
    snprintf(op.name, sizeof op.name, "%s %s %s", t->lines.kind->signature->op,
             backward ? "fwd+bwd" : "fwd", shape->name);
    if (!bench_wants(b, t->suite, op.name)) {
        return CLA_OK;
    }
    cla_status status = kind_case_open(&c, bench_runtime(b), &t->lines, shape->line);
    status = status ? status : run_case(b, t, &c, &op);
    kind_case_close(&c);
    return status;
}

cla_status bench_table_run(bench *b, const bench_table *t)
{
    for (int i = 0; t->shapes[i].name && !(bench_quick(b) && t->quick && i >= t->quick);
         i++) {
        const bool forward = strstr(t->shapes[i].line, "forward");
        for (int backward = 0; backward < (forward ? 1 : 2); backward++) {
            if (t->directions != (backward ? BENCH_FORWARD : BENCH_BACKWARD)) {
                CLA_TRY(run_shape(b, t, &t->shapes[i], backward));
            }
        }
    }
    return CLA_OK;
}
