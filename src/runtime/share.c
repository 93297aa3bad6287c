/* share.c - a runtime on some of a device's compute units. */
#include "runtime/internal.h"

enum { MOST_SHARES = 256 };

/* Divides the device in shares of like size; id receives one of them. */
static cl_int divide(cl_device_id whole, int units, int share, int shares,
                     cl_device_id *id)
{
    cl_device_partition_property counts[MOST_SHARES + 3] = {
        CL_DEVICE_PARTITION_BY_COUNTS
    };
    cl_device_id part[MOST_SHARES];
    for (int i = 0; i < shares; i++) {
        counts[1 + i] = units / shares + (i < units % shares);
    }
    counts[1 + shares] = CL_DEVICE_PARTITION_BY_COUNTS_LIST_END;
    const cl_int code = clCreateSubDevices(whole, counts, (cl_uint)shares, part, NULL);
    for (int i = 0; i < shares && !code; i++) {
        if (i == share) {
            *id = part[i];
        } else {
            clReleaseDevice(part[i]);
        }
    }
    return code;
}

cla_status cla_share_init(cla_runtime *rt, const cla_runtime *of, int share, int shares)
{
    const int units = of->device.compute_units;
    const int most = units < MOST_SHARES ? units : MOST_SHARES;
    if (shares < 1 || shares > most || share < 0 || share >= shares) {
        return cla_fail(CLA_E_USAGE, "share %d of %d: device '%s' has %d compute units",
                        share, shares, of->device.name, units);
    }
    rt->device = of->device;
    rt->platform = of->platform;
    const cl_int code = divide(of->id, units, share, shares, &rt->id);
    rt->shared = !code;
    rt->device.compute_units = units / shares + (share < units % shares);
    return code ? cla_cl_fail(code, "device '%s': division in %d shares",
                              of->device.name, shares)
                : CLA_OK;
}
