/* profile.c - device time by kernel, from events. */
#include <stdio.h>
#include <string.h>

#include "runtime/internal.h"

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
    **row = (cla_profile_row){ { 0 }, 0, 0 };
    snprintf((*row)->kernel, sizeof(*row)->kernel, "%s", kernel);
    return CLA_OK;
}

cla_status cla_profile_add(cla_runtime *rt, const char *kernel, cl_event event)
{
    cl_ulong start = 0, end = 0;
    cl_int code = clWaitForEvents(1, &event);
    code = code ? code
                : clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START,
                                          sizeof start, &start, NULL);
    code = code ? code
                : clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end,
                                          &end, NULL);
    clReleaseEvent(event);
    if (code) {
        return cla_cl_fail(code, "profile of %s", kernel);
    }
    cla_profile_row *row = NULL;
    CLA_TRY(find_row(&rt->profile, kernel, &row));
    row->launches++;
    row->total_ms += (double)(end - start) * 1e-6;
    return CLA_OK;
}

void cla_profile_enable(cla_runtime *rt, bool on)
{
    if (rt) rt->profile.on = on;
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
    if (rt->profile.count) {
        qsort(rt->profile.rows, rt->profile.count, sizeof *rt->profile.rows,
              longer_first);
    }
    if (count) *count = (int)rt->profile.count;
    return rt->profile.rows;
}
