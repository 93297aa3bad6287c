/* foreign.h - which call of somebody else's code may end this process. */
#pragma once

#include "base/base.h"

/* Names the library whose calls follow, such as a driver; keeps a copy. */
void cla_foreign_library(const char *name);

/* Notes the call that may end the process (kept by the caller) from now on; NULL: none
 * does. Compilers of OpenCL drivers call exit() and abort(), some of them in threads of
 * their own, after the call that started them. */
void cla_foreign_enter(const char *call);

/* Calls again at each noted call, since compilers replace handlers of signals when they
 * first run. */
void cla_foreign_watch(void (*again)(void));

/* Fills words with "LIBRARY ended the process (CALL)" while a call is noted, else with
 * "". May be called by a handler of signals. */
void cla_foreign_last_words(char *words, size_t size);
