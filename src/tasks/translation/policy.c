/* policy.c - policy gradients: for gates, from the output of the model with these gates
 * (Williams 1992); for the whole model, from its sampled output (loss "sequence"; Wu et
 * al. 2018, A Study of Reinforcement Learning for NMT).
 *
 * The host computes rewards while the device works, on the backward pass of the cross
 * entropy down to the gates or on the decoder's second pass over the output. */
#include "models/generate.h"
#include "tasks/translation/translation.h"

/* The output for the step's sources, and the reward of each piece. */
typedef struct said {
    generated text; // after the reference's prefixes: only id, in the target's rows
    int32_t *input, *position; // [rows] the text as input of the decoder
    float *earned;             // [rows] rewards or returns
    const cla_ragged *rows;    // owned by the tape
} said;

static void said_fini(said *s)
{
    cla_generated_free(&s->text);
    free(s->input);
    free(s->position);
    free(s->earned);
}

static int64_t rows_of(const said *s)
{
    return cla_ragged_tokens(s->rows);
}

static cla_status seed(cla_tape *tape, cla_tensor *loss, double share)
{
    const float value = (float)share;
    cla_tensor *weight = NULL;
    CLA_TRY(cla_tape_tensor(tape, &weight, CLA_F32, 1, (int64_t[]){ 1 }));
    CLA_TRY(cla_tensor_upload(weight, &value));
    return cla_tape_seed(tape, loss, weight);
}

/* ---- output ------------------------------------------------------------------ */

/* Chooses the likeliest piece, or samples one, after each prefix of the reference. */
static cla_status say_after_teacher(const translation *t, cla_tape *tape, said *s)
{
    cla_tensor *likely = NULL, *id = NULL;
    s->rows = t->step.target;
    CLA_TRY(cla_alloc(&s->text.id, (size_t)rows_of(s) + 1, sizeof *s->text.id));
    CLA_TRY(cla_alloc(&s->earned, (size_t)rows_of(s) + 1, sizeof *s->earned));
    CLA_TRY(t->policy.pred == POLICY_TEACHER_SAMPLE
                ? cla_multinomial(tape, &id, t->step.made.logits)
                : cla_top_k(tape, &likely, &id, t->step.made.logits, 1));
    return cla_tensor_download(id, s->text.id);
}

/* Makes the decoder's input from the output: the previous piece of each (-1: none) and
 * its position. */
static cla_status read_again(said *s, cla_runtime *rt, cla_tape *tape)
{
    const generated *g = &s->text;
    const size_t rows = (size_t)g->at[g->sentences];
    cla_ragged *ragged = NULL;
    CLA_TRY(cla_alloc(&s->input, rows + 1, sizeof *s->input));
    CLA_TRY(cla_alloc(&s->position, rows + 1, sizeof *s->position));
    CLA_TRY(cla_alloc(&s->earned, rows + 1, sizeof *s->earned));
    for (int64_t i = 0; i < g->sentences; i++) {
        for (int32_t at = g->at[i]; at < g->at[i + 1]; at++) {
            s->position[at] = at - g->at[i];
            s->input[at] = at > g->at[i] ? g->id[at - 1] : -1;
        }
    }
    CLA_TRY(cla_ragged_new(&ragged, rt, g->sentences, g->at));
    cla_tape_keep(tape, ragged);
    s->rows = ragged;
    return CLA_OK;
}

/* Generates the model's own output. Draws are keyed by the tape's seed and step. */
static cla_status say_alone(translation *t, cla_tape *tape, said *s)
{
    const cla_pair_batch *ids = &t->step.ids;
    const cla_stream key = cla_tape_stream(tape);
    const transformer_tokens source = { ids->source_count, ids->source,
                                        ids->source_position, t->step.source,
                                        t->first_source };
    const generate_options options = {
        .draw = t->policy.sequence || t->policy.pred == POLICY_FREE_SAMPLE,
        .draw_gates = true,
        .extra = TRANSLATION_TRAINING_EXTRA,
        .end = CLA_EOS,
        .seed = key.seed,
        .step = key.step,
    };
    CLA_TRY(
        cla_transformer_generate(&t->model, t->task.rt, &source, &options, &s->text));
    return read_again(s, t->task.rt, tape);
}

/* Computes the decoder's logits for the output, on the tape. */
static cla_status reread(translation *t, cla_tape *tape, const said *s,
                         cross_hard_pass *pass, cla_tensor **logits)
{
    const cla_pair_batch *ids = &t->step.ids;
    const transformer_batch batch = {
        .source = { ids->source_count, ids->source, ids->source_position,
                    t->step.source, t->first_source },
        .input = { rows_of(s), s->input, s->position, s->rows, t->first_target },
        .pass = pass,
    };
    return cla_transformer_logits(&t->model, tape, logits, t->step.made.memory, &batch);
}

/* ---- rewards ----------------------------------------------------------------- */

/* Computes what each piece earned: its reward, for "sequence" its return. A mean is
 * subtracted here, since cla_reinforce knows nothing of a translation's end. */
static cla_status count(const translation *t, const said *s, double *whole)
{
    const cla_pair_batch *ids = &t->step.ids;
    const policy_text reference = { ids->target, ids->target_offsets };
    const policy_text text = { s->text.id,
                               s->text.at ? s->text.at : ids->target_offsets };
    const bool sequence = t->policy.sequence;
    CLA_TRY(cla_policy_rewards(&reference, &text, ids->pairs, s->earned, whole));
    if (!sequence && t->policy.baseline != CLA_BASELINE_MEAN) {
        return CLA_OK;
    }
    CLA_TRY(cla_policy_returns(&text, ids->pairs, t->policy.baseline, s->earned));
    if (!sequence) {
        cla_policy_split(&text, ids->pairs, s->earned);
    }
    return CLA_OK;
}

/* Computes the rewards while the device works, then uploads them. */
static cla_status reward(translation *t, cla_tape *tape, const said *s,
                         cla_tensor **earned)
{
    const int64_t rows = rows_of(s);
    double whole = 0;
    CLA_TRY(cla_runtime_flush(t->task.rt));
    const int64_t start = cla_time_ns();
    CLA_TRY(count(t, s, &whole));
    const int64_t counted = cla_time_ns();
    CLA_TRY(cla_tape_tensor(tape, earned, CLA_F32, 1, &rows));
    CLA_TRY(cla_tensor_upload(*earned, s->earned));
    t->sums.reward += whole;
    t->sums.steps += 1;
    t->sums.reward_s += (double)(counted - start) * 1e-9;
    t->sums.wait_s += (double)(cla_time_ns() - counted) * 1e-9;
    return CLA_OK;
}

/* ---- gates ------------------------------------------------------------------- */

static cla_status note_gates(translation *t, const cross_hard_pass *pass)
{
    const int64_t pairs = cla_tensor_size(pass->scores);
    float *scores = NULL;
    CLA_TRY(cla_alloc(&scores, 2 * (size_t)pairs + 1, sizeof *scores));
    cla_status status = cla_tensor_download(pass->scores, scores);
    status = status ? status : cla_tensor_download(pass->gates, scores + pairs);
    if (!status) {
        cla_policy_add_gates(&t->sums, scores, scores + pairs, pairs);
    }
    free(scores);
    return status;
}

/* Computes the policy's loss from the pass's gates, on a tape whose steps after these
 * gates have run backward, and runs the others. */
static cla_status reinforce(translation *t, cla_tape *tape, cross_hard_pass *pass,
                            const said *s, double share)
{
    cross_hard *layer = &t->model.decoder[t->model.config.decoder_layers - 1].hard;
    cla_tensor *loss = NULL, *expected = NULL, *rewards = NULL;
    CLA_TRY(reward(t, tape, s, &rewards));
    CLA_TRY(cla_cross_hard_expect(layer, tape, &expected, pass));
    const cla_reinforce_options options = { .entropy = (float)t->policy.entropy,
                                            .baseline = expected ? CLA_BASELINE_LEARNED
                                                                 : CLA_BASELINE_NONE,
                                            .learned = expected };
    CLA_TRY(cla_reinforce(tape, &loss, pass->scores, pass->gates, rewards, s->rows,
                          t->step.source, &options));
    CLA_TRY(seed(tape, loss, share * t->policy.weight));
    CLA_TRY(cla_tape_backward(tape));
    return note_gates(t, pass);
}

/* Trains the gates of the pass that gave the cross entropy. */
static cla_status learn_after_teacher(translation *t, cla_tape *tape, cla_tensor *loss,
                                      double share, said *s)
{
    CLA_TRY(say_after_teacher(t, tape, s));
    CLA_TRY(seed(tape, loss, share));
    CLA_TRY(cla_tape_backward_to(tape, t->step.pass.mark));
    return reinforce(t, tape, &t->step.pass, s, share);
}

/* Returns the share for a mean over the output's pieces: like the cross entropy, the
 * policy's loss is divided by the number of target pieces. */
static double share_of(const translation *t, const said *s, double share)
{
    return share * (double)rows_of(s) / (double)t->step.ids.target_count;
}

/* Trains the gates that the model used for its own output. */
static cla_status learn_alone(translation *t, cla_tape *tape, cla_tensor *loss,
                              double share, said *s)
{
    cross_hard_pass pass = { 0 };
    cla_tensor *given = NULL, *logits = NULL;
    int64_t pairs = 0;
    CLA_TRY(say_alone(t, tape, s));
    const int32_t *from = t->step.ids.source_offsets;
    for (int64_t i = 0; i < s->text.sentences; i++) {
        pairs += (int64_t)(s->text.at[i + 1] - s->text.at[i]) * (from[i + 1] - from[i]);
    }
    CLA_TRY(cla_tape_tensor(tape, &given, CLA_F32, 1, &pairs));
    CLA_TRY(cla_tensor_upload(given, s->text.gates));
    pass.given = given;
    CLA_TRY(seed(tape, loss, share));
    CLA_TRY(reread(t, tape, s, &pass, &logits));
    CLA_TRY(cla_tape_backward_to(tape, pass.mark)); // these steps have no gradient
    return reinforce(t, tape, &pass, s, share_of(t, s, share));
}

/* ---- the whole model --------------------------------------------------------- */

static cla_status learn_sequence(translation *t, cla_tape *tape, cla_tensor *loss,
                                 double share, said *s)
{
    cla_tensor *logits = NULL, *ids = NULL, *returns = NULL, *rewarded = NULL;
    const policy_config *p = &t->policy;
    CLA_TRY(say_alone(t, tape, s));
    CLA_TRY(seed(tape, loss, share * p->cross_entropy));
    CLA_TRY(reread(t, tape, s, NULL, &logits));
    CLA_TRY(reward(t, tape, s, &returns));
    CLA_TRY(cla_tape_ids(tape, &ids, rows_of(s), s->text.id));
    CLA_TRY(cla_weighted_cross_entropy(tape, &rewarded, logits, ids, 0, returns));
    CLA_TRY(seed(tape, rewarded, share_of(t, s, share) * p->weight));
    return cla_tape_backward(tape);
}

cla_status cla_translation_policy_backward(translation *t, cla_tape *tape,
                                           cla_tensor *loss, double share)
{
    const policy_config *p = &t->policy;
    said s = { 0 };
    cla_status status = CLA_OK;
    if (p->sequence) {
        status = learn_sequence(t, tape, loss, share, &s);
    } else if (!t->config.coder.hard.on) {
        status = seed(tape, loss, share);
        status = status ? status : cla_tape_backward(tape);
    } else if (p->pred == POLICY_FREE_GREEDY || p->pred == POLICY_FREE_SAMPLE) {
        status = learn_alone(t, tape, loss, share, &s);
    } else {
        status = learn_after_teacher(t, tape, loss, share, &s);
    }
    said_fini(&s);
    return status;
}
