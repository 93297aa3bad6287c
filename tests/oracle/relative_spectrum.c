/* relative_spectrum.c - the definition of the table of a real spectrum. */
#include <math.h>
#include <stdlib.h>

#include "clattn/ops.h"
#include "oracle/kind.h"

extern const cla_signature cla_relative_spectrum_signature; // of the launcher

static cla_status device(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    return cla_relative_spectrum(tape, y, c->in[0]);
}

static void oracle(double *const *y, const op_call *c)
{
    const int t = kind_size(c, "t");
    const double *spectrum = c->x[0];
    double *table = y[0];
    for (int h = 0; h < kind_size(c, "H"); h++, table += 2 * t, spectrum += 2 * t) {
        table[0] = 0;
        for (int m = 1; m < 2 * t; m++) {
            table[m] = 0;
            for (int k = 0; k < 2 * t; k++) {
                const double angle = 3.141592653589793 * k * abs(m - t) / t;
                table[m] += spectrum[k] * cos(angle) / (2 * t);
            }
        }
    }
}

static const op_kind relative_spectrum_kind = {
    .signature = &cla_relative_spectrum_signature,
    .device = device,
    .oracle = oracle,
};

const op_kind *const relative_spectrum_kinds[] = { &relative_spectrum_kind, NULL };
