/* kind.c - runs cases of an operator from its kind. */
#include "bench/kind.h"

#include <stdio.h>

#include "base/base.h"

static cla_status run_case(bench *b, const bench_inputs *in, kind_case *c, bench_op *op)
{
    const kind_cost cost = c->kind->cost ? c->kind->cost(&c->call, op->backward)
                                         : (kind_cost){ .flops = 0 };
    op->flops = cost.flops;
    op->bytes = cost.bytes;
    op->inputs = c->inputs;
    op->context = c;
    for (int n = 0; n < c->inputs; n++) {
        const cla_operand *o = &c->operand[c->input[n]];
        op->in[n].rank = cla_operand_shape(o, &c->call.sizes, op->in[n].shape);
        op->in[n].scale = in->scale[c->input[n]];
    }
    return bench_op_run(b, op);
}

static cla_status run_direction(bench *b, const bench_shape *s, const bench_inputs *in,
                                bool backward)
{
    const kind_lines lines = { .op = s->op, .fill = in->fill };
    kind_case c = { 0 };
    bench_op op = {
        .suite = s->suite,
        .backward = backward,
        .forward = kind_case_device,
        .oracle = kind_case_oracle,
    };
    snprintf(op.name, sizeof op.name, "%s %s %s", s->op, backward ? "fwd+bwd" : "fwd",
             s->name);
    if (!bench_wants(b, s->suite, op.name)) {
        return CLA_OK;
    }
    cla_status status = kind_case_open(&c, bench_runtime(b), &lines, s->line);
    status = status ? status : run_case(b, in, &c, &op);
    kind_case_close(&c);
    return status;
}

cla_status bench_kind_run(bench *b, const bench_shape *s, const bench_inputs *inputs)
{
    const bench_inputs *in = inputs;
    if (bench_quick(b) && strstr(s->line, "full")) {
        return CLA_OK;
    }
    while (in->op && strcmp(in->op, s->op) != 0) {
        in++;
    }
    CLA_TRY(strstr(s->line, "train") ? CLA_OK : run_direction(b, s, in, false));
    return strstr(s->line, "forward") ? CLA_OK : run_direction(b, s, in, true);
}
