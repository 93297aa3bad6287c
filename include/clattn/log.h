/* log.h - warnings and notes of the library.
 *
 * Errors are statuses with a text (cla_error). Warnings and notes go to a function of
 * the application; without one they are dropped. */
#pragma once

#include "clattn/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cla_log_level {
    CLA_LOG_ERROR,
    CLA_LOG_WARN,
    CLA_LOG_INFO,
    CLA_LOG_DEBUG,
} cla_log_level;

/* Takes one line without its newline. It may be called from any thread that uses the
 * library, also from two at once, and must not call the library. */
typedef void (*cla_log_function)(void *context, cla_log_level level, const char *line);

/* Sends lines of all levels to this function from now on. NULL, the default, drops
 * them. Call it while no other function of the library runs. */
CLA_API void cla_log_set(cla_log_function function, void *context);

/* A ready function: prints "clattn: warning: ..." on stderr when CLATTN_LOG (error,
 * warn, info or debug; default warn) lets the level through. It uses no context. */
CLA_API void cla_log_to_stderr(void *context, cla_log_level level, const char *line);

#ifdef __cplusplus
}
#endif
