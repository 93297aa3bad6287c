/* cmd_compare.c - clattn bench compare: compares two results or programs by cases. */
#include <stdio.h>
#include <string.h>

#include "bench/compare.h"
#include "cli/cli.h"

typedef struct arguments {
    bench_compare_options options;
    cli_words two; // files or programs
} arguments;

/* Parses "5%" or "5" as 0.05. */
static cla_status take_percent(void *arguments_, const char *value)
{
    arguments *a = arguments_;
    char number[32];
    double percent = 0;
    const size_t size = strlen(value);
    snprintf(number, sizeof number, "%s", value);
    if (size && size < sizeof number && number[size - 1] == '%') {
        number[size - 1] = '\0';
    }
    if (size >= sizeof number || !cla_parse_double(number, &percent) ||
        !(percent >= 0 && percent <= 1000)) {
        return cla_fail(CLA_E_USAGE, "--fail-if-slower is '%s', must be 0 to 1000 %%",
                        value);
    }
    a->options.fail_if_slower = percent / 100;
    return CLA_OK;
}

#define AT(member) .at = offsetof(arguments, options.member)

static const cli_option options[] = {
    { "provider", 'p', "P",
      "take P where a file has it for a case (default: the faster of tile and group, "
      "or the fastest of another framework's)",
      CLI_TEXT, AT(provider) },
    CLI_JSON(arguments, options.json),
    { "fail-if-slower", 'x', "P%",
      "exit with 1 only if a case is slower by more than P per cent (5)", CLI_TAKE,
      .take = take_percent },
    { "run", 'r', NULL, "A and B are programs: run their benchmarks in turns", CLI_FLAG,
      AT(run) },
    { "rounds", 'n', "N", "with --run: how often each is run (9)", CLI_INT, AT(rounds),
      .low = BENCH_LEAST_ROUNDS, .high = BENCH_MOST_ROUNDS },
    { "suite", 's', "SUITE", "with --run, as for bench", CLI_TEXT, AT(suite) },
    { "filter", 'f', "RE", "with --run, as for bench", CLI_TEXT, AT(filter) },
    { "device", 'd', "DEVICE", "with --run, as for bench", CLI_TEXT, AT(device) },
    { "quick", 'q', NULL, "with --run, as for bench", CLI_FLAG, AT(quick) },
    { 0 },
};

/* Refuses options that belong to the other kind of comparison. */
static cla_status check(const void *arguments_)
{
    const bench_compare_options *o = &((const arguments *)arguments_)->options;
    if ((o->rounds || o->suite || o->filter || o->device || o->quick) && !o->run) {
        return cla_fail(CLA_E_USAGE,
                        "--rounds, --suite, --filter, --device and --quick need --run");
    }
    return o->provider && o->run
               ? cla_fail(CLA_E_USAGE, "--provider is for files, not for --run")
               : CLA_OK;
}

const cli_usage cli_compare_usage = {
    .options = options,
    .words = "A.json B.json\n--run A B",
    .words_at = offsetof(arguments, two),
    .least = 2,
    .most = 2,
    .lacks = "two files of clattn bench --json, or --run and two programs",
    .check = check,
    .about =
        "Pairs the cases of two files that `clattn bench --json' wrote, or of two "
        "programs that it runs in turns, and says how many times as fast B is. A case "
        "is faster, slower or the same (within 5 %); unsure means too much noise to "
        "tell. Exits with 1 when a case is slower.",
    .more = "  clattn bench compare before.json after.json\n"
            "  clattn bench compare --run ./before ./after --quick --suite band\n"
            "  clattn bench compare before.json after.json --fail-if-slower 10%",
};

int cli_compare(int argc, char **argv)
{
    arguments a = { .options = { .fail_if_slower = BENCH_MARGIN } };
    bench_compare_options *o = &a.options;
    int slower = 0;
    cla_status status = cli_read(&cli_compare_usage, argc, argv, &a);
    if (!status) {
        o->a = a.two.word[0];
        o->b = a.two.word[1];
        o->rounds = o->rounds ? o->rounds : 9;
        status = o->run ? bench_compare_run(o, &slower) : bench_compare(o, &slower);
    }
    if (status) {
        return cli_fail(status);
    }
    return slower ? CLI_CHECK_FAILED : CLI_OK;
}
