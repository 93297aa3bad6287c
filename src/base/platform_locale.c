/* platform_locale.c - numbers in the "C" locale, by POSIX. */
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/locale.h"
#include "base/platform_apple.h"

static locale_t c_locale;

static void make_c_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static locale_t the_c_locale(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_c_locale);
    return c_locale;
}

void *cla_locale_enter(void)
{
    return uselocale(the_c_locale()); // (locale_t)0 would change nothing
}

void cla_locale_leave(void *before)
{
    uselocale(before);
}

bool cla_locale_number(const char *text, char **end, double *value)
{
    const locale_t c = the_c_locale();
    if (!c) return false;
    *value = strtod_l(text, end, c);
    return true;
}
