/* ham.c - hierarchical attention: over one memory, and of a sequence to itself.
 *
 * All levels over one memory take one launch, since queries are independent. If each
 * level is the memory of the next, each level takes a launch. */
#include "ops/ham.h"

#include <math.h>

#include "ops/attention_common.h"
#include "ops/product_group.h"
#include "ops/spread.h"
#include "tensor/signature.h"

/* Rows of a group: as in cl/rows_tile.clh; of four teams, as in cl/rows_group.clh. */
enum { RUN = 24, FEW_ROWS = 8, TEAMS = 4 };

typedef struct saved {
    cla_tensor *out, *q, *k, *c; // q and k may be the same
    const cla_ragged *q_rows, *k_rows;
    cla_memory places, grads; // as in cl/ham.clh
    float scale;
    bool self; // each level is the memory of the next
} saved;

/* ---- launches -------------------------------------------------------------------- */

/* Returns how many teams of items a group has. Where groups of CLA_TILE_ROWS rows leave
 * cores idle, there are four times as many, and their teams share the products. */
static int teams_of(cla_runtime *rt, const cla_ragged *rows)
{
    const int64_t groups = cla_tiles_down(rows->longest) * rows->sequences;
    const int64_t cores = cla_runtime_device(rt)->compute_units;
    return groups < cores * cla_tuned(rt, "ham", "GROUPS", 2) ? TEAMS : 1;
}

static int64_t runs_of(cla_runtime *rt, const cla_ragged *rows)
{
    const int64_t most = cla_tiled(rt)            ? RUN
                         : teams_of(rt, rows) > 1 ? FEW_ROWS
                                                  : CLA_TILE_ROWS;
    return cla_pieces(rows->longest, most);
}

/* Sets the group size and defines of a kernel of cl/rows_group.clh. */
static void group_launch(cla_runtime *rt, cla_launch *launch, const ham_args *args,
                         int teams)
{
    cla_tile_launch(rt, launch, 0, args->width % 4 == 0);
    if (teams > 1) {
        launch->define[2] = (cla_define){ "TEAMS", teams };
        launch->local[0] = CLA_TILE_ITEMS / 2;
        launch->local[1] = (size_t)teams;
    }
}

/* Returns the kernel arguments of a launch over all levels. */
static ham_args args_of(cla_tape *tape, const saved *s)
{
    const int32_t depth = (int32_t)s->c->shape[0];
    return (ham_args){
        .width = (int32_t)s->q->shape[1],
        .depth = depth,
        .last = depth,
        .queries = (int32_t)s->q->shape[0],
        .places = s->out->wants_grad || depth < 2 ? depth : 2,
        .train = s->out->wants_grad,
        .self = s->self,
        .runs = (int32_t)runs_of(cla_tape_runtime(tape), s->q_rows),
        .sequences = (int32_t)s->q_rows->sequences,
        .parts = 1,
        .scale = s->scale,
    };
}

static double pairs_of(const saved *s)
{
    double pairs = 0;
    for (int64_t b = 0; b < s->q_rows->sequences; b++) {
        pairs += (double)(s->q_rows->offsets[b + 1] - s->q_rows->offsets[b]) *
                 (double)(s->k_rows->offsets[b + 1] - s->k_rows->offsets[b]);
    }
    return pairs;
}

/* Queues a kernel over runs of rows, with this many products of rows for each pair of
 * a query and a key. */
static cla_status launch_runs(cla_tape *tape, const saved *s, const ham_args *args,
                              const cla_ragged *rows, int products, cla_launch *launch)
{
    cla_runtime *rt = cla_tape_runtime(tape);
    const bool tiled = cla_tiled(rt);
    launch->file = tiled ? "ham_tile" : launch->file;
    if (tiled) {
        launch->define[0] = (cla_define){ "VEC", cla_vector_width(rt) };
    } else {
        group_launch(rt, launch, args, teams_of(rt, rows));
    }
    launch->groups[0] = (size_t)runs_of(rt, rows);
    launch->groups[1] = (size_t)rows->sequences;
    launch->groups[2] = (size_t)args->parts;
    launch->flops =
        2.0 * products * (args->last - args->first) * pairs_of(s) * args->width;
    return launch->groups[0] && launch->groups[1] ? cla_enqueue(rt, launch) : CLA_OK;
}

static cla_status launch_forward(cla_tape *tape, const saved *s, const ham_args *args)
{
    cla_launch launch = {
        .file = "ham",
        .kernel = "ham_forward",
        .args = { cla_buf(s->out), cla_mem(&s->places), cla_buf(s->q), cla_buf(s->k),
                  cla_buf(s->c), cla_mem(&s->q_rows->device_offsets),
                  cla_mem(&s->k_rows->device_offsets), cla_bytes(args, sizeof *args) },
    };
    return launch_runs(tape, s, args, s->q_rows, 2, &launch);
}

static cla_status launch_queries(cla_tape *tape, const saved *s, const ham_args *args,
                                 const cla_tensor *dq, const cla_tensor *dy)
{
    cla_launch launch = {
        .file = "ham_backward",
        .kernel = "ham_back_queries",
        .args = { cla_buf(dq), cla_mem(&s->grads), cla_mem(&s->places), cla_buf(s->q),
                  cla_buf(s->k), cla_buf(s->c), cla_buf(dy),
                  cla_mem(&s->q_rows->device_offsets),
                  cla_mem(&s->k_rows->device_offsets), cla_bytes(args, sizeof *args) },
    };
    return launch_runs(tape, s, args, s->q_rows, 3, &launch);
}

static cla_status launch_keys(cla_tape *tape, const saved *s, const ham_args *args,
                              cla_arg dk)
{
    cla_launch launch = {
        .file = "ham_backward",
        .kernel = "ham_back_keys",
        .args = { dk, cla_mem(&s->grads), cla_mem(&s->places), cla_buf(s->q),
                  cla_buf(s->k), cla_mem(&s->q_rows->device_offsets),
                  cla_mem(&s->k_rows->device_offsets), cla_bytes(args, sizeof *args) },
    };
    return launch_runs(tape, s, args, s->k_rows, 4, &launch);
}

/* Returns into how many parts to cut the pairs of a level and a block of queries, which
 * a group of keys would go through one after another. They are cut where groups leave
 * cores idle, into as many parts as keep these busy; the parts' sums take at most 128
 * rows a core. */
static int32_t parts_of(cla_runtime *rt, const saved *s, const ham_args *args)
{
    enum { FEW = 2, GROUPS = 4 }; // groups of a core
    const int64_t cores = cla_runtime_device(rt)->compute_units;
    const int64_t pairs =
        (args->last - args->first) * cla_tiles_across(s->q_rows->longest);
    const int64_t groups = runs_of(rt, s->k_rows) * s->k_rows->sequences;
    if (cla_tiled(rt) || groups < 1 || groups >= FEW * cores || pairs < 2) {
        return 1;
    }
    const int64_t most = GROUPS * cores / groups, parts = most < pairs ? most : pairs;
    const int64_t each = cla_pieces(pairs, parts);
    return (int32_t)cla_pieces(pairs, each);
}

/* Queues the gradient of keys: to dk, or to that of the level before the first one of
 * this launch if each level is the memory of the next. */
static cla_status run_keys(cla_tape *tape, const saved *s, ham_args args,
                           const cla_tensor *dk)
{
    cla_runtime *rt = cla_tape_runtime(tape);
    const bool level = s->self && args.first;
    const int64_t count = s->k->shape[0] * args.width;
    cla_memory partial = { 0 };
    args.parts = parts_of(rt, s, &args);
    if (args.parts < 2) {
        return launch_keys(tape, s, &args, cla_buf(dk));
    }
    CLA_TRY(
        cla_tape_scratch(tape, &partial, (size_t)(args.parts * count) * sizeof(float)));
    CLA_TRY(launch_keys(tape, s, &args, cla_mem(&partial)));
    cla_launch launch = {
        .file = "ham_backward",
        .kernel = "ham_add_parts",
        .args = { level ? cla_mem(&s->grads) : cla_buf(dk), cla_mem(&partial),
                  cla_i32(level ? args.first - 1 : 0), cla_i32(count),
                  cla_i32(args.parts), cla_i32(args.mode == GRAD_ADD) },
    };
    group_launch(rt, &launch, &args, teams_of(rt, s->k_rows)); // the keys' program
    launch.groups[0] = (size_t)cla_pieces(
        count, (int64_t)launch.local[0] * (launch.local[1] ? launch.local[1] : 1));
    return cla_enqueue(rt, &launch);
}

cla_status cla_ham_weights(cla_tape *tape, cla_tensor *c, const cla_memory *grads,
                           ham_args args)
{
    cla_tensor *dc = NULL;
    const size_t runs = (size_t)args.runs * (size_t)args.sequences;
    const size_t partials = (size_t)args.depth * runs;
    CLA_TRY(cla_grad_out(tape, c, &dc, &args.mode));
    const cla_launch launch = {
        .file = "ham_weights",
        .kernel = "ham_weights",
        .define = { { "WG", CLA_WG }, { "DEPTH_MOST", CLA_HAM_DEPTH } },
        .groups = { 1 },
        .local = { CLA_WG },
        .args = { cla_buf(dc), cla_mem_some(grads, partials * sizeof(float)),
                  cla_buf(c), cla_bytes(&args, sizeof args) },
    };
    return dc ? cla_enqueue(cla_tape_runtime(tape), &launch) : CLA_OK;
}

/* ---- backward -------------------------------------------------------------------- */

/* Queues backward over one memory: all levels of the queries, then all of the keys. */
static cla_status backward_memory(cla_tape *tape, const saved *s, ham_args args,
                                  const cla_tensor *dy)
{
    cla_tensor *dq = NULL, *dk = NULL;
    CLA_TRY(cla_grad_out(tape, s->q, &dq, &args.mode));
    args.mode = dq ? args.mode : GRAD_SKIP;
    CLA_TRY(launch_queries(tape, s, &args, dq, dy));
    CLA_TRY(cla_grad_out(tape, s->k, &dk, &args.mode));
    return dk ? run_keys(tape, s, args, dk) : CLA_OK;
}

/* Queues backward from the last level to the first: the gradients of a level's queries
 * and keys add up to that of the previous level. */
static cla_status backward_self(cla_tape *tape, const saved *s, ham_args args,
                                const cla_tensor *dy)
{
    cla_tensor *dx = NULL;
    int first = GRAD_SKIP;
    CLA_TRY(cla_grad_out(tape, s->q, &dx, &first));
    first = dx ? first : GRAD_SKIP;
    for (int l = args.depth - 1; l >= 0; l--) {
        args.first = l;
        args.last = l + 1;
        args.mode = l ? GRAD_ADD : first;
        CLA_TRY(launch_queries(tape, s, &args, dx, dy));
        args.mode = GRAD_ADD;
        if (l || dx) {
            CLA_TRY(run_keys(tape, s, args, dx));
        }
    }
    return CLA_OK;
}

static cla_status backward(cla_tape *tape, void *bytes)
{
    saved *s = bytes;
    const cla_tensor *dy = cla_grad_in(s->out);
    const ham_args args = args_of(tape, s);
    const size_t runs = (size_t)args.runs * (size_t)args.sequences;
    const size_t each = (size_t)args.queries * ((size_t)args.width + 1) + runs;
    CLA_TRY(
        cla_tape_scratch(tape, &s->grads, (size_t)args.depth * each * sizeof(float)));
    CLA_TRY(s->self ? backward_self(tape, s, args, dy)
                    : backward_memory(tape, s, args, dy));
    return cla_ham_weights(tape, s->c, &s->grads, args);
}

/* ---- forward --------------------------------------------------------------------- */

cla_status cla_ham_check_weights(const char *who, const cla_tensor *c)
{
    CLA_TRY(cla_check_shape(who, "c", c, CLA_F32, 1, (int64_t[]){ -1 }));
    if (c->shape[0] < 1 || c->shape[0] > CLA_HAM_DEPTH) {
        return cla_fail(CLA_E_SHAPE, "%s: c is %s, depth must be 1 to %d", who,
                        cla_shape_text(c), CLA_HAM_DEPTH);
    }
    return CLA_OK;
}

const cla_signature cla_ham_v_signature = {
    "ham_v", "q:Nq,d k:Nk,d c:depth q_rows(Nq,B) k_rows(Nk,B) -> out:Nq,d"
};
const cla_signature cla_ham_s_signature = { "ham_s",
                                            "x:N,d c:depth rows(N,B) -> out:N,d" };

static cla_status forward(cla_tape *tape, const saved *s, ham_args args)
{
    if (!s->self) {
        return launch_forward(tape, s, &args);
    }
    for (int l = 0; l < args.depth; l++) {
        args.first = l;
        args.last = l + 1;
        CLA_TRY(launch_forward(tape, s, &args));
    }
    return CLA_OK;
}

static const cla_ham_options none = { 0 };

static cla_status run(cla_tape *tape, cla_tensor **out, saved s,
                      const cla_ham_options *options)
{
    CLA_TRY(cla_reserved("ham", options->reserved));
    s.scale = options->scale != 0 ? options->scale : 1 / sqrtf((float)s.q->shape[1]);
    CLA_TRY(cla_tape_tensor(tape, &s.out, CLA_F32, 2, s.q->shape));
    s.out->wants_grad = cla_tape_needs_grad(tape, 3, (cla_tensor *[]){ s.q, s.k, s.c });
    const ham_args args = args_of(tape, &s);
    const size_t row = (size_t)args.places * ((size_t)args.width + 2); // top, share
    CLA_TRY(
        cla_tape_scratch(tape, &s.places, (size_t)args.queries * row * sizeof(float)));
    CLA_TRY(forward(tape, &s, args));
    const cla_note end = { backward, &s, sizeof s, { s.q, s.k, s.c } };
    return cla_tape_give(tape, out, s.out, &end);
}

cla_status cla_ham_v(cla_tape *tape, cla_tensor **out, cla_tensor *q, cla_tensor *k,
                     cla_tensor *c, const cla_ragged *q_rows, const cla_ragged *k_rows,
                     const cla_ham_options *options)
{
    CLA_OP(tape, out, q, k, c, q_rows, k_rows);
    options = options ? options : &none;
    CLA_KNOWN("options.memory", options->memory, CLA_HAM_ORIGINAL);
    const saved s = { .q = q, .k = k, .c = c, .q_rows = q_rows, .k_rows = k_rows };
    CLA_TRY(cla_signature_check(
        &cla_ham_v_signature,
        (cla_given[]){ { q }, { k }, { c }, { .rows = q_rows }, { .rows = k_rows } },
        &(cla_sizes){ 0 }));
    CLA_TRY(cla_ham_check_weights("ham_v", c));
    return run(tape, out, s, options);
}

cla_status cla_ham_s(cla_tape *tape, cla_tensor **out, cla_tensor *x, cla_tensor *c,
                     const cla_ragged *rows, const cla_ham_options *options)
{
    CLA_OP(tape, out, x, c, rows);
    options = options ? options : &none;
    CLA_KNOWN("options.memory", options->memory, CLA_HAM_ORIGINAL);
    const saved s = { .q = x,
                      .k = x,
                      .c = c,
                      .q_rows = rows,
                      .k_rows = rows,
                      .self = options->memory == CLA_HAM_CURRENT };
    CLA_TRY(cla_signature_check(&cla_ham_s_signature,
                                (cla_given[]){ { x }, { c }, { .rows = rows } },
                                &(cla_sizes){ 0 }));
    CLA_TRY(cla_ham_check_weights("ham_s", c));
    return run(tape, out, s, options);
}
