/* locale.h - "C" number formats for a while, whatever the program's locale is. */
#pragma once

#include <locale.h>

/* This thread's locale becomes "C"; give the result to cla_locale_leave. */
locale_t cla_locale_enter(void);
void cla_locale_leave(locale_t before);

/* The "C" locale itself, for the _l functions; (locale_t)0 when there is no memory. */
locale_t cla_locale_c(void);
