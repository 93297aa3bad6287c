/* platform_process.c - this process and others, by POSIX. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "base/platform.h"
#include "base/platform_apple.h"

/* ---- the program ----------------------------------------------------------- */

void cla_os_begin(int argc, char **argv)
{
    (void)argc, (void)argv;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF) {
            const int mode = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
            (void)!open("/dev/null", mode); // takes the lowest free number
        }
    }
}

void cla_os_exit(int code)
{
    _exit(code);
}

void cla_os_say(const char *text, size_t size)
{
    (void)!write(STDERR_FILENO, text, size); // stderr may be closed
}

int64_t cla_os_process(void)
{
    return getpid();
}

long cla_os_processors(void)
{
    const long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? count : 1;
}

bool cla_os_program(char *path, size_t size)
{
#ifdef __APPLE__
    const ssize_t length = apple_program(path, size);
#else
    const ssize_t length = readlink("/proc/self/exe", path, size - 1);
#endif
    path[length > 0 ? length : 0] = '\0';
    return length > 0;
}

void cla_os_describe(char *text, size_t size)
{
    struct utsname u;
    text[0] = '\0';
    if (!uname(&u)) {
        snprintf(text, size, "%.60s %.60s %.60s", u.sysname, u.release, u.machine);
    }
}

bool cla_os_load(double *load)
{
    return getloadavg(load, 1) == 1;
}

void *cla_os_aligned(size_t align, size_t bytes)
{
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

void cla_os_aligned_free(void *memory)
{
    free(memory);
}

uint64_t cla_os_address_limit(void)
{
    struct rlimit room;
    return getrlimit(RLIMIT_AS, &room) || room.rlim_cur == RLIM_INFINITY
               ? UINT64_MAX
               : room.rlim_cur;
}

/* ---- environment ----------------------------------------------------------- */

const char *cla_os_getenv(const char *name)
{
    return getenv(name);
}

bool cla_os_setenv(const char *name, const char *value)
{
    return setenv(name, value, 0) == 0;
}

char **cla_os_environment(void)
{
    size_t count = 0;
    while (environ[count]) {
        count++;
    }
    char **copy = calloc(count + 1, sizeof *copy);
    for (size_t i = 0; copy && i < count; i++) {
        copy[i] = strdup(environ[i]);
        if (!copy[i]) {
            cla_os_environment_free(copy);
            return NULL;
        }
    }
    return copy;
}

void cla_os_environment_free(char **variables)
{
    for (size_t i = 0; variables && variables[i]; i++) {
        free(variables[i]);
    }
    free(variables);
}

bool cla_os_in_path(const char *program)
{
    const char *path = getenv("PATH");
    bool found = false;
    for (const char *c = path; c && *c && !found;) {
        const size_t size = strcspn(c, ":"), room = size + strlen(program) + 2;
        char *file = malloc(room);
        if (!file) return false;
        snprintf(file, room, "%.*s/%s", (int)size, c, program);
        found = access(file, X_OK) == 0;
        free(file);
        c += size + (c[size] == ':');
    }
    return found;
}

/* ---- other processes ------------------------------------------------------- */

int cla_os_spawn(int64_t *child, const char *const *argv, char *const *environment,
                 int output)
{
    pid_t number = 0;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    const int code = posix_spawnp(&number, argv[0], &actions, NULL, (char *const *)argv,
                                  environment ? environment : environ);
    posix_spawn_file_actions_destroy(&actions);
    *child = number;
    return code;
}

cla_os_end cla_os_await(int64_t child)
{
    int state = 0;
    while (waitpid((pid_t)child, &state, 0) < 0 && errno == EINTR) {
    }
    const bool exited = WIFEXITED(state);
    return (cla_os_end){ exited, exited ? WEXITSTATUS(state) : WTERMSIG(state) };
}

#ifdef __linux__
/* Discards the standard output and error of this process from now on. */
static void fall_silent(void)
{
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0 ||
        dup2(nowhere, STDERR_FILENO) < 0) {
        _exit(1);
    }
}

int64_t cla_os_copy(void (*work)(void *), void *state)
{
    if (cla_os_processors() < 2) return 0;
    const pid_t parent = getpid(), copy = fork();
    if (copy) return copy > 0 ? copy : 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) { // the parent has ended
        _exit(1);
    }
    fall_silent();
    work(state);
    _exit(0);
}
#else
int64_t cla_os_copy(void (*work)(void *), void *state)
{
    (void)work, (void)state;
    return 0; // nothing ends a copy with this process
}
#endif

void cla_os_copy_end(int64_t copy)
{
    if (copy) {
        kill((pid_t)copy, SIGKILL);
        waitpid((pid_t)copy, NULL, 0);
    }
}
