/* memory.h - makes allocations of Jansson fail. */
#pragma once

#include <stdbool.h>

/* From now on allocation n of Jansson fails, counted from 1, and with all_after those
 * after it as well. 0: none fails. */
void fail_json(long n, bool all_after);

/* Returns how many allocations Jansson has asked for since the last fail_json. */
long json_allocations(void);
