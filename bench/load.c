/* load.c - tells whether other work disturbs a measurement. */
#include "bench/load.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/platform.h"

/* Other work up to half of the processors changes medians by little. */
static const double OTHER_WORK = 0.5;

bench_load bench_load_now(const cla_device *device, bool measuring)
{
    bench_load now = { .load = -1, .processors = cla_os_processors() };
    if (!cla_os_load(&now.load)) {
        now.load = -1;
    }
    const double processors = (double)now.processors;
    const bool on_cpu = device && (device->kind == CLA_DEVICE_CPU ||
                                   device->kind == CLA_DEVICE_SOFTWARE);
    const double own = !measuring ? 0 : on_cpu ? processors : 1;
    now.most = own + OTHER_WORK * processors;
    return now;
}

bool bench_load_is_high(const bench_load *load)
{
    return load->load > load->most;
}

void bench_load_text(const bench_load *load, char *text, size_t size)
{
    snprintf(text, size, "load %.1f on %ld processors: other work is running",
             load->load, load->processors);
}
