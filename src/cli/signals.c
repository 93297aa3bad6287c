/* signals.c - turns SIGINT and SIGTERM into a request to stop soon, or an exit. */
#include "cli/signals.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

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
