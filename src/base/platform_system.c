/* platform_system.c - terminal, time, signals, libraries and texts, by POSIX. */
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#include "base/platform.h"
#include "base/platform_apple.h"

/* ---- terminal and time ----------------------------------------------------- */

bool cla_os_is_terminal(int fd)
{
    return isatty(fd) != 0;
}

int cla_os_columns(int fd)
{
    struct winsize size = { 0 };
    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int64_t cla_os_monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

bool cla_os_utc(time_t seconds, struct tm *parts)
{
    return gmtime_r(&seconds, parts) != NULL;
}

void cla_os_sleep_ns(int64_t ns)
{
    const struct timespec pause = { .tv_sec = (time_t)(ns / 1000000000),
                                    .tv_nsec = (long)(ns % 1000000000) };
    nanosleep(&pause, NULL);
}

void cla_os_yield(void)
{
    sched_yield();
}

/* ---- processor ------------------------------------------------------------- */

bool cla_os_allow_tiles(void)
{
#if defined(__linux__) && defined(__x86_64__)
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, TILE_DATA = 18 }; // as Linux names them
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, TILE_DATA) == 0;
#else
    return false;
#endif
}

/* ---- signals --------------------------------------------------------------- */

static volatile int noted, again;
static sem_t arrived;

static void note(int signal)
{
    const int before = errno;
    noted = signal;
    sem_post(&arrived); // POSIX allows it in a handler
    errno = before;
}

const volatile int *cla_os_catch_stop(void)
{
    sem_init(&arrived, 0, 0);
    /* SA_RESETHAND: a second signal of the same kind ends the program. One of the other
     * kind does not, as a script that gets SIGINT may send SIGTERM to its children. */
    const struct sigaction action = { .sa_handler = note, .sa_flags = SA_RESETHAND };
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return &noted;
}

static void note_reload(int signal)
{
    const int before = errno;
    again = signal;
    sem_post(&arrived);
    errno = before;
}

void cla_os_catch_reload(void)
{
    const struct sigaction action = { .sa_handler = note_reload };
    sigaction(SIGHUP, &action, NULL);
}

bool cla_os_await_stop(void)
{
    while (!noted && !again) {
        sem_wait(&arrived);
    }
    again = 0;
    return noted != 0;
}

static const char *last_words;

/* Prints last_words and exits, with calls that POSIX allows in a handler. */
static void leave(int signal)
{
    cla_os_say(last_words, strlen(last_words));
    cla_os_exit(128 + signal);
}

void cla_os_leave_on_stop(const char *text)
{
    const struct sigaction action = { .sa_handler = leave };
    last_words = text;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

void cla_os_hold_stop(bool hold)
{
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &ends, NULL);
}

bool cla_os_stop_waits(void)
{
    sigset_t waiting;
    sigpending(&waiting);
    return sigismember(&waiting, SIGINT) > 0 || sigismember(&waiting, SIGTERM) > 0;
}

void cla_os_on_abort(void (*call)(int signal))
{
    const struct sigaction action = { .sa_handler = call };
    sigaction(SIGABRT, &action, NULL);
}

/* ---- libraries ------------------------------------------------------------- */

void *cla_os_library(const char *path)
{
    return dlopen(path, RTLD_LAZY | RTLD_LOCAL);
}

void *cla_os_library_named(const char *name, int version)
{
    char file[128];
#ifdef __APPLE__
    snprintf(file, sizeof file, "lib%.100s.%d.dylib", name, version);
#else
    snprintf(file, sizeof file, "lib%.100s.so.%d", name, version);
#endif
    return dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

const char *cla_os_library_error(void)
{
    return dlerror();
}

void *cla_os_symbol(void *library, const char *name)
{
    return dlsym(library, name);
}

void cla_os_library_close(void *library)
{
    dlclose(library);
}

/* ---- texts ----------------------------------------------------------------- */

/* GNU's strerror_r returns a text, that of POSIX a code and fills room: either is
 * taken. */
static inline const char *text_of_text(const char *text, const char *room)
{
    (void)room;
    return text;
}

static inline const char *text_of_code(int code, const char *room)
{
    (void)code; // where it fails room has a text of ours
    return room;
}

#define TEXT_OF(result, room) \
    _Generic((result), char * : text_of_text, int : text_of_code)(result, room)

const char *cla_os_reason(int error, char *room, size_t size)
{
    snprintf(room, size, "error %d", error);
    return TEXT_OF(strerror_r(error, room, size), room);
}

void *cla_os_find(const void *bytes, size_t size, const void *what, size_t what_size)
{
    return memmem(bytes, size, what, what_size);
}
