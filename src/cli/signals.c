/* signals.c - turns SIGINT and SIGTERM into a request to stop soon, or an exit. */
#include "cli/signals.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/foreign.h"

static volatile int noted;
static sem_t arrived;

static void note(int signal)
{
    const int before = errno;
    noted = signal;
    sem_post(&arrived); // POSIX allows it in a handler
    errno = before;
}

const volatile int *cli_catch_signals(void)
{
    sem_init(&arrived, 0, 0);
    /* SA_RESETHAND: a second signal of the same kind ends the program. One of the other
     * kind does not, as a script that gets SIGINT may send SIGTERM to its children. */
    const struct sigaction action = { .sa_handler = note, .sa_flags = SA_RESETHAND };
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return &noted;
}

void cli_await_signal(void)
{
    while (!noted) {
        sem_wait(&arrived);
    }
}

int cli_signal_code(void)
{
    return noted ? 128 + noted : 0;
}

static const char *last_words;

/* Prints last_words and exits, with calls that POSIX allows in a handler. */
static void leave(int signal)
{
    if (write(STDERR_FILENO, last_words, strlen(last_words)) < 0) {
        _exit(128 + signal); // stderr is closed
    }
    _exit(128 + signal);
}

void cli_exit_on_signals(const char *text)
{
    const struct sigaction action = { .sa_handler = leave };
    last_words = text;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
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
    if (write(STDERR_FILENO, line, size + 1) < 0) _exit(CLA_E_DEVICE);
    _exit(CLA_E_DEVICE);
}

static void on_abort(int signal)
{
    (void)signal; // it ends the program when this returns
    name_driver();
}

static void catch_abort(void)
{
    const struct sigaction action = { .sa_handler = on_abort };
    sigaction(SIGABRT, &action, NULL);
}

void cli_watch_drivers(void)
{
    cla_foreign_watch(catch_abort);
    atexit(name_driver);
}
