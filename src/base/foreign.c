/* foreign.c - remembers the call of somebody else's code that may end this process. */
#include "base/foreign.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/platform_thread.h"

enum { LIBRARIES = 8, NAME = 128 };

static char names[LIBRARIES][NAME];
static const char *_Atomic library, *_Atomic call_now;

void cla_foreign_library(const char *name)
{
    static cla_mutex one_at_a_time = CLA_MUTEX_INIT;
    cla_mutex_lock(&one_at_a_time);
    for (int i = 0; i < LIBRARIES; i++) {
        if (!*names[i]) snprintf(names[i], NAME, "%s", name);
        if (strncmp(names[i], name, NAME - 1) == 0) {
            atomic_store(&library, names[i]);
            break;
        }
    }
    cla_mutex_unlock(&one_at_a_time);
}

static void (*_Atomic watch)(void);

void cla_foreign_watch(void (*again)(void))
{
    atomic_store(&watch, again);
}

void cla_foreign_enter(const char *call)
{
    void (*again)(void) = call ? atomic_load(&watch) : NULL;
    if (again) again();
    atomic_store(&call_now, call);
}

void cla_foreign_last_words(char *words, size_t size)
{
    const char *name = atomic_load(&library), *call = atomic_load(&call_now);
    const char *parts[] = { name, " ended the process (", call, ")" };
    size_t used = 0;
    for (size_t i = 0; name && call && i < sizeof parts / sizeof *parts; i++) {
        for (const char *c = parts[i]; *c && used + 1 < size; c++)
            words[used++] = *c;
    }
    words[used] = '\0';
}
