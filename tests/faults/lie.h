/* lie.h - OpenCL calls that answer falsely when told to. */
#pragma once

#include <stdbool.h>

#include "runtime/device.h"

typedef enum lie_kind {
    LIE_FAILS, // CL_INVALID_VALUE
    LIE_ZERO,  // all bytes 0
    LIE_HUGE,  // all bits 1
    LIE_VALUE,
} lie_kind;

/* The names of all calls that can fail, then NULL. */
extern const char *const lie_calls[];

/* Whether only a run that compiles makes the call. */
bool lie_is_cold(const char *call);

/* From now on a device's property is a lie; the value is that of LIE_VALUE. */
void lie_about(cl_device_info what, lie_kind kind, cl_ulong value);

/* The next use of a call returns code and does nothing. */
void lie_in(const char *call, cl_int code);

/* Whether that happened. */
bool lie_told(void);

void lie_stop(void);

/* Notes the properties that are asked for; lie_recorded() returns how many these were
 * and stops. */
void lie_record(void);
int lie_recorded(cl_device_info *what, int most);
