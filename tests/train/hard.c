/* hard.c - training with gates: which parameters the two losses change, draws, learning
 * by heart, resuming. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "support/support.h"
#include "support/toy.h"

/* ---- one step's gradients ---------------------------------------------------- */

enum { SHOWN = 8 }; // pairs

/* All gradients after the losses of the first pairs, and the gates; drop frees both. A
 * parameter that no loss reached has zeros. */
typedef struct gradients {
    float *value, *gates;
    int64_t pairs;
} gradients;

static gradients step_of(toy *f, uint32_t step, bool whole)
{
    gradients g = { 0 };
    int64_t pair[SHOWN];
    cla_tensor *loss = NULL;
    cla_tape *tape = f->stepper.tape;
    for (int i = 0; i < SHOWN; i++) {
        pair[i] = i;
    }
    cla_params_clear_gradients(&f->task->params);
    cla_tape_reset(tape);
    cla_tape_random(tape, 1, step);
    f->task->kind->rows(f->task, pair, 0);
    TEST_OK(f->task->kind->loss(f->task, tape, pair, SHOWN, &loss));
    if (whole) {
        TEST_OK(f->task->kind->backward(f->task, tape, loss, 1));
    } else { // cross entropy alone
        TEST_OK(cla_tape_seed(tape, loss, NULL));
        TEST_OK(cla_tape_backward(tape));
    }
    TEST_OK(cla_params_fill_gradients(&f->task->params));
    const cla_memory *block = &f->task->params.gradients;
    g.value = malloc(block->bytes);
    TEST_OK(cla_memory_read(f->rt, block, 0, g.value, block->bytes));
    g.pairs = cla_tensor_size(f->t->step.pass.gates);
    g.gates = malloc((size_t)g.pairs * sizeof *g.gates);
    TEST_OK(cla_tensor_download(f->t->step.pass.gates, g.gates));
    return g;
}

static void drop(gradients *g)
{
    free(g->value);
    free(g->gates);
}

static bool is_policy(const cla_param *p)
{
    return strstr(p->name, "cross.query") || strstr(p->name, "cross.key");
}

/* Returns the largest gradient of the policy's parameters, or of all others. */
static double largest(const toy *f, const gradients *g, bool policy)
{
    double most = 0;
    for (size_t i = 0; i < f->task->params.count; i++) {
        const cla_param *p = &f->task->params.list[i];
        for (int64_t k = 0; is_policy(p) == policy && k < cla_size(p->tensor); k++) {
            const float x = g->value[p->offset / 4 + (size_t)k];
            most = test_larger(most, fabs((double)x));
        }
    }
    return most;
}

/* Returns whether two gradients have the same bits in all parameters whose name
 * contains part. */
static bool same(const toy *f, const gradients *a, const gradients *b, const char *part)
{
    bool equal = true;
    for (size_t i = 0; i < f->task->params.count; i++) {
        const cla_param *p = &f->task->params.list[i];
        equal = equal && (!strstr(p->name, part) ||
                          !memcmp(a->value + p->offset / 4, b->value + p->offset / 4,
                                  (size_t)cla_size(p->tensor) * 4));
    }
    return equal;
}

/* Cross entropy gives the policy no gradient, and rewards give none to the rest: the
 * encoder's gradient has the same bits with and without them, unless they are let
 * through. */
Test(hard, rewards_train_only_the_policy)
{
    toy f;
    toy_make(&f);
    toy_open(&f, NULL);
    gradients entropy = step_of(&f, 3, false), both = step_of(&f, 3, true);
    cr_assert_eq(largest(&f, &entropy, true), 0);
    cr_assert_gt(largest(&f, &entropy, false), 0);
    cr_assert_gt(largest(&f, &both, true), 0);
    cr_assert_arr_eq(entropy.gates, both.gates, (size_t)both.pairs * sizeof(float));
    for (size_t i = 0; i < f.task->params.count; i++) {
        const cla_param *p = &f.task->params.list[i];
        cr_assert(is_policy(p) || same(&f, &entropy, &both, p->name), "%s", p->name);
    }
    f.t->model.decoder[1].hard.config.stop = false;
    gradients on = step_of(&f, 3, true);
    cr_assert_not(same(&f, &entropy, &on, "encoder."));
    cr_assert_not(same(&f, &entropy, &on, "decoder.0"));
    cr_assert(same(&f, &entropy, &on, "decoder.1.cross.value"));
    drop(&entropy);
    drop(&both);
    drop(&on);
    toy_close(&f);
    toy_unmake(&f);
}

/* With every kind of prediction the two losses stay apart, and the same step gives the
 * same bits. */
Test(hard, every_pred_trains_only_the_policy)
{
    static const char *const preds[] = { "pred=teacher_sample", "pred=free_greedy",
                                         "pred=free_sample" };
    toy f;
    toy_make(&f);
    for (int k = 0; k < 3; k++) {
        toy_open(&f, (const char *const[]){ preds[k], "baseline=learned", NULL });
        gradients entropy = step_of(&f, 3, false), both = step_of(&f, 3, true),
                  again = step_of(&f, 3, true);
        cr_assert_gt(largest(&f, &both, true), 0);
        cr_assert_arr_eq(both.value, again.value, f.task->params.gradients.bytes);
        cr_assert(same(&f, &entropy, &both, "encoder."), "%s", preds[k]);
        cr_assert(same(&f, &entropy, &both, "decoder.0"), "%s", preds[k]);
        cr_assert_not(same(&f, &entropy, &both, "cross.baseline"));
        drop(&entropy);
        drop(&both);
        drop(&again);
        toy_close(&f);
    }
    toy_unmake(&f);
}

/* The same key draws the same gates and gives the same bits; another step does not. */
Test(hard, draws_by_seed_and_step)
{
    toy f;
    toy_make(&f);
    toy_open(&f, (const char *const[]){ "baseline=learned", NULL });
    gradients a = step_of(&f, 5, true), b = step_of(&f, 5, true),
              c = step_of(&f, 6, true);
    const size_t bytes = (size_t)a.pairs * sizeof(float);
    cr_assert_arr_eq(a.gates, b.gates, bytes);
    cr_assert_arr_eq(a.value, b.value, f.task->params.gradients.bytes);
    cr_assert_neq(memcmp(a.gates, c.gates, bytes), 0);
    for (int64_t i = 0; i < a.pairs; i++) {
        cr_assert(a.gates[i] == 0 || a.gates[i] == 1);
    }
    cr_assert_not(same(&f, &a, &c, "cross.baseline"));
    drop(&a);
    drop(&b);
    drop(&c);
    toy_close(&f);
    toy_unmake(&f);
}

/* Returns the number of pieces up to the first end of what the model thinks likeliest
 * after each prefix of pair i's target. */
static int64_t actions(const toy *f, int i, const float *logits, int64_t pieces)
{
    const int32_t *at = f->t->step.ids.target_offsets;
    int64_t n = 0, likeliest = 0;
    for (int32_t row = at[i]; row < at[i + 1] && (n == 0 || likeliest != CLA_EOS);
         row++, n++) {
        const float *of = logits + row * pieces;
        likeliest = 0;
        for (int64_t k = 1; k < pieces; k++) {
            likeliest = of[k] > of[likeliest] ? k : likeliest;
        }
    }
    return n;
}

/* With the mean as baseline, gates of positions behind the first end of the rewarded
 * translation get no gradient: they are no actions of it. Those before it do. */
Test(hard, nothing_is_earned_behind_the_end)
{
    toy f;
    toy_make(&f);
    toy_open(&f, (const char *const[]){ "baseline=batch_mean", "entropy=0", NULL });
    toy_train(&f, 20); // some translations are too short
    gradients g = step_of(&f, 3, true);
    const cla_tensor *made = f.t->step.made.logits, *scores = f.t->step.pass.scores;
    const cla_pair_batch *ids = &f.t->step.ids;
    const int64_t pieces = made->shape[1];
    float *logits = malloc((size_t)cla_size(made) * sizeof *logits);
    float *slope = malloc((size_t)g.pairs * sizeof *slope), *next = slope;
    TEST_OK(cla_tensor_download(made, logits));
    TEST_OK(cla_tensor_download(scores->grad, slope));
    int moved = 0, behind = 0;
    for (int i = 0; i < SHOWN; i++) {
        const int64_t keys = ids->source_offsets[i + 1] - ids->source_offsets[i];
        const int64_t rows = ids->target_offsets[i + 1] - ids->target_offsets[i];
        const int64_t own = actions(&f, i, logits, pieces);
        for (int64_t t = 0; t < rows; t++) {
            for (int64_t k = 0; k < keys; k++, next++) {
                moved += t < own && *next != 0;
                behind += t >= own;
                cr_assert(t < own || *next == 0, "pair %d, position %d: %g", i, (int)t,
                          (double)*next);
            }
        }
    }
    cr_assert(moved > 0 && behind > 0, "%d moved, %d behind", moved, behind);
    free(logits);
    free(slope);
    drop(&g);
    toy_close(&f);
    toy_unmake(&f);
}

/* ---- gates that are certain -------------------------------------------------- */

/* Adds `by` to all numbers of a parameter. */
static void shift(toy *f, const char *name, float by)
{
    const cla_param *p = cla_params_find(&f->task->params, name);
    cr_assert_not_null(p, "%s", name);
    const size_t bytes = (size_t)cla_size(p->tensor) * 4;
    float *x = malloc(bytes);
    const cla_memory *block = &f->task->params.values;
    TEST_OK(cla_memory_read(f->rt, block, p->offset, x, bytes));
    for (size_t i = 0; i < bytes / 4; i++) {
        x[i] += by;
    }
    TEST_OK(cla_memory_write(f->rt, block, p->offset, x, bytes));
    cla_params_changed(&f->task->params);
    free(x);
}

/* Returns the nats per piece of the training pairs with this kind of gate. */
static double nats(toy *f, cla_hard_gate gate)
{
    cla_metrics m;
    f->t->model.decoder[1].hard.config.gate = gate;
    TEST_OK(f->task->kind->evaluate(f->task, NULL, "train", &m));
    return m.row[1].value;
}

/* A change of the policy that opens and shuts no gate changes no bit of the loss. Where
 * every probability is 0 or 1, expected, drawn and threshold gates give the same
 * loss. */
Test(hard, certain_gates_agree)
{
    toy f;
    toy_make(&f);
    toy_open(&f, (const char *const[]){ "score_scale=one", NULL });
    f.t->model.decoder[1].hard.config.scaled = false;
    const double before = nats(&f, CLA_GATE_THRESHOLD);
    shift(&f, "decoder.1.cross.query.out_bias", 1e-5F);
    cr_assert_eq(nats(&f, CLA_GATE_THRESHOLD), before);
    cr_assert_neq(nats(&f, CLA_GATE_EXPECTED), before);
    shift(&f, "decoder.1.cross.query.out_bias", 30); // scores of +-32: all open or shut
    for (int sign = -1; sign <= 1; sign += 2) {
        shift(&f, "decoder.1.cross.key.out_bias", (float)sign * (sign > 0 ? 60 : 30));
        const double sure = nats(&f, CLA_GATE_THRESHOLD);
        cr_assert_float_eq(nats(&f, CLA_GATE_EXPECTED), sure, 1e-6);
        cr_assert_float_eq(nats(&f, CLA_GATE_SAMPLE), sure, 1e-6);
    }
    toy_close(&f);
    toy_unmake(&f);
}

/* ---- learning ---------------------------------------------------------------- */

Test(hard, learns_pairs_by_heart)
{
    toy f;
    toy_make(&f);
    toy_open(&f, NULL);
    toy_train(&f, 300);
    const double loss = nats(&f, CLA_GATE_THRESHOLD);
    cla_metrics said;
    f.task->kind->report(f.task, &said);
    cr_assert(loss < 0.05, "%g nats", loss);
    cr_assert_str_eq(said.row[0].name, "reward");
    cr_assert_str_eq(said.row[1].name, "selected");
    cr_assert(said.row[1].value > 0 && said.row[1].value < 1);
    toy_close(&f);
    toy_unmake(&f);
}

/* Trains for some epochs. Returns their mean reward. */
static double reward_of(toy *f, int epochs)
{
    cla_metrics said;
    f->task->kind->report(f->task, &said); // earlier rewards do not count
    toy_train(f, epochs);
    f->task->kind->report(f->task, &said);
    cr_assert_str_eq(said.row[0].name, "reward");
    return said.row[0].value;
}

/* Returns what the mean reward gains by training on rewards alone. */
static double reward_gained(const char *seed)
{
    toy f;
    toy_make(&f);
    toy_open(&f, (const char *const[]){ "cross=soft", "loss=sequence", "w_mle=0", seed,
                                        NULL });
    f.t->policy.sequence = false;
    toy_train(&f, 25); // partly learnt
    f.t->policy.sequence = true;
    f.stepper.optim.rates.lr *= 0.2;
    const double before = reward_of(&f, 5);
    toy_train(&f, 150);
    const double gained = reward_of(&f, 5) - before;
    toy_close(&f);
    toy_unmake(&f);
    return gained;
}

/* A run gains 0.10, give or take 0.06: the last bits of a processor decide which. */
Test(hard, sequences_earn_more)
{
    char seed[] = "seed=1";
    double gained = 0;
    for (; seed[5] <= '6'; seed[5]++) {
        gained += reward_gained(seed) / 6;
    }
    cr_assert(gained > 0.03, "%g", gained);
}

Test(hard, refuses_rewards_for_both)
{
    toy f;
    toy_make(&f);
    toy_settle(&f, (const char *const[]){ "loss=sequence", NULL });
    TEST_FAILS(cla_task_open(&f.task, f.rt, &f.settings, NULL, CLA_TASK_NEW),
               CLA_E_INPUT, "loss is sequence, and cross is hard");
    cla_config_fini(&f.settings);
    toy_unmake(&f);
}

/* Trains into folder/name, stopped after every step and resumed, or at one go. */
static void run(toy *f, const char *name, const char *const *extra, bool stopped)
{
    static const int stop = 1;
    char out[64];
    cla_train_result result = { .interrupted = true };
    snprintf(out, sizeof out, "%s/%s", f->folder, name);
    cla_train_options options = { .out = out,
                                  .quiet = true,
                                  .parallel = { .size = 1 },
                                  .signal = stopped ? &stop : NULL };
    for (int part = 0; result.interrupted; part++) {
        toy_settle(f, extra);
        options.resume = part > 0;
        TEST_OK(cla_train(f->rt, &f->settings, &options, &result));
        cr_assert_eq(result.step, stopped ? part + 1 : 5);
        cla_config_fini(&f->settings);
    }
    cr_assert_eq(result.step, 5);
}

static void read_file(const toy *f, const char *name, char **data, size_t *size)
{
    char path[96];
    snprintf(path, sizeof path, "%s/%s", f->folder, name);
    TEST_OK(cla_file_read(path, data, size));
}

static void check_resumes(const char *const *extra)
{
    toy f;
    char *whole = NULL, *parts = NULL;
    size_t whole_size = 0, parts_size = 0;
    toy_make(&f);
    run(&f, "whole", extra, false);
    run(&f, "parts", extra, true);
    read_file(&f, "whole/last.ckpt.safetensors", &whole, &whole_size);
    read_file(&f, "parts/last.ckpt.safetensors", &parts, &parts_size);
    cr_assert_eq(whole_size, parts_size);
    cr_assert_arr_eq(whole, parts, whole_size);
    free(whole);
    free(parts);
    toy_unmake(&f);
}

/* A run that is resumed after every step ends in the same bits, draws included. */
Test(hard, resumes_exactly)
{
    check_resumes((const char *const[]){ "steps=5", "eval_every=3", "log_every=2",
                                         "baseline=batch_mean", "dropout=0.1", NULL });
    check_resumes((const char *const[]){ "steps=5", "cross=soft", "loss=sequence",
                                         "dropout=0.1", NULL });
}
