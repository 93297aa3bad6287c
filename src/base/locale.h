/* locale.h - "C" number formats for a section of code, in every locale. */
#pragma once

#include <locale.h>

/* Sets this thread's locale to "C". Returns the previous one, for cla_locale_leave. */
locale_t cla_locale_enter(void);
void cla_locale_leave(locale_t before);

/* Returns the "C" locale for the _l functions; (locale_t)0 when out of memory. */
locale_t cla_locale_c(void);
