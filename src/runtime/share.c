/* share.c - runtimes on some of a device's compute units. */

#include "base/platform_thread.h"
#include "runtime/internal.h"

enum { MOST_SHARES = 256, DIVISIONS = 16 };

/* A device and its parts. They stay until the process ends: PoCL 3.1 reads a part after
 * its last command is done and its queue is released. */
typedef struct division {
    cl_device_id whole, part[MOST_SHARES];
    int shares;
} division;

static cla_mutex lock = CLA_MUTEX_INIT; // guards the two below
static division known[DIVISIONS];
static int known_count;

/* Divides a device into shares of nearly equal size. */
static cla_status divide(division *d, const cla_device *device)
{
    const int units = device->compute_units;
    cl_device_partition_property counts[MOST_SHARES + 3] = {
        CL_DEVICE_PARTITION_BY_COUNTS
    };
    for (int i = 0; i < d->shares; i++) {
        counts[1 + i] = units / d->shares + (i < units % d->shares);
    }
    counts[1 + d->shares] = CL_DEVICE_PARTITION_BY_COUNTS_LIST_END;
    const cl_int code =
        clCreateSubDevices(d->whole, counts, (cl_uint)d->shares, d->part, NULL);
    return code ? cla_cl_fail(code, "device '%s': division in %d shares", device->name,
                              d->shares)
                : CLA_OK;
}

/* Finds or makes the division of a device into this many shares. The caller holds the
 * lock. */
static cla_status find(const division **out, const cla_runtime *of, int shares)
{
    for (int i = 0; i < known_count; i++) {
        if (known[i].whole == of->id && known[i].shares == shares) {
            *out = &known[i];
            return CLA_OK;
        }
    }
    if (known_count == DIVISIONS) {
        return cla_fail(CLA_E_USAGE, "device '%s': more than %d divisions",
                        of->device.name, DIVISIONS);
    }
    division *d = &known[known_count];
    d->whole = of->id;
    d->shares = shares;
    CLA_TRY(divide(d, &of->device));
    known_count++;
    *out = d;
    return CLA_OK;
}

cla_status cla_share_init(cla_runtime *rt, const cla_runtime *of, int share, int shares)
{
    const int units = of->device.compute_units;
    if (share < 0 || share >= shares || shares > units || shares > MOST_SHARES) {
        return cla_fail(CLA_E_USAGE, "share %d of %d: device '%s' has %d compute units",
                        share, shares, of->device.name, units);
    }
    const division *d = NULL;
    cla_mutex_lock(&lock);
    const cla_status status = find(&d, of, shares);
    cla_mutex_unlock(&lock);
    CLA_TRY(status);
    rt->device = of->device;
    rt->platform = of->platform;
    rt->id = d->part[share];
    rt->device.compute_units = units / shares + (share < units % shares);
    return CLA_OK;
}
