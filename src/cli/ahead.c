/* ahead.c - a child process that compiles kernels ahead of its parent. */
#include "cli/ahead.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Discards the standard output and error of this process from now on. */
static void fall_silent(void)
{
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0 ||
        dup2(nowhere, STDERR_FILENO) < 0) {
        _exit(1);
    }
}

pid_t cli_ahead_start(void (*work)(void *), void *state)
{
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
        return 0;
    }
    const pid_t parent = getpid(), copy = fork();
    if (copy) {
        return copy > 0 ? copy : 0;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) { // the parent has ended
        _exit(1);
    }
    fall_silent();
    work(state);
    _exit(0);
}

void cli_ahead_stop(pid_t copy)
{
    if (copy) {
        kill(copy, SIGKILL);
        waitpid(copy, NULL, 0);
    }
}
