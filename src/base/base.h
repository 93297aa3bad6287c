/* base.h - statuses, logging, clock and host memory: what every room uses. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "clattn/log.h"

/* Stores this thread's error text and returns code. */
cla_status cla_fail(cla_status code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* As cla_fail, with a second line that is an excerpt of what was read, such as an
 * expression, and a third with a caret under its column, counted from 0. */
cla_status cla_fail_at(cla_status code, const char *excerpt, int column,
                       const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Puts "prefix: " in front of this thread's error text; returns code. */
cla_status cla_fail_within(cla_status code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Fails with CLA_E_USAGE when one of these n pointers is NULL: "gelu: x is NULL". who
 * is the function's name, names are those of the pointers with ", " between them. */
cla_status cla_need(const char *who, const char *names, const void *const *pointers,
                    size_t n);

/* The first line of a public function: what must not be NULL. */
#define CLA_NEED(...)                                                              \
    CLA_TRY(cla_need(__func__, #__VA_ARGS__, (const void *const[]){ __VA_ARGS__ }, \
                     sizeof((const void *const[]){ __VA_ARGS__ }) / sizeof(void *)))

/* Fails with CLA_E_USAGE unless the four words that options reserve are 0. */
cla_status cla_reserved(const char *who, const uint64_t reserved[4]);

/* "shape", "device" ...: one word for a code. */
const char *cla_status_name(cla_status code);

/* Forwards a failure to the caller. */
#define CLA_TRY(expr)                        \
    do {                                     \
        cla_status cla_try_status_ = (expr); \
        if (cla_try_status_) {               \
            return cla_try_status_;          \
        }                                    \
    } while (0)

/* One line to the function of cla_log_set. */
void cla_log(cla_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Whether CLATTN_LOG lets a level through. */
bool cla_log_enabled(cla_log_level level);
/* Errors: CLA_E_USAGE when CLATTN_LOG is set to something else. */
cla_status cla_log_check(void);

/* Monotonic time. */
int64_t cla_time_ns(void);

/* calloc that reports: *out is zeroed memory for n things of size bytes. */
cla_status cla_alloc(void *out, size_t n, size_t size);
/* Grows *items (capacity *cap) to hold at least need things of size bytes. */
cla_status cla_grow(void *items, size_t *cap, size_t need, size_t size);
cla_status cla_strdup(char **out, const char *text);
