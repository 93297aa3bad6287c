/* signals.c - the first signal is noted, a second one of its kind ends the program. */
#include "cli/signals.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/support.h"

/* Sends both signals to a child that notes them. Returns how the child ended. */
static int end_of(int first, int second)
{
    int status = 0;
    const pid_t child = fork();
    if (!child) {
        const volatile int *noted = cli_catch_signals();
        raise(first);
        if (*noted != first || cli_signal_code() != 128 + first) {
            _exit(1);
        }
        raise(second);
        _exit(0);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    return status;
}

Test(signals, second_of_a_kind_ends_the_program)
{
    static const int of[] = { SIGINT, SIGTERM };
    for (int i = 0; i < 4; i++) {
        const int first = of[i / 2], second = of[i % 2], status = end_of(first, second);
        const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == second;
        cr_expect(first == second ? killed : status == 0, "%d, then %d: status %d",
                  first, second, status);
    }
}
