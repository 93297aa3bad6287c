/* inject.c - fails the call that CLATTN_FAULT names, and reports what a run left
 * behind.
 *
 * The program is linked a second time with --wrap for each function of this folder, so
 * that calls from its own objects arrive here; drivers and libraries keep the real
 * functions.
 *
 *   CLATTN_FAULT=NAME:N[+][=CODE]  NAME is a class (alloc, file, short, cl, zero, nan,
 *                                  poll) or a function; its N-th call fails, with +
 *                                  each later one too, with the error CODE
 *   CLATTN_FAULT_REPORT=FILE       one line of JSON at exit: calls of each class and
 *                                  function, blocks and handles that are still held
 *   CLATTN_FAULT_PATHS=FILE        the first call of each path, "CLASS:N" a line; calls
 *                                  of one class whose stacks are equal are one path
 *   CLATTN_FAULT_STACK=N,N...      prints the stacks of these allocations on stderr
 *   CLATTN_FAULT_STACK=hit         prints the stack of the call that failed */
#include "faults/inject.h"

#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FUNCTIONS = 128, NAME_BYTES = 40, FRAMES = 24, LEAKS = 8, PATHS = 1 << 15 };

static const char *const class_names[FAULT_CLASSES] = { "alloc", "file", "short", "cl",
                                                        "zero",  "nan",  "poll" };

static struct {
    pthread_mutex_t mutex;
    bool ready, hit;
    char name[NAME_BYTES]; // of CLATTN_FAULT; empty: nothing fails
    long first;
    bool onwards, has_code;
    int code;
    long named; // calls of name so far
    long count[FAULT_CLASSES];
    int held[FAULT_RESOURCES];
    struct {
        const char *name;
        long count;
    } function[FUNCTIONS];
} state = { .mutex = PTHREAD_MUTEX_INITIALIZER };

static _Noreturn void bad_variable(const char *value)
{
    dprintf(STDERR_FILENO, "CLATTN_FAULT is '%s', must be NAME:N[+][=CODE]\n", value);
    _exit(99);
}

static void read_variable(void)
{
    const char *value = getenv("CLATTN_FAULT");
    state.ready = true;
    if (!value || !*value) {
        return;
    }
    const char *colon = strchr(value, ':');
    char *end = NULL;
    if (!colon || (size_t)(colon - value) >= sizeof state.name) {
        bad_variable(value);
    }
    state.first = strtol(colon + 1, &end, 10);
    state.onwards = *end == '+';
    end += state.onwards;
    state.has_code = *end == '=';
    if (state.has_code) {
        state.code = (int)strtol(end + 1, &end, 10);
    }
    if (*end || state.first < 1) {
        bad_variable(value);
    }
    memcpy(state.name, value, (size_t)(colon - value));
}

static void print_stack(const char *what, long number)
{
    void *frames[FRAMES];
    char line[64];
    const int count = backtrace(frames, FRAMES);
    const int size = snprintf(line, sizeof line, "stack of %s %ld:\n", what, number);
    if (write(STDERR_FILENO, line, (size_t)size) == size) {
        backtrace_symbols_fd(frames, count, STDERR_FILENO);
    }
}

/* Returns whether CLATTN_FAULT_STACK lists the number. */
static bool stack_wanted(long number)
{
    const char *list = getenv("CLATTN_FAULT_STACK");
    while (list && *list >= '0' && *list <= '9') {
        char *end = NULL;
        if (strtol(list, &end, 10) == number) {
            return true;
        }
        list = *end == ',' ? end + 1 : NULL;
    }
    return false;
}

static void count_function(const char *function)
{
    for (size_t i = 0; i < FUNCTIONS; i++) {
        if (!state.function[i].name) {
            state.function[i].name = function;
        }
        if (state.function[i].name == function) {
            state.function[i].count++;
            return;
        }
    }
}

static void full_table(void)
{
    dprintf(STDERR_FILENO, "CLATTN_FAULT_PATHS: more than %d paths\n", PATHS);
    _exit(99);
}

/* Writes call `number` of a class to the file `path` when its stack is a new one. */
static void note_path(const char *path, fault_class class, long number)
{
    static uint64_t seen[PATHS];
    static int out = -1;
    void *frames[FRAMES];
    const int count = backtrace(frames, FRAMES);
    uint64_t hash = 14695981039346656037u + (uint64_t) class; // FNV-1a
    for (int i = 0; i < count; i++) {
        hash = (hash ^ (uint64_t)(uintptr_t)frames[i]) * 1099511628211u;
    }
    hash += !hash;
    size_t at = hash % PATHS;
    for (size_t tried = 0; seen[at] && seen[at] != hash; at = (at + 1) % PATHS) {
        if (++tried == PATHS) {
            full_table();
        }
    }
    out = out < 0 ? creat(path, 0666) : out;
    if (!seen[at] && out >= 0) {
        seen[at] = hash;
        dprintf(out, "%s:%ld\n", class_names[class], number);
    }
}

bool fault_here(fault_class class, const char *function, int *code)
{
    pthread_mutex_lock(&state.mutex);
    if (!state.ready) {
        read_variable();
    }
    const long number = ++state.count[class];
    count_function(function);
    const bool named = strcmp(state.name, class_names[class]) == 0 ||
                       strcmp(state.name, function) == 0;
    state.named += named;
    const bool fails = named && (state.onwards ? state.named >= state.first
                                               : state.named == state.first);
    const bool first_hit = fails && !state.hit;
    state.hit |= fails;
    if (fails && state.has_code) {
        *code = state.code;
    }
    const char *paths = getenv("CLATTN_FAULT_PATHS");
    if (paths) {
        note_path(paths, class, number);
    }
    pthread_mutex_unlock(&state.mutex);
    const char *stack = getenv("CLATTN_FAULT_STACK");
    if (first_hit && stack && strcmp(stack, "hit") == 0) {
        print_stack(function, number);
    } else if (class == FAULT_ALLOC && stack_wanted(number)) {
        print_stack("allocation", number);
    }
    return fails;
}

long fault_count(fault_class class)
{
    return state.count[class];
}

void fault_hold(fault_resource resource, int difference)
{
    pthread_mutex_lock(&state.mutex);
    state.held[resource] += difference;
    pthread_mutex_unlock(&state.mutex);
}

static void write_report(int out)
{
    long calls[LEAKS];
    const size_t live = fault_live_blocks(calls, LEAKS);
    dprintf(out, "{\"hit\":%s", state.hit ? "true" : "false");
    for (int i = 0; i < FAULT_CLASSES; i++) {
        dprintf(out, ",\"%s\":%ld", class_names[i], state.count[i]);
    }
    dprintf(out, ",\"blocks\":%zu,\"descriptors\":%d,\"streams\":%d,\"objects\":%d",
            live, state.held[FAULT_DESCRIPTOR], state.held[FAULT_STREAM],
            state.held[FAULT_CL_OBJECT]);
    dprintf(out, ",\"leaks\":\"");
    for (size_t i = 0; i < live && i < LEAKS; i++) {
        dprintf(out, "%s%ld", i ? "," : "", calls[i]);
    }
    dprintf(out, "\",\"functions\":{");
    for (size_t i = 0; i < FUNCTIONS && state.function[i].name; i++) {
        dprintf(out, "%s\"%s\":%ld", i ? "," : "", state.function[i].name,
                state.function[i].count);
    }
    dprintf(out, "}}\n");
}

__attribute__((destructor)) static void report(void)
{
    const char *path = getenv("CLATTN_FAULT_REPORT");
    int out = path ? creat(path, 0666) : -1;
    if (out >= 0) {
        write_report(out);
    }
}
