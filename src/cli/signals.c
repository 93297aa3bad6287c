/* signals.c - SIGINT and SIGTERM as a request to stop soon. */
#include "cli/signals.h"

#include <signal.h>
#include <stddef.h>

static volatile int noted;

static void note(int signal)
{
    noted = signal;
}

const volatile int *cli_catch_signals(void)
{
    /* SA_RESETHAND: the second signal has its usual effect. */
    const struct sigaction action = { .sa_handler = note, .sa_flags = SA_RESETHAND };
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return &noted;
}

int cli_signal_code(void)
{
    return noted ? 128 + noted : 0;
}
