/* cmd_tune.c - clattn tune: finds the constants that suit a device. */
#include <errno.h>

#include "base/text.h"
#include "bench/tune.h"
#include "cli/cli.h"

static const struct argp_option options[] = {
    { "device", 'd', "DEVICE", 0, "as for the other commands", 0 },
    { "seconds", 's', "N", 0, "begin nothing after N seconds (default: 60)", 0 },
    { 0 },
};

static error_t parse(int key, char *value, struct argp_state *state)
{
    bench_tune_options *o = state->input;
    switch (key) {
    case 'd':
        o->device = value;
        return 0;
    case 's':
        if (!cla_parse_double(value, &o->seconds) || !(o->seconds > 0)) {
            cla_fail(CLA_E_USAGE, "--seconds '%s' is no number above 0", value);
            return EINVAL;
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .doc =
        "Measures matrix products, tile sizes and crossovers on a device, checks each "
        "candidate's result before its speed, and writes the winners to the tuning "
        "file "
        "($CLATTN_TUNING, or tuning.json in the data folder). Never required.",
};

int cli_tune(int argc, char **argv)
{
    bench_tune_options o = { .seconds = 60 };
    cla_status status = cli_parse(&argp, argc, argv, &o);
    status = status ? status : bench_tune(&o);
    return status ? cli_fail(status) : CLI_OK;
}
