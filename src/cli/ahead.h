/* ahead.h - a child process that compiles kernels ahead of its parent. */
#pragma once

#include <sys/types.h>

/* Runs work(state) in a forked copy of this process that prints nothing. Returns the
 * process id of the copy, or 0 when there is none: on one processor, or when fork
 * fails. Call it before any use of OpenCL, which does not survive a fork. The copy ends
 * with this process at the latest. */
pid_t cli_ahead_start(void (*work)(void *), void *state);

/* Kills the copy and waits for its end; ignores 0. */
void cli_ahead_stop(pid_t copy);
