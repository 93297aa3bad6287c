/* relative_spectrum.cl - a table of relative positions from its real spectrum.
 *
 * Layout: table and spectrum [H,2t], and their gradients; waves [2t].
 * Work-group: WG items, a number of the result each.
 * Defines: WG.
 * Numerics: f32 sums in order; angles are whole numbers until the cosine.
 * Writes: waves, table whole; dspectrum whole (added to when add). */
#ifndef WG
#define WG 64
#endif

// waves[a] = cos(2 pi a / 2t)
WORK_GROUP(WG, 1, 1)
kernel void relative_spectrum_waves(global float *restrict waves, int t)
{
    const int a = GROUP(0) * WG + LANE(0);
    if (a < 2 * t) {
        waves[a] = cospi((float)a / (float)t);
    }
}

// table[m] = 1/2t sum over k of spectrum[k] cos(2 pi k |m - t| / 2t), 0 for m = 0
WORK_GROUP(WG, 1, 1)
kernel void relative_spectrum_forward(global float *restrict table,
                                      global const float *restrict spectrum,
                                      global const float *restrict waves, int heads,
                                      int t)
{
    const int i = GROUP(0) * WG + LANE(0), m = i % (2 * t), distance = abs(m - t);
    if (i < heads * 2 * t) {
        float sum = 0.0f;
        for (int k = 0, angle = 0; k < 2 * t; k++) { // angle = k distance mod 2t
            sum += spectrum[i - m + k] * waves[angle];
            angle += distance;
            angle -= angle >= 2 * t ? 2 * t : 0;
        }
        table[i] = m ? sum / (float)(2 * t) : 0.0f;
    }
}

// dspectrum[k] (+)= 1/2t sum over m > 0 of dtable[m] cos(2 pi k |m - t| / 2t)
WORK_GROUP(WG, 1, 1)
kernel void relative_spectrum_backward(global float *restrict dspectrum,
                                       global const float *restrict dtable,
                                       global const float *restrict waves, int heads,
                                       int t, int add)
{
    const int i = GROUP(0) * WG + LANE(0), k = i % (2 * t);
    if (i < heads * 2 * t) {
        float sum = dtable[i - k + t];
        for (int n = 1, angle = k; n < t; n++) { // angle = k n mod 2t
            sum += (dtable[i - k + t + n] + dtable[i - k + t - n]) * waves[angle];
            angle += k;
            angle -= angle >= 2 * t ? 2 * t : 0;
        }
        sum /= (float)(2 * t);
        dspectrum[i] = add ? dspectrum[i] + sum : sum;
    }
}
