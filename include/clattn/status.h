/* status.h - status codes and error texts.
 *
 * Every function that can fail returns a cla_status. The text of the last failure
 * on this thread, with the numbers in it, is cla_error(). The library never
 * prints (see log.h), exits or aborts. Thread-safety: safe.
 *
 * CLA_E_USAGE with the argument's name: a NULL pointer where none is allowed, a value
 * that the enum does not have, a tensor, batch, buffer or queue of another runtime.
 * Functions that return no status do nothing then, and return 0, NULL or "". */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CLA_API __attribute__((visibility("default")))
#else
#define CLA_API
#endif

/* Codes by what the caller can do about it. */
typedef enum cla_status {
    CLA_OK = 0,
    CLA_E_USAGE = 2,   // an argument or option is wrong: mend the call
    CLA_E_INPUT = 3,   // a file holds bad data: mend the file
    CLA_E_DEVICE = 4,  // a device or driver failed: choose another
    CLA_E_NOMEM = 5,   // host or device memory: ask for less
    CLA_E_IO = 6,      // a file or folder cannot be read or written
    CLA_E_NUMERIC = 7, // NaN, infinity or divergence
    CLA_E_SHAPE = 8,   // tensors do not fit together: mend the shapes
} cla_status;

/* The text of this thread's last failure, never NULL, "" before any. It is one line; an
 * error inside an expression adds the expression and a caret under the place. It stays
 * until the next failure on this thread. */
CLA_API const char *cla_error(void);

/* The library's version, such as "0.1.0". */
CLA_API const char *cla_version(void);

#ifdef __cplusplus
}
#endif
