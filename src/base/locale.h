/* locale.h - "C" number formats for a section of code, in every locale. */
#pragma once

#include <stdbool.h>

/* Sets this thread's locale to "C". Returns the previous one, for cla_locale_leave. */
void *cla_locale_enter(void);
void cla_locale_leave(void *before);

/* Reads a number as strtod does in the "C" locale. Returns false without memory. */
bool cla_locale_number(const char *text, char **end, double *value);
