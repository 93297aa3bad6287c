/* reinforce.c - the definition of the gates' policy loss. */
#include <math.h>

#include "oracle/oracle.h"

void oracle_reinforce_returns(double *returns, const double *rewards,
                              const oracle_hard_shape *s)
{
    for (int b = 0; b < s->B; b++) {
        double sum = 0;
        for (int n = s->q_offsets[b + 1] - 1; n >= s->q_offsets[b]; n--) {
            sum += rewards[n];
            returns[n] = sum;
        }
    }
}

void oracle_reinforce_mean(double *mean, const double *returns,
                           const oracle_hard_shape *s)
{
    for (int b = 0; b < s->B; b++) {
        for (int n = s->q_offsets[b]; n < s->q_offsets[b + 1]; n++) {
            const int t = n - s->q_offsets[b];
            double sum = 0;
            int count = 0;
            for (int c = 0; c < s->B; c++) {
                if (s->q_offsets[c] + t < s->q_offsets[c + 1]) {
                    sum += returns[s->q_offsets[c] + t];
                    count++;
                }
            }
            mean[n] = sum / count;
        }
    }
}

double oracle_log_policy(const double *scores, const double *gates, int S)
{
    double sum = 0;
    for (int j = 0; j < S; j++) {
        sum -=
            gates[j] * log1p(exp(-scores[j])) + (1 - gates[j]) * log1p(exp(scores[j]));
    }
    return sum;
}

double oracle_gate_entropy(const double *scores, int S)
{
    double sum = 0;
    for (int j = 0; j < S; j++) {
        sum += log1p(exp(scores[j])) - scores[j] / (1 + exp(-scores[j]));
    }
    return sum;
}

double oracle_reinforce(const double *scores, const double *gates,
                        const double *advantage, const oracle_hard_shape *s,
                        double entropy)
{
    const int queries = s->q_offsets[s->B];
    double loss = 0;
    for (int b = 0; b < s->B; b++) {
        const int S = s->k_offsets[b + 1] - s->k_offsets[b];
        for (int n = s->q_offsets[b]; n < s->q_offsets[b + 1]; n++) {
            loss -= advantage[n] * oracle_log_policy(scores, gates, S) +
                    entropy * oracle_gate_entropy(scores, S);
            scores += S;
            gates += S;
        }
    }
    return queries ? loss / queries : 0;
}
