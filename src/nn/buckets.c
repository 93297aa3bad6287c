/* buckets.c - relative positions in buckets, as T5 has them. */
#include "nn/buckets.h"

#include <math.h>
#include <stdlib.h>

int cla_bucket_of(int distance, int count, int reach, bool both)
{
    const int buckets = both ? count / 2 : count, exact = buckets / 2;
    const int n = both ? abs(distance) : distance < 0 ? -distance : 0;
    const int first = both && distance > 0 ? buckets : 0;
    if (n < exact) {
        return first + n;
    }
    const float ratio = logf((float)n / (float)exact);
    const float whole = (float)log((double)reach / exact);
    const float part = ratio / whole * (float)(buckets - exact);
    const int far = exact + (part < (float)buckets ? (int)part : buckets);
    return first + (far < buckets ? far : buckets - 1);
}
