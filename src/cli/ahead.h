/* ahead.h - a second process that compiles what the first will need later. */
#pragma once

#include <sys/types.h>

/* Runs work(state) in a copy of this process, which prints nothing, and returns its
 * number, or 0 where there is none: on one processor, or when the system refuses. Call
 * it before anything of OpenCL, which does not survive a fork. The copy ends with this
 * process at the latest. */
pid_t cli_ahead_start(void (*work)(void *), void *state);

/* Ends it. A number of 0 is ignored. */
void cli_ahead_stop(pid_t copy);
