/* cmd_devices.c - clattn devices: lists the OpenCL devices. */
#include <stdio.h>
#include <string.h>

#include "clattn/runtime.h"
#include "cli/cli.h"
#include "ops/matmul.h"

typedef struct devices_options {
    bool verbose, json;
} devices_options;

static const cli_option options[] = {
    CLI_JSON(devices_options, json),
    { "verbose", 'v', NULL, "all that is known, several lines a device", CLI_FLAG,
      .at = offsetof(devices_options, verbose) },
    { 0 },
};

const cli_usage cli_devices_usage = {
    .options = options,
    .about =
        "Lists the OpenCL devices, best first. A star marks the one that is used when "
        "--device is not given.",
};

static const char *kind_name(cla_device_kind kind)
{
    static const char *const names[] = { "gpu", "integrated", "cpu", "accelerator",
                                         "software" };
    return names[kind];
}

static cla_status print_object(const cla_device *d)
{
    char place[32];
    snprintf(place, sizeof place, "%d:%d", d->platform, d->member);
    json_t *o = json_pack(
        "{si ss so so so ss so so sI sI sI si si si sb sb ss ss ss? sb}", "index",
        d->index, "id", place, "name", cli_json_text(d->name), "vendor",
        cli_json_text(d->vendor), "platform", cli_json_text(d->platform_name), "type",
        kind_name(d->kind), "driver", cli_json_text(d->driver), "version",
        cli_json_text(d->version), "memory_bytes", (json_int_t)d->memory_bytes,
        "max_buffer_bytes", (json_int_t)d->max_buffer_bytes, "local_bytes",
        (json_int_t)d->local_bytes, "compute_units", d->compute_units, "clock_mhz",
        d->clock_mhz, "vector_width", d->vector_width, "fp16", (int)d->fp16,
        "subgroups", (int)d->subgroups, "gemm", cla_product_provider(d), "unit",
        cla_unit_name(cla_unit_of(d)), "uuid", *d->uuid ? d->uuid : NULL, "default",
        (int)d->is_default);
    return cli_print_json(o);
}

static const char *yes_no(bool value)
{
    return value ? "yes" : "no";
}

static double gib(uint64_t bytes)
{
    return (double)bytes / (1024.0 * 1024.0 * 1024.0);
}

static void print_heading(void)
{
    printf("  %2s  %-11s  %8s  %6s  %-4s  %-10s  %-7s  %s\n", "#", "type", "memory",
           "vector", "fp16", "sub-groups", "gemm", "name (vendor, driver)");
}

static void print_line(const cla_device *d)
{
    const char *gemm = cla_product_provider(d); // the line shows its first word only
    printf("%c %2d  %-11s  %4.1f GiB  %6d  %-4s  %-10s  %-7.*s  %s (%s, %s)\n",
           d->is_default ? '*' : ' ', d->index, kind_name(d->kind),
           gib(d->memory_bytes), d->vector_width, yes_no(d->fp16), yes_no(d->subgroups),
           (int)strcspn(gemm, " "), gemm, d->name, d->vendor, d->driver);
}

static void print_details(const cla_device *d)
{
    printf("%c %2d  %s\n", d->is_default ? '*' : ' ', d->index, d->name);
    printf("     vendor         %s\n", d->vendor);
    printf("     platform       %s, device %d:%d\n", d->platform_name, d->platform,
           d->member);
    printf("     type           %s\n", kind_name(d->kind));
    printf("     driver         %s, %s\n", d->driver, d->version);
    printf("     memory         %.1f GiB, at most %.1f GiB in one buffer\n",
           gib(d->memory_bytes), gib(d->max_buffer_bytes));
    printf("     local memory   %llu KiB\n", (unsigned long long)d->local_bytes / 1024);
    printf("     compute units  %d at %d MHz\n", d->compute_units, d->clock_mhz);
    printf("     vector width   %d floats\n", d->vector_width);
    printf("     fp16           %s\n", yes_no(d->fp16));
    printf("     sub-groups     %s\n", yes_no(d->subgroups));
    printf("     gemm           %s\n", cla_product_provider(d));
    printf("     matrix unit    %s\n", cla_unit_name(cla_unit_of(d)));
    if (*d->uuid) {
        printf("     uuid           %s\n", d->uuid);
    }
}

static cla_status print_device(const cla_device *d, const devices_options *o)
{
    if (o->json) {
        return print_object(d);
    }
    if (o->verbose) {
        print_details(d);
    } else {
        print_line(d);
    }
    return CLA_OK;
}

/* Checks the default device. A wrong CLATTN_DEVICE is an error here too, but after the
 * list, which helps to correct it. */
static cla_status check_default(const cla_device *list, int count)
{
    for (int i = 0; i < count; i++) {
        if (list[i].is_default) {
            return CLA_OK;
        }
    }
    cla_runtime *rt = NULL;
    const cla_status status = cla_runtime_new(&rt, NULL);
    cla_runtime_free(&rt);
    return status;
}

int cli_devices(int argc, char **argv)
{
    devices_options o = { 0 };
    cla_status status = cli_read(&cli_devices_usage, argc, argv, &o);
    if (status) {
        return cli_fail(status);
    }
    cla_device *list = NULL;
    int count = 0;
    status = cla_devices(&list, &count);
    if (count > 0 && !o.json && !o.verbose) {
        print_heading();
    }
    for (int i = 0; i < count && !status; i++) {
        status = print_device(&list[i], &o);
    }
    if (!status) {
        status = check_default(list, count);
    }
    cla_devices_free(&list);
    return status ? cli_fail(status) : CLI_OK;
}
