/* signals.h - SIGINT and SIGTERM as a request to stop soon. */
#pragma once

#include <stdbool.h>

/* Notes SIGINT and SIGTERM from now on. A second signal of the same kind ends the
 * program at once. Returns a pointer to the noted signal, 0 before one arrives. */
const volatile int *cli_catch_signals(void);

/* Notes SIGHUP from now on: the wish that a service reads its files again. */
void cli_catch_reload(void);

/* Waits until a signal is noted. Call cli_catch_signals first. Returns false for a
 * SIGHUP that came first; the next call waits again. */
bool cli_await_signal(void);

/* Returns 128 + the noted signal, or 0. */
int cli_signal_code(void);

/* From now on says which driver it was that ends the program, by exit() or abort(), and
 * with which call; the status is 4 then. */
void cli_watch_drivers(void);

/* Makes SIGINT and SIGTERM print text (kept by the caller) on stderr and end the
 * program at once with 128 + the signal. For commands that lose nothing by it. */
void cli_exit_on_signals(const char *text);
