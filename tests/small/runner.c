/* runner.c - runs the tests of a program, each in a process of its own. */
#include <stdarg.h>

#include <criterion/criterion.h>

#include "base/platform.h"

enum { FAILED = 1, SKIPPED = 77 };

static small_test *first;
static int failures;

void small_add(small_test *test)
{
    test->next = first;
    first = test;
}

void small_check(bool fatal, bool holds, const char *file, int line, const char *text,
                 const char *format, ...)
{
    if (holds) return;
    va_list values;
    va_start(values, format);
    fprintf(stderr, "%s:%d: %s does not hold ", file, line, text);
    vfprintf(stderr, format, values);
    fputc('\n', stderr);
    va_end(values);
    failures++;
    if (fatal) exit(FAILED);
}

void small_skip(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    fputs("# SKIP ", stdout);
    vprintf(format, values);
    putchar('\n');
    va_end(values);
    exit(SKIPPED);
}

static void call(void (*function)(void))
{
    if (function) function();
}

/* Runs one test here, between what its suite and it want before and after. */
static int run_here(const char *suite, const char *name)
{
    const small_test *all = NULL, *one = NULL;
    for (const small_test *t = first; t; t = t->next) {
        if (strcmp(t->suite, suite) != 0) continue;
        if (!t->name) {
            all = t;
        } else if (strcmp(t->name, name) == 0) {
            one = t;
        }
    }
    if (!one) {
        fprintf(stderr, "no test %s %s\n", suite, name);
        return FAILED;
    }
    call(all ? all->init : NULL);
    call(one->init);
    one->run();
    call(one->fini);
    call(all ? all->fini : NULL);
    return failures ? FAILED : 0;
}

/* Starts this program once more for one test. Returns whether it did not fail. */
static bool run_apart(const char *program, const small_test *test)
{
    int64_t child = 0;
    const char *const words[] = { program, "--one", test->suite, test->name, NULL };
    fflush(stdout);
    const int error = cla_os_spawn(&child, words, NULL, CLA_STDOUT);
    const cla_os_end end = error ? (cla_os_end){ .code = error } : cla_os_await(child);
    const bool skipped = end.exited && end.code == SKIPPED;
    const bool good = end.exited && end.code == 0;
    printf("%s - %s::%s%s\n", good || skipped ? "ok" : "not ok", test->suite,
           test->name, skipped ? " # SKIP" : "");
    if (!end.exited) printf("# ended by %d\n", end.code);
    return good || skipped;
}

int main(int argc, char **argv)
{
    static char program[4096];
    cla_os_begin(argc, argv);
    if (argc == 4 && strcmp(argv[1], "--one") == 0) return run_here(argv[2], argv[3]);
    if (!cla_os_program(program, sizeof program)) return FAILED;
    int tests = 0, failed = 0;
    for (const small_test *t = first; t; t = t->next) {
        if (!t->name) continue;
        tests++;
        failed += !run_apart(program, t);
    }
    printf("1..%d\n", tests);
    return failed || !tests ? FAILED : 0;
}
