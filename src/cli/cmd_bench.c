/* cmd_bench.c - clattn bench: times the operators. */
#include <string.h>

#include "base/text.h"
#include "bench/command.h"
#include "bench/harness.h"
#include "cli/cli.h"
#include "cli/signals.h"
#include "commit.h"

typedef struct bench_words {
    bench_options options;
    bool child;
} bench_words;

#define AT(member) .at = offsetof(bench_words, member)

static const cli_option options[] = {
    { "device", 'd', "DEVICE|all",
      "as for the other commands, or all of them one after the other", CLI_TEXT,
      AT(options.device) },
    { "precision", 0, "WORD", cli_precision_help, CLI_TEXT, AT(options.precision),
      .choices = CLA_PRECISION_NAMES },
    { "suite", 's', "SUITE", "the cases of one suite", CLI_TEXT, AT(options.suite),
      .names = bench_suite_names },
    { "filter", 'f', "RE", "cases whose names match (POSIX extended)", CLI_TEXT,
      AT(options.filter) },
    { "custom", 0, "EXPR",
      "time attention with this score, such as 's - slope[h] * abs(j - i)', and plain "
      "attention beside it; nothing else",
      CLI_TEXT, AT(options.custom) },
    { "quick", 'q', NULL, "fewer cases, shorter timings, the device's own schedule",
      CLI_FLAG, AT(options.quick) },
    { "json", 'j', "FILE",
      "write a JSON object for each row to FILE as soon as it is measured; - is "
      "standard output",
      CLI_TEXT, AT(options.json), .output = CLI_OUT_DIRECT },
    { "verify", 'v', NULL, "check each result first; a wrong one gets no speed",
      CLI_FLAG, AT(options.verify) },
    { "startup-child", 0, NULL, NULL, CLI_FLAG, AT(child) }, // for bench itself
    { 0 },
};

static const cli_command verbs[] = {
    { "compare", "compare two results", cli_compare, &cli_compare_usage },
    { 0 },
};

const cli_usage cli_bench_usage = {
    .options = options,
    .words = "\ncompare A.json B.json",
    .verbs = verbs,
    .about =
        "Times the operators: warms up, repeats, and gives the median, the spread of "
        "the middle half, GFLOP/s, GB/s and the share of the device's measured peak. "
        "`clattn bench compare' compares two results. SIGINT keeps the rows measured "
        "so far and exits with 130.",
    .more = "  clattn bench --quick\n"
            "  clattn bench --suite band --filter 'fwd .* T512' --json band.json\n"
            "  clattn bench --custom 's - slope[h] * abs(j - i)'\n"
            "  clattn bench --device all --verify --json all.json",
};

/* Appends the message that a signal leaves on stderr. */
static cla_status say_farewell(const bench_options *o, cla_text *text)
{
    const bool file = o->json && strcmp(o->json, "-") != 0;
    return cla_text_add(text, "\nclattn: stopped%s%s\n",
                        file ? "; the rows measured so far are in " : "",
                        file ? o->json : "");
}

static int run_child(const bench_words *words)
{
    const cla_status status = bench_startup_child(words->options.device);
    return status ? cli_fail(status) : CLI_OK;
}

static int run_suites(const bench_options *o)
{
    int failed = 0;
    cla_text farewell = { 0 };
    if (say_farewell(o, &farewell)) {
        return cli_fail(CLA_E_NOMEM);
    }
    cli_exit_on_signals(farewell.data);
    const cla_status status = bench_suites_run(o, &failed);
    if (status) {
        return cli_fail(status);
    }
    return failed ? CLI_CHECK_FAILED : CLI_OK;
}

int cli_bench(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "compare") == 0) {
        static char name[] = "clattn bench compare";
        argv[1] = name;
        return cli_compare(argc - 1, argv + 1);
    }
    bench_words words = { .options = { .program = "/proc/self/exe",
                                       .commit = CLATTN_COMMIT } };
    cla_text command = { 0 };
    cla_status status = // cli_read reorders argv
        bench_command_add(&command, (const char *const *)argv + 1, argc - 1, NULL);
    status = status ? status : cli_read(&cli_bench_usage, argc, argv, &words);
    if (status) {
        cla_text_free(&command);
        return cli_fail(status);
    }
    words.options.command = command.data;
    const int code = words.child ? run_child(&words) : run_suites(&words.options);
    cla_text_free(&command);
    return code;
}
