/* relative_spectrum.c - the definition of the table that a real spectrum stands for. */
#include <math.h>
#include <stdlib.h>

#include "oracle/oracle.h"

void oracle_relative_spectrum(double *table, const double *spectrum, int H, int t)
{
    for (int h = 0; h < H; h++, table += 2 * t, spectrum += 2 * t) {
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
