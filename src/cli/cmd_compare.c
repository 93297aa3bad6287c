/* cmd_compare.c - clattn bench compare: two results against each other. */
#include <errno.h>

#include "bench/compare.h"
#include "cli/cli.h"

static const struct argp_option options[] = {
    { "provider", 'p', "P", 0,
      "take P where a file has it for a case (default: the faster of tile and group, "
      "or "
      "the fastest of another framework's)",
      0 },
    { "json", 'j', NULL, 0, "one JSON object a line", 0 },
    { 0 },
};

// NOLINTNEXTLINE(readability-non-const-parameter): argp's own type
static error_t parse(int key, char *value, struct argp_state *state)
{
    bench_compare_options *o = state->input;
    switch (key) {
    case 'p':
        o->provider = value;
        return 0;
    case 'j':
        o->json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (o->b) {
            return ARGP_ERR_UNKNOWN;
        }
        *(o->a ? &o->b : &o->a) = value;
        return 0;
    case ARGP_KEY_END:
        if (!o->b) {
            cla_fail(CLA_E_USAGE, "needs two files of clattn bench --json");
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
    .args_doc = "A.json B.json",
    .doc =
        "Pairs the cases of two files that `clattn bench --json' wrote and says how "
        "many "
        "times as fast B is. Exits 1 when a pair differs: medians apart by more than "
        "both interquartile ranges and 5 %.",
};

int cli_compare(int argc, char **argv)
{
    bench_compare_options o = { 0 };
    int differing = 0;
    cla_status status = cli_parse(&argp, argc, argv, &o);
    status = status ? status : bench_compare(&o, &differing);
    if (status) {
        return cli_fail(status);
    }
    return differing ? CLI_CHECK_FAILED : CLI_OK;
}
