/* platform_locale_windows.c - numbers in the "C" locale, by Windows. */
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/locale.h"

/* How this thread was when it entered; calls may be nested. */
static _Thread_local struct {
    int depth, mode;
    char *numbers;
} entry;

void *cla_locale_enter(void)
{
    if (entry.depth++ == 0) {
        entry.mode = _configthreadlocale(_ENABLE_PER_THREAD_LOCALE);
        const char *now = setlocale(LC_NUMERIC, NULL);
        entry.numbers = now && strcmp(now, "C") != 0 ? strdup(now) : NULL;
        if (entry.numbers) setlocale(LC_NUMERIC, "C");
    }
    return &entry;
}

void cla_locale_leave(void *before)
{
    (void)before;
    if (--entry.depth) return;
    if (entry.numbers) setlocale(LC_NUMERIC, entry.numbers);
    free(entry.numbers);
    entry.numbers = NULL;
    _configthreadlocale(entry.mode);
}

/* The runtime's own _strtod_l knows no hexadecimal numbers; strtod is that of C11. */
bool cla_locale_number(const char *text, char **end, double *value)
{
    void *const before = cla_locale_enter();
    *value = strtod(text, end);
    cla_locale_leave(before);
    return true;
}
