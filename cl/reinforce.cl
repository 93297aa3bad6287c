/* reinforce.cl - policy gradients (REINFORCE) of gates that are open or shut.
 *
 * Layout: scores, gates: maps as hard_attention.clh; rewards, returns, advantage, cost,
 * learned [Nq]; loss [1].
 * Work-group: kernels of maps: WG items side by side along the keys of a query, grid
 * (the longest sequence's queries, B). returns: one item a sequence; advantage: one a
 * position; mean: one group in all; baseline: one item a query.
 * Defines: WG, a power of two.
 * Numerics: logarithms of probabilities by softplus, never of a rounded probability.
 * Writes: outputs whole; gradients are added to when add. */
#include "hard_attention.clh"

#ifndef WG
#define WG 64
#endif

#define BASELINE_NONE    0
#define BASELINE_MEAN    1
#define BASELINE_LEARNED 2

/* A score so far from 0 that s sigmoid(-s) is 0; so it is at infinity, too. */
#define FAR 110.0f

/* What a gate of score s takes from one exponential: the probabilities that it is open
 * and shut, sigmoid(s) and sigmoid(-s), and ln(1 + e^-|s|). */
typedef struct odds {
    float open, shut, excess;
} odds;

INLINE odds odds_of(float s)
{
    const float e = exp(-fabs(s)), likely = 1.0f / (1.0f + e), rare = e * likely;
    const odds o = { s < 0.0f ? rare : likely, s < 0.0f ? likely : rare, log1p(e) };
    return o;
}

// returns_t = sum of the rewards from t to the end of the sequence
WORK_GROUP(WG, 1, 1)
kernel void reinforce_returns(global float *restrict returns,
                              global const float *restrict rewards,
                              global const int *restrict q_offsets, int sequences)
{
    const int b = GROUP(0) * WG + LANE(0);
    if (b < sequences) {
        float sum = 0.0f;
        for (int n = q_offsets[b + 1] - 1; n >= q_offsets[b]; n--) {
            sum += rewards[n];
            returns[n] = sum;
        }
    }
}

// advantage_t = returns_t - b_t; b_t = 0, the mean over sequences that have a t, or
// learned_t
WORK_GROUP(WG, 1, 1)
kernel void reinforce_advantage(global float *restrict advantage,
                                global const float *restrict returns,
                                global const float *restrict learned,
                                global const int *restrict q_offsets, int sequences,
                                int longest, int baseline)
{
    const int t = GROUP(0) * WG + LANE(0), all = t < longest ? sequences : 0;
    float sum = 0.0f, count = 0.0f;
    for (int b = 0; b < (baseline == BASELINE_MEAN ? all : 0); b++) {
        const int n = q_offsets[b] + t;
        if (n < q_offsets[b + 1]) {
            sum += returns[n];
            count += 1.0f;
        }
    }
    const float mean = count > 0.0f ? sum / count : 0.0f;
    for (int b = 0; b < all; b++) {
        const int n = q_offsets[b] + t;
        if (n < q_offsets[b + 1]) {
            const float base = baseline == BASELINE_LEARNED ? learned[n] : mean;
            advantage[n] = returns[n] - base;
        }
    }
}

// cost_t = advantage_t ln pi_t + entropy H_t, minus advantage_t^2 if learned
WORK_GROUP(WG, 1, 1)
kernel void reinforce_rows(global float *restrict cost,
                           global const float *restrict scores,
                           global const float *restrict gates,
                           global const float *restrict advantage,
                           global const int *restrict q_offsets,
                           global const int *restrict k_offsets,
                           global const int *restrict maps, float entropy, int learned)
{
    local float scratch[WG];
    const pair p = pair_of(q_offsets, k_offsets, maps, GROUP(1));
    const int row = GROUP(0), keys = row < p.T ? p.S : 0, lid = LANE(0);
    const size_t at = p.map + (size_t)row * p.S;
    float policy = 0.0f, disorder = 0.0f;
    for (int j = lid; j < keys; j += WG) {
        const float s = scores[at + j], gate = gates[at + j], size = fabs(s);
        const odds o = odds_of(s);
        const float shut = fmax(s, 0.0f), open = gate * fmax(-s, 0.0f);
        policy -= o.excess + (gate == 0.0f ? shut : open + (1.0f - gate) * shut);
        disorder += o.excess + (size > FAR ? 0.0f : size * fmin(o.open, o.shut));
    }
    policy = group_sum(policy, scratch, lid, WG);
    disorder = group_sum(disorder, scratch, lid, WG);
    if (lid == 0 && row < p.T) {
        const float a = advantage[p.q_first + row];
        const float error = learned ? a * a : 0.0f;
        cost[p.q_first + row] = a * policy + entropy * disorder - error;
    }
}

// loss = -1/Nq sum of cost, 0 without a query
WORK_GROUP(WG, 1, 1)
kernel void reinforce_mean(global float *restrict loss,
                           global const float *restrict cost, int queries)
{
    local float scratch[WG];
    const int lid = LANE(0);
    float sum = 0.0f;
    for (int n = lid; n < queries; n += WG) {
        sum += cost[n];
    }
    sum = group_sum(sum, scratch, lid, WG);
    if (lid == 0) {
        loss[0] = queries ? -sum / (float)queries : 0.0f;
    }
}

// ds (+)= -dloss/Nq (advantage_t (gate - p) - entropy s p (1 - p))
WORK_GROUP(WG, 1, 1)
kernel void reinforce_backward(
    global float *restrict ds, global const float *restrict scores,
    global const float *restrict gates, global const float *restrict advantage,
    global const float *restrict dloss, global const int *restrict q_offsets,
    global const int *restrict k_offsets, global const int *restrict maps, int queries,
    float entropy, int add)
{
    const pair p = pair_of(q_offsets, k_offsets, maps, GROUP(1));
    const int row = GROUP(0), keys = row < p.T ? p.S : 0;
    const size_t at = p.map + (size_t)row * p.S;
    const float a = row < p.T ? advantage[p.q_first + row] : 0.0f;
    const float share = -dloss[0] / (float)queries;
    for (int j = LANE(0); j < keys; j += WG) {
        const float s = scores[at + j], gate = gates[at + j];
        const odds o = odds_of(s);
        const float policy = gate * o.shut - (1.0f - gate) * o.open; // gate - p
        const float spread = fabs(s) > FAR ? 0.0f : s * o.open * o.shut;
        const float g = share * (a * policy - entropy * spread);
        ds[at + j] = add ? ds[at + j] + g : g;
    }
}

// dlearned_t (+)= -2 dloss/Nq advantage_t, from the squared error alone
WORK_GROUP(WG, 1, 1)
kernel void reinforce_baseline(global float *restrict dlearned,
                               global const float *restrict advantage,
                               global const float *restrict dloss, int queries, int add)
{
    const int n = GROUP(0) * WG + LANE(0);
    if (n < queries) {
        const float g = -2.0f * dloss[0] / (float)queries * advantage[n];
        dlearned[n] = add ? dlearned[n] + g : g;
    }
}
