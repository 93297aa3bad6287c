/* platform_process_windows.c - this process and others, by Windows. */
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/platform.h"
#include "base/platform_thread.h"
#include "base/platform_windows.h"

/* ---- the program ----------------------------------------------------------- */

/* Replaces the arguments, whose letters the C runtime may have lost, by UTF-8. */
static void take_arguments(int argc, char **argv)
{
    int count = 0;
    WCHAR **wide = CommandLineToArgvW(GetCommandLineW(), &count);
    for (int i = 0; wide && i < count && i < argc && count == argc; i++) {
        char *text = cla_win_utf8(wide[i]);
        if (text) argv[i] = text;
    }
    LocalFree(wide);
}

void cla_os_begin(int argc, char **argv)
{
    for (int fd = CLA_STDIN; fd <= CLA_STDERR; fd++) {
        if (_get_osfhandle(fd) < 0) {
            (void)!_wopen(L"NUL", fd == CLA_STDIN ? _O_WRONLY : _O_RDONLY);
        }
        _setmode(fd, _O_BINARY);
    }
    DWORD mode;
    const HANDLE console = GetStdHandle(STD_ERROR_HANDLE);
    SetConsoleOutputCP(CP_UTF8);
    if (GetConsoleMode(console, &mode)) {
        SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
    }
    take_arguments(argc, argv);
}

void cla_os_exit(int code)
{
    _exit(code);
}

void cla_os_say(const char *text, size_t size)
{
    DWORD done;
    WriteFile(GetStdHandle(STD_ERROR_HANDLE), text, (DWORD)size, &done, NULL);
}

int64_t cla_os_process(void)
{
    return GetCurrentProcessId();
}

long cla_os_processors(void)
{
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return info.dwNumberOfProcessors > 0 ? (long)info.dwNumberOfProcessors : 1;
}

bool cla_os_program(char *path, size_t size)
{
    enum { UNITS = 4096 };
    WCHAR *wide = calloc(UNITS, sizeof *wide);
    const DWORD got = wide ? GetModuleFileNameW(NULL, wide, UNITS) : 0;
    char *text = got && got < UNITS ? cla_win_utf8(wide) : NULL;
    const bool known = text && strlen(text) < size;
    snprintf(path, size, "%s", known ? text : "");
    free(text);
    free(wide);
    return known;
}

void cla_os_describe(char *text, size_t size)
{
    typedef LONG(WINAPI * version_function)(OSVERSIONINFOW *);
    OSVERSIONINFOW version = { .dwOSVersionInfoSize = sizeof version };
    SYSTEM_INFO info;
    const version_function get = (version_function)(void *)GetProcAddress(
        GetModuleHandleW(L"ntdll.dll"), "RtlGetVersion");
    if (get) get(&version);
    GetNativeSystemInfo(&info);
    const bool arm = info.wProcessorArchitecture == PROCESSOR_ARCHITECTURE_ARM64;
    snprintf(text, size, "Windows %lu.%lu.%lu %s", version.dwMajorVersion,
             version.dwMinorVersion, version.dwBuildNumber, arm ? "aarch64" : "x86_64");
}

bool cla_os_load(double *load)
{
    *load = 0;
    return false;
}

void *cla_os_aligned(size_t align, size_t bytes)
{
    return _aligned_malloc(bytes, align);
}

void cla_os_aligned_free(void *memory)
{
    _aligned_free(memory);
}

uint64_t cla_os_address_limit(void)
{
    return UINT64_MAX;
}

/* ---- environment ----------------------------------------------------------- */

/* A value that was asked for; it stays, since its reader may keep the pointer. */
typedef struct known_value {
    struct known_value *next;
    char *name, *value;
} known_value;

static cla_mutex lock = CLA_MUTEX_INIT;
static known_value *known_values;

/* Remembers a value, which it consumes, and returns the one to give. */
static const char *remember(const char *name, char *value)
{
    for (known_value *k = known_values; k; k = k->next) {
        if (strcmp(k->name, name) == 0 && strcmp(k->value, value) == 0) {
            free(value);
            return k->value;
        }
    }
    known_value *k = calloc(1, sizeof *k);
    char *copy = strdup(name);
    if (!k || !copy) {
        free(k);
        free(copy);
        free(value);
        return NULL;
    }
    *k = (known_value){ known_values, copy, value };
    known_values = k;
    return value;
}

static char *read_variable(const char *name)
{
    WCHAR *wide = cla_win_wide(name);
    const DWORD need = wide ? GetEnvironmentVariableW(wide, NULL, 0) : 0;
    WCHAR *value = need ? calloc(need + 1, sizeof *value) : NULL;
    char *text = value && GetEnvironmentVariableW(wide, value, need + 1) < need + 1
                     ? cla_win_utf8(value)
                     : NULL;
    free(value);
    free(wide);
    return text;
}

const char *cla_os_getenv(const char *name)
{
    char *value = read_variable(name);
    if (!value) return NULL;
    cla_mutex_lock(&lock);
    const char *kept = remember(name, value);
    cla_mutex_unlock(&lock);
    return kept;
}

bool cla_os_setenv(const char *name, const char *value)
{
    if (cla_os_getenv(name)) return true;
    WCHAR *wide_name = cla_win_wide(name), *wide = cla_win_wide(value);
    const bool set = wide_name && wide && _wputenv_s(wide_name, wide) == 0;
    free(wide_name);
    free(wide);
    return set;
}

char **cla_os_environment(void)
{
    WCHAR *block = GetEnvironmentStringsW();
    size_t count = 0;
    for (const WCHAR *w = block; w && *w; w += wcslen(w) + 1) {
        count++;
    }
    char **copy = calloc(count + 1, sizeof *copy);
    const WCHAR *w = block;
    for (size_t i = 0; copy && i < count; i++, w += wcslen(w) + 1) {
        copy[i] = cla_win_utf8(w);
        if (!copy[i]) {
            cla_os_environment_free(copy);
            copy = NULL;
        }
    }
    if (block) FreeEnvironmentStringsW(block);
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
    WCHAR *wide = cla_win_wide(program), found[MAX_PATH];
    const bool there =
        wide && SearchPathW(NULL, wide, L".exe", MAX_PATH, found, NULL) > 0;
    free(wide);
    return there;
}

/* ---- other processes ------------------------------------------------------- */

/* A text of UTF-16 that grows; NULL after memory was lacking. */
typedef struct wide_text {
    WCHAR *data;
    size_t size;
    bool failed;
} wide_text;

static void add_unit(wide_text *text, WCHAR unit)
{
    WCHAR *data = text->failed
                      ? NULL
                      : realloc(text->data, (text->size + 2) * sizeof *text->data);
    text->failed = !data;
    if (!data) return;
    text->data = data;
    data[text->size++] = unit;
    data[text->size] = 0;
}

/* Adds an argument in quotes, as CommandLineToArgvW takes it apart: backslashes count
 * twice in front of a quote. */
static void add_argument(wide_text *line, const char *argument)
{
    WCHAR *wide = cla_win_wide(argument);
    line->failed |= !wide;
    if (line->size) add_unit(line, L' ');
    add_unit(line, L'"');
    for (const WCHAR *c = wide; c && *c; c++) {
        size_t slashes = 0;
        for (; *c == L'\\'; c++) {
            slashes++;
        }
        const size_t written = *c == 0 || *c == L'"' ? 2 * slashes : slashes;
        for (size_t i = 0; i < written; i++) {
            add_unit(line, L'\\');
        }
        if (*c == L'"') add_unit(line, L'\\');
        if (!*c) break;
        add_unit(line, *c);
    }
    add_unit(line, L'"');
    free(wide);
}

static void add_variables(wide_text *block, char *const *environment)
{
    for (; *environment; environment++) {
        WCHAR *wide = cla_win_wide(*environment);
        block->failed |= !wide;
        for (const WCHAR *c = wide; c && *c; c++) {
            add_unit(block, *c);
        }
        add_unit(block, 0);
        free(wide);
    }
    add_unit(block, 0);
}

static int start(int64_t *child, WCHAR *line, WCHAR *environment, HANDLE output)
{
    PROCESS_INFORMATION made;
    STARTUPINFOW how = { .cb = sizeof how,
                         .dwFlags = STARTF_USESTDHANDLES,
                         .hStdInput = GetStdHandle(STD_INPUT_HANDLE),
                         .hStdOutput = output,
                         .hStdError = GetStdHandle(STD_ERROR_HANDLE) };
    SetHandleInformation(output, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
    const BOOL started =
        CreateProcessW(NULL, line, NULL, NULL, TRUE, CREATE_UNICODE_ENVIRONMENT,
                       environment, NULL, &how, &made);
    const DWORD error = GetLastError();
    SetHandleInformation(output, HANDLE_FLAG_INHERIT, 0);
    if (!started) {
        SetLastError(error);
        cla_win_failed();
        return errno;
    }
    CloseHandle(made.hThread);
    *child = (int64_t)(intptr_t)made.hProcess;
    return 0;
}

int cla_os_spawn(int64_t *child, const char *const *argv, char *const *environment,
                 int output)
{
    wide_text line = { 0 }, block = { 0 };
    *child = 0;
    for (int i = 0; argv[i]; i++) {
        add_argument(&line, argv[i]);
    }
    if (environment) add_variables(&block, environment);
    const int code = line.failed || block.failed
                         ? ENOMEM
                         : start(child, line.data, block.data, cla_win_handle(output));
    free(line.data);
    free(block.data);
    return code;
}

cla_os_end cla_os_await(int64_t child)
{
    const HANDLE process = (HANDLE)(intptr_t)child;
    DWORD code = 1;
    WaitForSingleObject(process, INFINITE);
    GetExitCodeProcess(process, &code);
    CloseHandle(process);
    return (cla_os_end){ .exited = true, .code = (int)code };
}

int64_t cla_os_copy(void (*work)(void *), void *state)
{
    (void)work, (void)state;
    return 0; // Windows cannot copy a process
}

void cla_os_copy_end(int64_t copy)
{
    (void)copy;
}
