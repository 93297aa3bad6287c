/* base.h - error statuses, logging, clock and host memory. */
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

/* Does the same and adds a line with an excerpt of the input, such as an expression,
 * and a line with a caret under its column, counted from 0. */
cla_status cla_fail_at(cla_status code, const char *excerpt, int column,
                       const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Puts the formatted text and ": " in front of this thread's error text; returns
 * code. */
cla_status cla_fail_within(cla_status code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Fails with CLA_E_USAGE when one of pointers [n] is NULL: "gelu: x is NULL".
 *
 * who    in  name of the calling function, with its "cla_"
 * names  in  names of the pointers, separated by ", " */
cla_status cla_need(const char *who, const char *names, const void *const *pointers,
                    size_t n);

/* Checks that none of these pointers is NULL; the first line of a public function. */
#define CLA_NEED(...)                                                              \
    CLA_TRY(cla_need(__func__, #__VA_ARGS__, (const void *const[]){ __VA_ARGS__ }, \
                     sizeof((const void *const[]){ __VA_ARGS__ }) / sizeof(void *)))

/* Fails with CLA_E_USAGE unless value is 0 to last: "linear: activation is 7, must be 0
 * to 2 (CLA_TANH)".
 *
 * who   in  name of the calling function, with its "cla_"
 * name  in  of the argument, or "options.gate" for a member of a structure
 * most  in  name of the constant last */
cla_status cla_known(const char *who, const char *name, int value, int last,
                     const char *most);

/* Checks that an enum has one of its values; the line behind CLA_NEED or CLA_OP.
 * CLA_UNKNOWN is for functions that return no status: they do nothing then. */
#define CLA_UNKNOWN(name, value, last) \
    cla_known(__func__, name, (int)(value), (int)(last), #last)
#define CLA_KNOWN(name, value, last) CLA_TRY(CLA_UNKNOWN(name, value, last))

/* Fails with CLA_E_USAGE unless the four reserved words of an options struct are 0. */
cla_status cla_reserved(const char *who, const uint64_t reserved[4]);

/* Returns one word for a code: "shape", "device" ... */
const char *cla_status_name(cla_status code);

/* Returns the status of expr from the calling function when it is a failure. */
#define CLA_TRY(expr)                        \
    do {                                     \
        cla_status cla_try_status_ = (expr); \
        if (cla_try_status_) {               \
            return cla_try_status_;          \
        }                                    \
    } while (0)

/* Passes a line to the function of cla_log_set, if there is one. */
void cla_log(cla_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Returns whether CLATTN_LOG enables a level. */
bool cla_log_enabled(cla_log_level level);
/* Checks CLATTN_LOG. Errors: CLA_E_USAGE when its value is not a level. */
cla_status cla_log_check(void);

/* Returns the monotonic time in nanoseconds. */
int64_t cla_time_ns(void);

enum { CLA_DATE_BYTES = 21 };

/* Writes the time of day in UTC, such as "2026-01-31T23:59:59Z"; the empty text when it
 * is unknown. */
void cla_time_utc(char text[CLA_DATE_BYTES]);
/* Reads such a time: seconds since some day. Returns false when text is none. */
bool cla_time_read(int64_t *seconds, const char *text);

/* Allocates zeroed memory for n items of size bytes. out is the address of a pointer of
 * any type. Errors: CLA_E_NOMEM. */
cla_status cla_alloc(void *out, size_t n, size_t size);
/* Grows the array *items of capacity *cap to hold at least need items of size bytes.
 * Errors: CLA_E_NOMEM. */
cla_status cla_grow(void *items, size_t *cap, size_t need, size_t size);
cla_status cla_strdup(char **out, const char *text);
