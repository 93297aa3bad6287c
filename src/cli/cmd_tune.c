/* cmd_tune.c - clattn tune: finds the constants that suit a device. */
#include <errno.h>

#include "base/text.h"
#include "bench/tune.h"
#include "cli/cli.h"

static cla_status take_seconds(void *options, const char *value)
{
    bench_tune_options *o = options;
    return cla_parse_double(value, &o->seconds) && o->seconds > 0
               ? CLA_OK
               : cla_fail(CLA_E_USAGE, "--seconds '%s' is no number above 0", value);
}

static const cli_option options[] = {
    CLI_DEVICE(bench_tune_options, device),
    { "seconds", 's', "N", "begin nothing after N seconds (default: 60)", CLI_TAKE,
      .take = take_seconds },
    { 0 },
};

const cli_usage cli_tune_usage = {
    .options = options,
    .about =
        "Measures matrix products, tile sizes and crossovers on a device, checks each "
        "candidate's result before its speed, and writes the winners to the tuning "
        "file ($CLATTN_TUNING, or tuning.json in the data folder). Never required.",
};

int cli_tune(int argc, char **argv)
{
    bench_tune_options o = { .seconds = 60 };
    cla_status status = cli_read(&cli_tune_usage, argc, argv, &o);
    status = status ? status : bench_tune(&o);
    return status ? cli_fail(status) : CLI_OK;
}
