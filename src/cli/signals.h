/* signals.h - SIGINT and SIGTERM as a request to stop soon. */
#pragma once

/* From now on the first signal is noted; a second one ends the program at once. */
const volatile int *cli_catch_signals(void);

/* 128 + the signal noted, or 0. */
int cli_signal_code(void);
