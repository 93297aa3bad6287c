/* clock.c - the monotonic time, and the time of day. */
#include <time.h>

#include "base/base.h"
#include "base/platform.h"

int64_t cla_time_ns(void)
{
    return cla_os_monotonic_ns();
}

void cla_time_utc(char text[CLA_DATE_BYTES])
{
    struct tm parts;
    const time_t seconds = time(NULL);
    text[0] = '\0';
    if (cla_os_utc(seconds, &parts)) {
        strftime(text, CLA_DATE_BYTES, "%Y-%m-%dT%H:%M:%SZ", &parts);
    }
}
