/* profile.c - launches, bytes and device time by kernel, from events. */
#include <stdio.h>
#include <string.h>

#include "base/platform.h"
#include "runtime/internal.h"

enum { MOST_TIMED = 4096 }; // most commands whose times are not read yet

static cla_status find_row(cla_profile *p, const char *kernel, cla_profile_row **row)
{
    for (size_t i = 0; i < p->count; i++) {
        if (strcmp(p->rows[i].kernel, kernel) == 0) {
            *row = &p->rows[i];
            return CLA_OK;
        }
    }
    CLA_TRY(cla_grow(&p->rows, &p->cap, p->count + 1, sizeof *p->rows));
    *row = &p->rows[p->count++];
    **row = (cla_profile_row){ .launches = 0 };
    snprintf((*row)->kernel, sizeof(*row)->kernel, "%s", kernel);
    return CLA_OK;
}

/* Waits for the end of a command and gives the milliseconds that it took. */
static cla_status read_time(const char *kernel, cl_event event, double *ms)
{
    cl_ulong start = 0, end = 0;
    cl_int code = clWaitForEvents(1, &event);
    code = code ? code
                : clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START,
                                          sizeof start, &start, NULL);
    code = code ? code
                : clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end,
                                          &end, NULL);
    *ms = end > start ? (double)(end - start) * 1e-6 : 0;
    return code ? cla_cl_fail(code, "profile of %s", kernel) : CLA_OK;
}

/* Reads the times of all commands whose events are kept. */
static cla_status read_times(cla_profile *p)
{
    cla_status status = CLA_OK;
    for (size_t i = 0; i < p->timed_count; i++) {
        cla_profile_row *row = &p->rows[p->timed[i].row];
        double ms = 0;
        status = status ? status : read_time(row->kernel, p->timed[i].event, &ms);
        row->total_ms += ms;
        clReleaseEvent(p->timed[i].event);
    }
    p->timed_count = 0;
    return status;
}

static cla_status keep_event(cla_profile *p, cl_event event, size_t row)
{
    const cla_status status =
        cla_grow(&p->timed, &p->timed_cap, p->timed_count + 1, sizeof *p->timed);
    if (status) {
        clReleaseEvent(event);
        return status;
    }
    p->timed[p->timed_count++] = (cla_timed){ event, row };
    return p->timed_count < MOST_TIMED ? CLA_OK : read_times(p);
}

cla_status cla_profile_add(cla_runtime *rt, const char *kernel, size_t bytes,
                           cl_event event)
{
    cla_profile *p = &rt->profile;
    cla_profile_row *row = NULL;
    if (!p->on) {
        return CLA_OK;
    }
    cla_status status = find_row(p, kernel, &row);
    if (!status) {
        row->launches++;
        row->bytes += (int64_t)bytes;
        status = event ? keep_event(p, event, (size_t)(row - p->rows)) : CLA_OK;
        event = NULL;
    }
    if (event) {
        clReleaseEvent(event);
    }
    return status;
}

cla_status cla_profile_shared(cla_runtime *rt, const char *kernel, size_t bytes,
                              cl_event event)
{
    const cl_int code = rt->profile.on && event ? clRetainEvent(event) : CL_SUCCESS;
    return code ? cla_cl_fail(code, "profile of %s", kernel)
                : cla_profile_add(rt, kernel, bytes, event);
}

/* Reads the last times, for functions without a status. Returns false on failure. */
static bool read_rest(cla_runtime *rt)
{
    if (rt->process == cla_os_process() && rt->profile.timed_count &&
        read_times(&rt->profile)) {
        cla_log(CLA_LOG_WARN, "%s", cla_error());
        return false;
    }
    return true;
}

void cla_profile_enable(cla_runtime *rt, bool on)
{
    if (!rt) return;

    CLA_HOLD_WAIT(rt);
    if (on != rt->profile.on) {
        read_rest(rt);
        rt->profile.on = on;
    }
}

bool cla_profile_on(const cla_runtime *rt)
{
    return rt->profile.on;
}

cla_status cla_profile_library(cla_runtime *rt, const char *name, size_t bytes,
                               void *event)
{
    return cla_profile_add(rt, name, bytes, event);
}

void cla_profile_clear(cla_runtime *rt)
{
    rt->waits = (cla_waits){ 0 };
    read_rest(rt);
    rt->profile.count = 0;
}

void cla_profile_fini(cla_runtime *rt)
{
    for (size_t i = 0; i < rt->profile.timed_count; i++) {
        clReleaseEvent(rt->profile.timed[i].event);
    }
    rt->profile.timed_count = 0;
}

static int longer_first(const void *a, const void *b)
{
    const double x = ((const cla_profile_row *)a)->total_ms;
    const double y = ((const cla_profile_row *)b)->total_ms;
    return (x < y) - (x > y);
}

const cla_profile_row *cla_profile_rows(cla_runtime *rt, int *count)
{
    if (count) *count = 0;
    if (!rt) return NULL;

    CLA_HOLD_WAIT(rt);
    if (!read_rest(rt)) return NULL;

    if (rt->profile.count) {
        qsort(rt->profile.rows, rt->profile.count, sizeof *rt->profile.rows,
              longer_first);
    }
    if (count) *count = (int)rt->profile.count;
    return rt->profile.rows;
}
