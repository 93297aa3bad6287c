/* log.c - log lines with a level, for the application. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "base/locale.h"
#include "base/platform.h"
#include "base/text.h"

static const char *const level_names[] = { "error", "warning", "info", "debug" };

/* The words of CLATTN_LOG. */
static const char *const level_words[] = { "error", "warn", "info", "debug" };

/* Returns the level that CLATTN_LOG sets, or -1 when its value is not a level. */
static int level_from_environment(void)
{
    const char *word = cla_os_getenv("CLATTN_LOG");
    if (!word || !*word) {
        return CLA_LOG_WARN;
    }
    for (int i = CLA_LOG_ERROR; i <= CLA_LOG_DEBUG; i++) {
        if (cla_equals_nocase(word, level_words[i])) {
            return i;
        }
    }
    return -1;
}

cla_status cla_log_check(void)
{
    if (level_from_environment() >= 0) {
        return CLA_OK;
    }
    return cla_fail(CLA_E_USAGE,
                    "CLATTN_LOG is '%s', must be error, warn, info or debug",
                    cla_os_getenv("CLATTN_LOG"));
}

bool cla_log_enabled(cla_log_level level)
{
    static _Atomic int known; // level + 1, or 0 before the first call
    int limit = atomic_load(&known);
    if (!limit) {
        const int known_level = level_from_environment();
        limit = (known_level < 0 ? CLA_LOG_WARN : known_level) + 1;
        atomic_store(&known, limit);
    }
    return (int)level < limit;
}

static cla_log_function listener;
static void *listener_context;

void cla_log_set(cla_log_function function, void *context)
{
    listener = function;
    listener_context = context;
}

void cla_log_to_stderr(void *context, cla_log_level level, const char *line)
{
    (void)context;
    if (line && !CLA_UNKNOWN("level", level, CLA_LOG_DEBUG) && cla_log_enabled(level)) {
        // one call, so that lines of several threads do not mix
        fprintf(stderr, "clattn: %s: %s\n", level_names[level], line);
    }
}

void cla_log(cla_log_level level, const char *format, ...)
{
    if (!listener) return;

    char text[8192], line[sizeof text];
    va_list args;
    va_start(args, format);
    void *before = cla_locale_enter();
    vsnprintf(text, sizeof text, format, args);
    cla_locale_leave(before);
    va_end(args);
    cla_escape(line, sizeof line, text, true);
    listener(listener_context, level, line);
}
