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

bool cla_time_read(int64_t *seconds, const char *text)
{
    static const char form[] = "0000-00-00T00:00:00Z";
    int64_t part[7] = { 0 };
    int at = 0;
    for (int i = 0; form[i]; i++) {
        const bool digit = text[i] >= '0' && text[i] <= '9';
        if (form[i] == '0' ? !digit : text[i] != form[i]) {
            return false;
        }
        part[at] = digit ? 10 * part[at] + text[i] - '0' : part[at];
        at += !digit;
    }
    // years from March on, so that a leap day is the last of its year
    const int64_t year = part[0] - (part[1] < 3), month = (part[1] + 9) % 12;
    const int64_t days = 365 * year + year / 4 - year / 100 + year / 400 +
                         (153 * month + 2) / 5 + part[2];
    *seconds = ((days * 24 + part[3]) * 60 + part[4]) * 60 + part[5];
    return text[sizeof form - 1] == '\0';
}
