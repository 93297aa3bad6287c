/* platform_system_windows.c - terminal, time, signals, libraries, texts: Windows. */
#include <errno.h>
#include <io.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/platform.h"
#include "base/platform_windows.h"

/* ---- terminal and time ----------------------------------------------------- */

bool cla_os_is_terminal(int fd)
{
    DWORD mode; // _isatty is true of NUL, too
    return GetConsoleMode((HANDLE)_get_osfhandle(fd), &mode) != 0;
}

int cla_os_columns(int fd)
{
    CONSOLE_SCREEN_BUFFER_INFO info;
    return GetConsoleScreenBufferInfo((HANDLE)_get_osfhandle(fd), &info)
               ? info.srWindow.Right - info.srWindow.Left + 1
               : 0;
}

int64_t cla_os_monotonic_ns(void)
{
    LARGE_INTEGER rate, now;
    QueryPerformanceFrequency(&rate);
    QueryPerformanceCounter(&now);
    const int64_t whole = now.QuadPart / rate.QuadPart,
                  rest = now.QuadPart % rate.QuadPart;
    return whole * 1000000000 + rest * 1000000000 / rate.QuadPart;
}

bool cla_os_utc(time_t seconds, struct tm *parts)
{
    return gmtime_s(parts, &seconds) == 0;
}

void cla_os_sleep_ns(int64_t ns)
{
    Sleep((DWORD)((ns + 999999) / 1000000));
}

void cla_os_yield(void)
{
    SwitchToThread();
}

/* ---- processor ------------------------------------------------------------- */

bool cla_os_allow_tiles(void)
{
    return false; // Windows has no call to ask for it
}

/* ---- signals --------------------------------------------------------------- */

enum { INTERRUPT = 2, TERMINATE = 15 }; // numbers of POSIX
enum { NOTE, LEAVE };

static volatile int noted; // 0: none
static volatile int waiting, held;
static int way;
static const char *last_words;
static HANDLE arrived;

static void end_program(int number)
{
    if (last_words) cla_os_say(last_words, strlen(last_words));
    TerminateProcess(GetCurrentProcess(), 128 + (UINT)number);
}

/* Runs in a thread of its own. Windows ends the process when this returns after the
 * console was closed, so it waits for the program's own end there. */
static BOOL WINAPI on_event(DWORD event)
{
    enum { LAST_MS = 10000 };
    const bool closed = event != CTRL_C_EVENT && event != CTRL_BREAK_EVENT;
    const int number = event == CTRL_C_EVENT ? INTERRUPT : TERMINATE;
    if (held) {
        waiting = number;
    } else if (way == LEAVE) {
        end_program(number);
    } else if (noted == number) {
        return FALSE; // the second of its kind ends the program
    } else {
        noted = number;
        SetEvent(arrived);
    }
    if (closed) Sleep(LAST_MS);
    return TRUE;
}

static void watch(int new_way)
{
    static bool watched;
    way = new_way;
    if (!watched) SetConsoleCtrlHandler(on_event, TRUE);
    watched = true;
}

const volatile int *cla_os_catch_stop(void)
{
    if (!arrived) arrived = CreateEventW(NULL, TRUE, FALSE, NULL);
    watch(NOTE);
    return &noted;
}

void cla_os_catch_reload(void) {}

bool cla_os_await_stop(void)
{
    while (!noted) {
        WaitForSingleObject(arrived, INFINITE);
    }
    return true;
}

void cla_os_leave_on_stop(const char *text)
{
    last_words = text;
    watch(LEAVE);
}

void cla_os_hold_stop(bool hold)
{
    watch(LEAVE);
    held = hold;
    if (!hold && waiting) end_program(waiting);
}

bool cla_os_stop_waits(void)
{
    return waiting != 0;
}

void cla_os_on_abort(void (*call)(int signal))
{
    signal(SIGABRT, call);
}

/* ---- libraries ------------------------------------------------------------- */

static _Thread_local char library_error[160];

void *cla_os_library(const char *path)
{
    WCHAR *wide = cla_win_wide(path);
    void *library = wide ? (void *)LoadLibraryW(wide) : NULL;
    const unsigned long code = GetLastError();
    free(wide);
    if (!library) {
        snprintf(library_error, sizeof library_error, "%.100s: error %lu of Windows",
                 path, code);
    }
    return library;
}

void *cla_os_library_named(const char *name, int version)
{
    char file[128];
    (void)version;
    snprintf(file, sizeof file, "lib%.100s.dll", name);
    return cla_os_library(file);
}

const char *cla_os_library_error(void)
{
    return library_error;
}

void *cla_os_symbol(void *library, const char *name)
{
    return (void *)(uintptr_t)GetProcAddress((HMODULE)library, name);
}

void cla_os_library_close(void *library)
{
    FreeLibrary((HMODULE)library);
}

/* ---- texts ----------------------------------------------------------------- */

const char *cla_os_reason(int error, char *room, size_t size)
{
    if (strerror_s(room, size, error)) snprintf(room, size, "error %d", error);
    return room;
}

void *cla_os_find(const void *bytes, size_t size, const void *what, size_t what_size)
{
    const char *at = bytes;
    if (!what_size) return (void *)bytes;
    while (size >= what_size) {
        const char *next = memchr(at, *(const char *)what, size - what_size + 1);
        if (!next) return NULL;
        if (memcmp(next, what, what_size) == 0) return (void *)next;
        size -= (size_t)(next - at) + 1;
        at = next + 1;
    }
    return NULL;
}
