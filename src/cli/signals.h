/* signals.h - SIGINT and SIGTERM as a request to stop soon. */
#pragma once

/* From now on the first signal is noted; a second one ends the program at once. */
const volatile int *cli_catch_signals(void);

/* Waits until a signal is noted, which cli_catch_signals has to catch. */
void cli_await_signal(void);

/* 128 + the signal noted, or 0. */
int cli_signal_code(void);

/* From now on SIGINT and SIGTERM end the program at once, with 128 + the signal, after
 * a line on stderr that says text (kept by the caller). For commands that lose nothing
 * by it. */
void cli_exit_on_signals(const char *text);
