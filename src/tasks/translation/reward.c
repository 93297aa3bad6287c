/* reward.c - rewards of a translation for policy gradients, and their figures in the
 * log. */
#include "tasks/translation/reward.h"

#include <math.h>

#include "clattn/hard.h"
#include "metrics/bleu.h"
#include "text/subwords.h"

static cla_status read_gates(policy_config *c, cla_config *s)
{
    static const char *const preds[] = { "teacher_argmax", "teacher_sample",
                                         "free_greedy", "free_sample", NULL };
    static const char *const baselines[] = { "none", "batch_mean", "learned", NULL };
    CLA_TRY(cla_config_choice(s, "pred", preds, &c->pred));
    CLA_TRY(cla_config_choice(s, "baseline", baselines, &c->baseline));
    CLA_TRY(cla_config_double(s, "w_rl", &c->weight, 0, 1e6));
    return cla_config_double(s, "entropy", &c->entropy, 0, 1e6);
}

static cla_status read_sequence(policy_config *c, cla_config *s)
{
    static const char *const baselines[] = { "none", "batch_mean", NULL };
    c->weight = 0.7;
    c->cross_entropy = 0.3;
    CLA_TRY(cla_config_choice(s, "baseline", baselines, &c->baseline));
    CLA_TRY(cla_config_double(s, "w_rl", &c->weight, 0, 1e6));
    return cla_config_double(s, "w_mle", &c->cross_entropy, 0, 1e6);
}

cla_status cla_policy_configure(policy_config *c, cla_config *s, bool hard)
{
    static const char *const losses[] = { "cross_entropy", "sequence", NULL };
    static const char *const keys[] = { "pred",    "w_rl",     "w_mle",
                                        "entropy", "baseline", NULL };
    int loss = 0;
    *c = (policy_config){ .weight = 1, .entropy = 1e-3 };
    CLA_TRY(cla_config_choice(s, "loss", losses, &loss));
    CLA_TRY(cla_config_know(s, keys));
    c->sequence = loss == 1;
    if (c->sequence && hard) {
        return cla_config_refuse(
            s, "loss",
            "is sequence, and cross is hard: gates have rewards of "
            "their own");
    }
    return c->sequence ? read_sequence(c, s) : hard ? read_gates(c, s) : CLA_OK;
}

/* ---- rewards ----------------------------------------------------------------- */

/* Returns the number of pieces before the first end. */
static int64_t length_of(const policy_text *text, int64_t sentence)
{
    const int32_t first = text->at[sentence], last = text->at[sentence + 1];
    int32_t i = first;
    while (i < last && text->id[i] != CLA_EOS) {
        i++;
    }
    return i - first;
}

static cla_status reward_one(const policy_text *reference, const policy_text *said,
                             int64_t sentence, double *scores, float *rewards,
                             double *whole)
{
    const int64_t references = length_of(reference, sentence);
    const int64_t n = length_of(said, sentence);
    const int32_t first = said->at[sentence];
    double before = 0;
    CLA_TRY(cla_prefix_bleu(reference->id + reference->at[sentence], (size_t)references,
                            said->id + first, (size_t)n, CLA_UNK, scores));
    for (int64_t t = 0; t < n; t++) {
        rewards[first + t] = (float)((scores[t] - before) * (double)references);
        before = scores[t];
    }
    for (int64_t t = n; t < said->at[sentence + 1] - first; t++) {
        rewards[first + t] = 0;
    }
    *whole += before;
    return CLA_OK;
}

cla_status cla_policy_rewards(const policy_text *reference, const policy_text *said,
                              int64_t sentences, float *rewards, double *whole)
{
    double *scores = NULL;
    cla_status status = CLA_OK;
    *whole = 0;
    CLA_TRY(cla_alloc(&scores, (size_t)said->at[sentences] + 1, sizeof *scores));
    for (int64_t s = 0; s < sentences && !status; s++) {
        status = reward_one(reference, said, s, scores, rewards, whole);
    }
    free(scores);
    *whole /= sentences ? (double)sentences : 1;
    return status;
}

/* Returns the number of pieces up to the first end, the end with them: to end is an
 * action, too. */
static int64_t actions_of(const policy_text *text, int64_t sentence)
{
    const int64_t n = length_of(text, sentence);
    return n + (n < text->at[sentence + 1] - text->at[sentence]);
}

/* Subtracts from each return the mean at its position over the sentences that have an
 * action there. */
static cla_status take_means(const policy_text *said, int64_t sentences, float *returns)
{
    int64_t longest = 0;
    double *sum = NULL;
    for (int64_t s = 0; s < sentences; s++) {
        const int64_t n = actions_of(said, s);
        longest = n > longest ? n : longest;
    }
    CLA_TRY(cla_alloc(&sum, 2 * (size_t)longest + 1, sizeof *sum));
    double *count = sum + longest;
    for (int64_t s = 0; s < sentences; s++) {
        for (int64_t t = 0; t < actions_of(said, s); t++) {
            sum[t] += (double)returns[said->at[s] + t];
            count[t]++;
        }
    }
    for (int64_t s = 0; s < sentences; s++) {
        for (int64_t t = 0; t < actions_of(said, s); t++) {
            returns[said->at[s] + t] -= (float)(sum[t] / count[t]);
        }
    }
    free(sum);
    return CLA_OK;
}

cla_status cla_policy_returns(const policy_text *said, int64_t sentences, int baseline,
                              float *rewards)
{
    for (int64_t s = 0; s < sentences; s++) {
        double left = 0;
        for (int32_t at = said->at[s + 1]; at-- > said->at[s];) {
            left += (double)rewards[at];
            rewards[at] = (float)left;
        }
    }
    return baseline == CLA_BASELINE_MEAN ? take_means(said, sentences, rewards)
                                         : CLA_OK;
}

void cla_policy_split(const policy_text *said, int64_t sentences, float *returns)
{
    for (int64_t s = 0; s < sentences; s++) {
        for (int32_t at = said->at[s]; at + 1 < said->at[s + 1]; at++) {
            returns[at] -= returns[at + 1];
        }
    }
}

/* ---- the log ----------------------------------------------------------------- */

void cla_policy_add_gates(policy_sums *sums, const float *scores, const float *gates,
                          int64_t count)
{
    enum { SATURATED = 8 };
    for (int64_t i = 0; i < count; i++) {
        const double s = fabs((double)scores[i]), tail = log1p(exp(-s));
        sums->open += (double)gates[i];
        sums->saturated += s > SATURATED;
        sums->entropy += tail + s * exp(-s - tail); // p and 1 - p have the same entropy
    }
    sums->gates += (double)count;
}

static void put(cla_metrics *m, const char *name, double sum, double weight)
{
    m->row[m->count].name = name;
    m->row[m->count++].value = weight > 0 ? sum / weight : 0;
}

void cla_policy_report(policy_sums *sums, cla_metrics *m)
{
    const policy_sums s = *sums;
    *sums = (policy_sums){ 0 };
    m->count = 0;
    if (s.steps <= 0) {
        return;
    }
    put(m, "reward", s.reward, s.steps);
    if (s.gates > 0) {
        put(m, "selected", s.open, s.gates);
        put(m, "saturated", s.saturated, s.gates);
        put(m, "entropy", s.entropy, s.gates);
    }
    put(m, "reward_ms", 1e3 * s.reward_s, s.steps);
    put(m, "wait_ms", 1e3 * s.wait_s, s.steps);
}
