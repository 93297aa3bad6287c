/* alloc.c - wrappers of the functions that allocate memory.
 *
 * Blocks are kept in a table until they are freed, so that a run can report leaks.
 * Jansson allocates through the same functions. */
#include <jansson.h>
#include <locale.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "faults/inject.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *block, size_t size);
void __real_free(void *block);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size);
locale_t __real_newlocale(int mask, const char *locale, locale_t base);
XXH3_state_t *__real_XXH3_createState(void);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *block, size_t size);
void __wrap_free(void *block);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);
locale_t __wrap_newlocale(int mask, const char *locale, locale_t base);
XXH3_state_t *__wrap_XXH3_createState(void);

/* ---- blocks that are not freed ----------------------------------------------- */

/* Open addressing. GONE marks a freed entry, behind which others may lie. */
typedef struct entry {
    uintptr_t block;
    long call;
} entry;

enum { GONE = 1 };

static struct {
    pthread_mutex_t mutex;
    entry *entries;
    size_t cap, used; // used includes freed entries
} table = { .mutex = PTHREAD_MUTEX_INITIALIZER };

static entry *find(entry *entries, size_t cap, uintptr_t block)
{
    size_t at = (size_t)((block >> 4) * 0x9e3779b97f4a7c15u) % cap;
    while (entries[at].block && entries[at].block != block) {
        at = (at + 1) % cap;
    }
    return &entries[at];
}

static void make_room(void)
{
    if (table.used * 2 < table.cap) {
        return;
    }
    const size_t cap = table.cap ? table.cap * 2 : 1 << 16;
    entry *entries = __real_calloc(cap, sizeof *entries);
    size_t used = 0;
    if (!entries) {
        abort();
    }
    for (size_t i = 0; i < table.cap; i++) {
        if (table.entries[i].block > GONE) {
            *find(entries, cap, table.entries[i].block) = table.entries[i];
            used++;
        }
    }
    __real_free(table.entries);
    table.entries = entries;
    table.cap = cap;
    table.used = used;
}

static void *note(void *block)
{
    if (!block) {
        return NULL;
    }
    pthread_mutex_lock(&table.mutex);
    make_room();
    entry *e = find(table.entries, table.cap, (uintptr_t)block);
    table.used += !e->block;
    *e = (entry){ (uintptr_t)block, fault_count(FAULT_ALLOC) };
    pthread_mutex_unlock(&table.mutex);
    return block;
}

static void forget(const void *block)
{
    pthread_mutex_lock(&table.mutex);
    if (block && table.cap) {
        entry *e = find(table.entries, table.cap, (uintptr_t)block);
        if (e->block) {
            e->block = GONE;
        }
    }
    pthread_mutex_unlock(&table.mutex);
}

size_t fault_live_blocks(long *calls, size_t room)
{
    size_t live = 0;
    for (size_t i = 0; i < table.cap; i++) {
        if (table.entries[i].block > GONE) {
            if (live < room) {
                calls[live] = table.entries[i].call;
            }
            live++;
        }
    }
    return live;
}

/* ---- the functions ----------------------------------------------------------- */

static bool fails(const char *function)
{
    int code = 0;
    return fault_here(FAULT_ALLOC, function, &code);
}

void *__wrap_malloc(size_t size)
{
    return fails("malloc") ? NULL : note(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails("calloc") ? NULL : note(__real_calloc(n, size));
}

void *__wrap_realloc(void *block, size_t size)
{
    if (fails("realloc")) {
        return NULL;
    }
    forget(block);
    return note(__real_realloc(block, size));
}

void __wrap_free(void *block)
{
    forget(block);
    __real_free(block);
}

char *__wrap_strdup(const char *text)
{
    return fails("strdup") ? NULL : note(__real_strdup(text));
}

char *__wrap_strndup(const char *text, size_t size)
{
    return fails("strndup") ? NULL : note(__real_strndup(text, size));
}

locale_t __wrap_newlocale(int mask, const char *locale, locale_t base)
{
    return fails("newlocale") ? (locale_t)0 : __real_newlocale(mask, locale, base);
}

XXH3_state_t *__wrap_XXH3_createState(void)
{
    return fails("XXH3_createState") ? NULL : __real_XXH3_createState();
}

/* Jansson 2.14 ignores that the buffer of a token could not grow, and then reads past
 * its end (lex_save in its load.c). This growth never fails here; wrap_json finds its
 * caller. */
static const void *token_growth;

static void *json_block(size_t size)
{
    if (token_growth && __builtin_return_address(0) == token_growth) {
        return note(__real_malloc(size));
    }
    return fails("json") ? NULL : note(__real_malloc(size));
}

/* Finds the caller by the size: the buffer has 16 bytes at first, and then twice as
 * many. */
static void *find_growth(size_t size)
{
    if (size == 32 && !token_growth) {
        token_growth = __builtin_return_address(0);
    }
    return __real_malloc(size);
}

__attribute__((constructor)) static void wrap_json(void)
{
    json_set_alloc_funcs(find_growth, __real_free);
    json_decref(json_loads("\"a word of more than 16 bytes\"", JSON_DECODE_ANY, NULL));
    json_set_alloc_funcs(json_block, __wrap_free);
}
