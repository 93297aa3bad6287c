/* top_k.cl - the K classes of each row with the largest logits.
 *
 * Layout: x [N,V]; logp, id [N,K], 1 <= K <= V.
 * Work-group: WG items to a row.
 * Defines: WG, a power of two.
 * Numerics: log-softmax as cross_entropy.cl; ids do not depend on it.
 * Writes: logp and id whole. Each round takes the largest logit left, the first
 *         of equal ones, so equal logits keep the order of their classes. */
#ifndef WG
#define WG 64
#endif

// logp[k] = x[id[k]] - top - ln sum exp(x - top)
WORK_GROUP(WG, 1, 1)
kernel void top_k(global float *restrict logp, global int *restrict id,
                  global const float *restrict x, int columns, int k)
{
    local float scratch[WG];
    const int lid = LANE(0), row = GROUP(0);
    x += (size_t)row * columns;
    float top = SCORE_MIN, sum = 0.0f;
    for (int c = lid; c < columns; c += WG) {
        top = fmax(top, x[c]);
    }
    top = group_max(top, scratch, lid, WG);
    for (int c = lid; c < columns; c += WG) {
        sum += exp(x[c] - top);
    }
    const float log_sum = log(group_sum(sum, scratch, lid, WG));
    float last = INFINITY;
    int last_at = -1;
    for (int n = 0; n < k; n++) {
        float best = -INFINITY;
        int at = columns;
        for (int c = lid; c < columns; c += WG) {
            const bool left = x[c] < last || (x[c] == last && c > last_at);
            const bool first = left && (x[c] > best || at == columns);
            best = first ? x[c] : best;
            at = first ? c : at;
        }
        last = group_max(best, scratch, lid, WG);
        // Classes are below 2^24, so that a float holds them.
        last_at = -(int)group_max(best == last ? -(float)at : -(float)columns, scratch,
                                  lid, WG);
        if (lid == 0) {
            logp[(size_t)row * k + n] = last - top - log_sum;
            id[(size_t)row * k + n] = min(last_at, columns - 1); // NaN is never taken
        }
    }
}
