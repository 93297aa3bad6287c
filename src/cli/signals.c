/* signals.c - what Ctrl-C, SIGTERM and a driver that aborts do to the program. */
#include "cli/signals.h"

#include <stdlib.h>
#include <string.h>

#include "base/foreign.h"
#include "base/platform.h"

static const volatile int *noted;

const volatile int *cli_catch_signals(void)
{
    noted = cla_os_catch_stop();
    return noted;
}

void cli_catch_reload(void)
{
    cla_os_catch_reload();
}

bool cli_await_signal(void)
{
    return cla_os_await_stop();
}

int cli_signal_code(void)
{
    return noted && *noted ? 128 + *noted : 0;
}

void cli_exit_on_signals(const char *text)
{
    cla_os_leave_on_stop(text);
}

/* Prints the driver that ends the program, if one does, and exits. Other ends go on. */
static void name_driver(void)
{
    char line[256] = "clattn: ";
    const size_t begin = strlen(line);
    cla_foreign_last_words(line + begin, sizeof line - begin - 1);
    const size_t size = strlen(line);
    if (size == begin) return;
    line[size] = '\n';
    cla_os_say(line, size + 1);
    cla_os_exit(CLA_E_DEVICE);
}

static void on_abort(int signal)
{
    (void)signal; // it ends the program when this returns
    name_driver();
}

static void catch_abort(void)
{
    cla_os_on_abort(on_abort);
}

void cli_watch_drivers(void)
{
    cla_foreign_watch(catch_abort);
    atexit(name_driver);
}
