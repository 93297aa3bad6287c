/* cmd_bench.c - clattn bench: how fast the operators are here. */
#include <string.h>

#include "base/text.h"
#include "bench/harness.h"
#include "cli/cli.h"
#include "cli/signals.h"
#include "commit.h"

enum { KEY_CHILD = 256 };

typedef struct bench_words {
    bench_options options;
    bool child;
} bench_words;

static const struct argp_option options[] = {
    { "device", 'd', "DEVICE|all", 0,
      "as for the other commands, or all of them one after the other", 0 },
    { "suite", 's', "SUITE", 0,
      "one of softmax, gemm, attention, band, ragged, layers, conv, characters, "
      "tagger, startup (default: all)",
      0 },
    { "filter", 'f', "RE", 0, "cases whose names match (POSIX extended)", 0 },
    { "quick", 'q', NULL, 0, "fewer cases, shorter timings, the device's own schedule",
      0 },
    { "json", 'j', "FILE", 0,
      "write a JSON object for each row to FILE as soon as it is measured; - is "
      "standard "
      "output",
      0 },
    { "verify", 'v', NULL, 0, "check each result first; a wrong one gets no speed", 0 },
    { "startup-child", KEY_CHILD, NULL, OPTION_HIDDEN, NULL, 0 },
    { 0 },
};

// NOLINTNEXTLINE(readability-non-const-parameter): argp's own type
static error_t parse(int key, char *value, struct argp_state *state)
{
    bench_words *words = state->input;
    bench_options *o = &words->options;
    switch (key) {
    case 'd':
        o->device = value;
        return 0;
    case 's':
        o->suite = value;
        return 0;
    case 'f':
        o->filter = value;
        return 0;
    case 'q':
        o->quick = true;
        return 0;
    case 'j':
        o->json = value;
        return 0;
    case 'v':
        o->verify = true;
        return 0;
    case KEY_CHILD:
        words->child = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "\ncompare A.json B.json",
    .doc = "Times the operators: warms up, repeats, and gives the median, the spread "
           "of the middle half, GFLOP/s, GB/s and the share of the device's measured "
           "peak. "
           "`clattn bench compare' holds two results against each other. SIGINT keeps "
           "the rows measured so far and exits with 130.\v"
           "Examples:\n"
           "  clattn bench --quick\n"
           "  clattn bench --suite band --filter 'fwd .* T512' --json band.json\n"
           "  clattn bench --device all --verify --json all.json",
};

/* What a signal leaves on stderr. */
static cla_status say_farewell(const bench_options *o, cla_text *text)
{
    const bool file = o->json && strcmp(o->json, "-") != 0;
    return cla_text_add(text, "\nclattn: stopped%s%s\n",
                        file ? "; the rows measured so far are in " : "",
                        file ? o->json : "");
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
    cla_status status = cli_parse(&argp, argc, argv, &words);
    if (status) {
        return cli_fail(status);
    }
    if (words.child) {
        status = bench_startup_child(words.options.device);
        return status ? cli_fail(status) : CLI_OK;
    }
    int failed = 0;
    cla_text farewell = { 0 };
    if (say_farewell(&words.options, &farewell)) {
        return cli_fail(CLA_E_NOMEM);
    }
    cli_exit_on_signals(farewell.data);
    status = bench_suites_run(&words.options, &failed);
    if (status) {
        return cli_fail(status);
    }
    return failed ? CLI_CHECK_FAILED : CLI_OK;
}
