/* platform_locale_windows.c - numbers in the "C" locale, by Windows. */
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/locale.h"
#include "base/platform_windows.h"

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

static INIT_ONCE once = INIT_ONCE_STATIC_INIT;
static _locale_t c_locale;

static BOOL CALLBACK make_c_locale(INIT_ONCE *made, void *argument, void **context)
{
    (void)made, (void)argument, (void)context;
    c_locale = _create_locale(LC_ALL, "C");
    return TRUE;
}

bool cla_locale_number(const char *text, char **end, double *value)
{
    InitOnceExecuteOnce(&once, make_c_locale, NULL, NULL);
    if (!c_locale) return false;
    *value = _strtod_l(text, end, c_locale);
    return true;
}
