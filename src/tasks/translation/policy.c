/* policy.c - training by rewards: of gates, by what the model would have
 * said with them (Williams 1992); of all, by what it says (loss "sequence"; Wu et al.
 * 2018, A Study of Reinforcement Learning for NMT).
 *
 * Rewards are counted on the host while the device works: cross entropy goes back as
 * far as the gates first, or what was said is read again. */
#include "models/generate.h"
#include "tasks/translation/translation.h"

/* What was said to the step's sources, and what each piece earned. */
typedef struct said {
    generated
        text; // of the model by itself; else only its pieces, in the target's rows
    int32_t *input, *position; // [rows] the text as a decoder reads it
    float *earned;             // [rows]
    const cla_ragged *rows;    // of the tape
} said;

static void said_fini(said *s)
{
    generated_free(&s->text);
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

/* ---- what is said ------------------------------------------------------------ */

/* After the reference's own pieces. */
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

/* The pieces that come before, and places. */
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

/* By itself. Draws are keyed by the tape's seed and step. */
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
    CLA_TRY(transformer_generate(&t->model, t->task.rt, &source, &options, &s->text));
    return read_again(s, t->task.rt, tape);
}

/* The decoder's scores of it, on the tape. */
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
    return transformer_logits(&t->model, tape, logits, t->step.made.memory, &batch);
}

/* ---- rewards ----------------------------------------------------------------- */

/* Counts what was earned while the device works, then puts it there. */
static cla_status reward(translation *t, cla_tape *tape, const said *s,
                         cla_tensor **earned)
{
    const cla_pair_batch *ids = &t->step.ids;
    const policy_text reference = { ids->target, ids->target_offsets };
    const policy_text text = { s->text.id,
                               s->text.at ? s->text.at : ids->target_offsets };
    const int64_t rows = rows_of(s);
    double whole = 0;
    CLA_TRY(cla_runtime_flush(t->task.rt));
    const int64_t start = cla_time_ns();
    CLA_TRY(policy_rewards(&reference, &text, ids->pairs, s->earned, &whole));
    if (t->policy.sequence) {
        CLA_TRY(policy_returns(&text, ids->pairs, t->policy.baseline, s->earned));
    }
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
        policy_add_gates(&t->sums, scores, scores + pairs, pairs);
    }
    free(scores);
    return status;
}

/* The policy's loss, which goes back from behind the pass's gates; then all does. */
static cla_status reinforce(translation *t, cla_tape *tape, cross_hard_pass *pass,
                            const said *s, double share)
{
    cross_hard *layer = &t->model.decoder[t->model.config.decoder_layers - 1].hard;
    cla_tensor *loss = NULL, *expected = NULL, *rewards = NULL;
    CLA_TRY(reward(t, tape, s, &rewards));
    CLA_TRY(cross_hard_expect(layer, tape, &expected, pass));
    const cla_reinforce_options options = { .entropy = (float)t->policy.entropy,
                                            .baseline =
                                                (cla_baseline)t->policy.baseline,
                                            .learned = expected };
    CLA_TRY(cla_reinforce(tape, &loss, pass->scores, pass->gates, rewards, s->rows,
                          t->step.source, &options));
    CLA_TRY(seed(tape, loss, share * t->policy.weight));
    CLA_TRY(cla_tape_backward(tape));
    return note_gates(t, pass);
}

/* The gates of the pass that cross entropy came from. */
static cla_status learn_after_teacher(translation *t, cla_tape *tape, cla_tensor *loss,
                                      double share, said *s)
{
    CLA_TRY(say_after_teacher(t, tape, s));
    CLA_TRY(seed(tape, loss, share));
    CLA_TRY(cla_tape_backward_to(tape, t->step.pass.mark));
    return reinforce(t, tape, &t->step.pass, s, share);
}

/* What share of the step's loss the mean over what was said has: both losses are
 * divided by the target's pieces. */
static double share_of(const translation *t, const said *s, double share)
{
    return share * (double)rows_of(s) / (double)t->step.ids.target_count;
}

/* The gates with which the model spoke by itself. */
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
    CLA_TRY(cla_tape_backward_to(tape, pass.mark)); // nothing flows there
    return reinforce(t, tape, &pass, s, share_of(t, s, share));
}

/* ---- all of the model -------------------------------------------------------- */

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

cla_status translation_policy_backward(translation *t, cla_tape *tape, cla_tensor *loss,
                                       double share)
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
