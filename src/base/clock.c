/* clock.c - the monotonic time, and the time of day. */
#include <time.h>

#include "base/base.h"

int64_t cla_time_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void cla_time_utc(char text[CLA_DATE_BYTES])
{
    struct tm parts;
    const time_t seconds = time(NULL);
    text[0] = '\0';
    if (gmtime_r(&seconds, &parts)) {
        strftime(text, CLA_DATE_BYTES, "%Y-%m-%dT%H:%M:%SZ", &parts);
    }
}
