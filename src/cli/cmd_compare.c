/* cmd_compare.c - clattn bench compare: two results or two programs, case by case. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bench/compare.h"
#include "cli/cli.h"

static const struct argp_option options[] = {
    { "provider", 'p', "P", 0,
      "take P where a file has it for a case (default: the faster of tile and group, "
      "or "
      "the fastest of another framework's)",
      0 },
    { "json", 'j', NULL, 0, "one JSON object a line", 0 },
    { "fail-if-slower", 'x', "P%", 0,
      "exit with 1 only if a case is slower by more than P per cent (5)", 0 },
    { "run", 'r', NULL, 0, "A and B are programs: run their benchmarks in turns", 0 },
    { "rounds", 'n', "N", 0, "with --run: how often each is run (9)", 0 },
    { "suite", 's', "SUITE", 0, "with --run, as for bench", 0 },
    { "filter", 'f', "RE", 0, "with --run, as for bench", 0 },
    { "device", 'd', "DEVICE", 0, "with --run, as for bench", 0 },
    { "quick", 'q', NULL, 0, "with --run, as for bench", 0 },
    { 0 },
};

/* "5%" or "5" as 0.05. */
static error_t take_percent(const char *value, double *part)
{
    char number[32];
    double percent = 0;
    const size_t size = strlen(value);
    snprintf(number, sizeof number, "%s", value);
    if (size && size < sizeof number && number[size - 1] == '%') {
        number[size - 1] = '\0';
    }
    if (size >= sizeof number || !cla_parse_double(number, &percent) ||
        !(percent >= 0 && percent <= 1000)) {
        cla_fail(CLA_E_USAGE, "--fail-if-slower is '%s', must be 0 to 1000 %%", value);
        return EINVAL;
    }
    *part = percent / 100;
    return 0;
}

/* Options that are for the other kind of comparison. */
static error_t check_kind(const bench_compare_options *o)
{
    const bool runs = o->suite || o->filter || o->device || o->quick;
    if (runs && !o->run) {
        cla_fail(CLA_E_USAGE, "--suite, --filter, --device and --quick need --run");
        return EINVAL;
    }
    if (o->provider && o->run) {
        cla_fail(CLA_E_USAGE, "--provider is for files, not for --run");
        return EINVAL;
    }
    return 0;
}

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
    case 'x':
        return take_percent(value, &o->fail_if_slower);
    case 'r':
        o->run = true;
        return 0;
    case 'n':
        return cli_take_int("rounds", value, BENCH_LEAST_ROUNDS, BENCH_MOST_ROUNDS,
                            &o->rounds);
    case 's':
        o->suite = value;
        return 0;
    case 'f':
        o->filter = value;
        return 0;
    case 'd':
        o->device = value;
        return 0;
    case 'q':
        o->quick = true;
        return 0;
    case ARGP_KEY_ARG:
        if (o->b) {
            return ARGP_ERR_UNKNOWN;
        }
        *(o->a ? &o->b : &o->a) = value;
        return 0;
    case ARGP_KEY_END:
        if (!o->b) {
            cla_fail(CLA_E_USAGE, o->run ? "needs two programs"
                                         : "needs two files of clattn bench --json");
            return EINVAL;
        }
        return check_kind(o);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "A.json B.json\n--run A B",
    .doc = "Pairs the cases of two files that `clattn bench --json' wrote, or of two "
           "programs that it runs in turns, and says how many times as fast B is. A "
           "case is faster, slower or the same (within 5 %); unsure means too much "
           "noise to tell. Exits with 1 when a case is slower.\v"
           "  clattn bench compare before.json after.json\n"
           "  clattn bench compare --run ./before ./after --quick --suite band\n"
           "  clattn bench compare before.json after.json --fail-if-slower 10%",
};

int cli_compare(int argc, char **argv)
{
    bench_compare_options o = { .fail_if_slower = BENCH_MARGIN, .rounds = 9 };
    int slower = 0;
    cla_status status = cli_parse(&argp, argc, argv, &o);
    if (!status) {
        status = o.run ? bench_compare_run(&o, &slower) : bench_compare(&o, &slower);
    }
    if (status) {
        return cli_fail(status);
    }
    return slower ? CLI_CHECK_FAILED : CLI_OK;
}
