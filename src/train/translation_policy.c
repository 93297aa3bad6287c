/* translation_policy.c - training through gates: cross entropy, and the rewards of what
 * the model would have said.
 *
 * Cross entropy goes back as far as the gates first. While the device does that the
 * host counts the rewards; then the policy's gradient joins, and both go on. */
#include "train/translation.h"

/* The likeliest piece of each row. */
static cla_status predict(const translation *t, cla_tape *tape, int32_t *said)
{
    cla_tensor *likely = NULL, *id = NULL;
    CLA_TRY(cla_top_k(tape, &likely, &id, t->step.logits, 1));
    return cla_tensor_download(id, said);
}

static cla_status seed(cla_tape *tape, cla_tensor *loss, double share)
{
    const float value = (float)share;
    cla_tensor *weight = NULL;
    CLA_TRY(cla_tape_tensor(tape, &weight, CLA_F32, 1, (int64_t[]){ 1 }));
    CLA_TRY(cla_tensor_upload(weight, &value));
    return cla_tape_seed(tape, loss, weight);
}

/* Rewards of what was said, while the device works; then they are on it. */
static cla_status reward(translation *t, cla_tape *tape, const int32_t *said,
                         float *host, cla_tensor **rewards)
{
    const cla_pair_batch *ids = &t->step.ids;
    const policy_text reference = { ids->target, ids->target_offsets };
    const policy_text text = { said, ids->target_offsets };
    double whole = 0;
    const int64_t start = cla_time_ns();
    CLA_TRY(policy_rewards(&reference, &text, ids->pairs, host, &whole));
    const int64_t counted = cla_time_ns();
    CLA_TRY(cla_tape_tensor(tape, rewards, CLA_F32, 1, &ids->target_count));
    CLA_TRY(cla_tensor_upload(*rewards, host));
    t->sums.reward += whole;
    t->sums.steps += 1;
    t->sums.reward_s += (double)(counted - start) * 1e-9;
    t->sums.wait_s += (double)(cla_time_ns() - counted) * 1e-9;
    return CLA_OK;
}

/* The policy's loss, which goes back from where the other one waits. */
static cla_status reinforce(translation *t, cla_tape *tape, cla_tensor *rewards,
                            double share)
{
    cross_hard_pass *pass = &t->step.pass;
    cross_hard *layer = &t->model.decoder[t->config.layers - 1].hard;
    cla_tensor *loss = NULL, *expected = NULL;
    CLA_TRY(cross_hard_expect(layer, tape, &expected, pass));
    const cla_reinforce_options options = { .entropy = (float)t->policy.entropy,
                                            .baseline =
                                                (cla_baseline)t->policy.baseline,
                                            .learned = expected };
    CLA_TRY(cla_reinforce(tape, &loss, pass->scores, pass->gates, rewards,
                          t->step.target, t->step.source, &options));
    return seed(tape, loss, share * t->policy.weight);
}

static cla_status note_gates(translation *t)
{
    const cross_hard_pass *pass = &t->step.pass;
    const int64_t pairs = cla_tensor_size(pass->scores);
    float *scores = NULL;
    CLA_TRY(cla_alloc(&scores, 2 * (size_t)pairs + 1, sizeof *scores));
    cla_status status = cla_tensor_download(pass->scores, scores);
    status = status ? status : cla_tensor_download(pass->gates, scores + pairs);
    if (!status) {
        policy_add_gates(&t->sums, scores, scores + pairs, pairs);
    }
    free(scores);
    return status;
}

static cla_status go_back(translation *t, cla_tape *tape, cla_tensor *loss,
                          double share, int32_t *said, float *host)
{
    cla_tensor *rewards = NULL;
    CLA_TRY(predict(t, tape, said));
    CLA_TRY(seed(tape, loss, share));
    CLA_TRY(cla_tape_backward_to(tape, t->step.pass.mark));
    CLA_TRY(cla_runtime_flush(t->task.rt));
    CLA_TRY(reward(t, tape, said, host, &rewards));
    CLA_TRY(reinforce(t, tape, rewards, share));
    CLA_TRY(cla_tape_backward(tape));
    return note_gates(t);
}

cla_status translation_policy_backward(translation *t, cla_tape *tape, cla_tensor *loss,
                                       double share)
{
    const size_t rows = (size_t)t->step.ids.target_count;
    if (!t->config.coder.hard.on) {
        CLA_TRY(seed(tape, loss, share));
        return cla_tape_backward(tape);
    }
    int32_t *said = NULL;
    float *host = NULL;
    CLA_TRY(cla_alloc(&said, rows + 1, sizeof *said));
    cla_status status = cla_alloc(&host, rows + 1, sizeof *host);
    status = status ? status : go_back(t, tape, loss, share, said, host);
    free(host);
    free(said);
    return status;
}
