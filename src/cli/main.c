/* main.c - finds and runs the command that the user names. */
#include <stdio.h>

#include "base/foreign.h"
#include "base/platform.h"
#include "cli/cli.h"
#include "cli/signals.h"

const char *cli_program;

static const cli_command commands[] = {
    { "demo", "train a small tagger on data that comes along, and use it", cli_demo,
      &cli_demo_usage },
    { "devices", "list the OpenCL devices and what they can do", cli_devices,
      &cli_devices_usage },
    { "verify", "run known answers: a check of a device and its driver", cli_verify,
      &cli_verify_usage },
    { "bench", "time the operators; bench compare: two results", cli_bench,
      &cli_bench_usage },
    { "bpe", "cut words into pieces: learn, apply, undo", cli_bpe, &cli_bpe_usage },
    { "vectors", "learn vectors of words from text", cli_vectors, &cli_vectors_usage },
    { "train", "train a system from its config", cli_train, &cli_train_usage },
    { "average", "average the states that a run kept", cli_average,
      &cli_average_usage },
    { "export", "write a model without what only training needs", cli_export,
      &cli_export_usage },
    { "import", "convert a model that another program trained", cli_import,
      &cli_import_usage },
    { "check", "compare the files of a model's folder with their hashes", cli_check,
      &cli_check_usage },
    { "eval", "score a trained system on a data set", cli_eval, &cli_eval_usage },
    { "tag", "tag sentences from standard input", cli_tag, &cli_tag_usage },
    { "answer", "answer questions about passages", cli_answer, &cli_answer_usage },
    { "translate", "translate lines from standard input", cli_translate,
      &cli_translate_usage },
    { "languages", "list the languages of a translator", cli_languages,
      &cli_languages_usage },
    { "compose", "write quatrains about texts", cli_compose, &cli_compose_usage },
    { "generate", "continue texts with a language model", cli_generate,
      &cli_generate_usage },
    { "serve", "serve a translator, tagger or reader over HTTP", cli_serve,
      &cli_serve_usage },
    { "score", "score text against references: bleu, squad ...", cli_score,
      &cli_score_usage },
    { "inspect", "draw what attention looks at", cli_inspect, &cli_inspect_usage },
    { "plot", "draw learning curves of training runs", cli_plot, &cli_plot_usage },
    { "report", "write results and runs as one page to look at", cli_report,
      &cli_report_usage },
    { "tune", "find the constants that suit a device", cli_tune, &cli_tune_usage },
    { "help", "print the help of a command", cli_help, &cli_help_usage },
    { 0 },
};

/* ---- clattn without a command ------------------------------------------------ */

const cli_usage cli_top_usage = {
    .words = "COMMAND [ARGUMENT...]",
    .about = "Trains and runs attention networks on any OpenCL device.",
    .more = "clattn COMMAND --help tells more about one command. Exit status: 0 "
            "success, 1 a check is not met, 2 wrong usage, 3 bad input data, 4 device "
            "or driver, 5 memory, 6 file, 7 numbers.",
    .verbs = commands,
};

static int no_command(void)
{
    fprintf(stderr, "usage: clattn COMMAND [ARGUMENT...]\n\n");
    for (const cli_command *c = commands; c->name; c++) {
        fprintf(stderr, "  %-10s %s\n", c->name, c->summary);
    }
    fprintf(stderr, "\nclattn COMMAND --help tells more about one command.\n");
    return CLA_E_USAGE;
}

/* ---- running a command ------------------------------------------------------- */

static int run(const cli_command *command, int argc, char **argv)
{
    char name[64];
    snprintf(name, sizeof name, "clattn %s", command->name);
    argv[0] = name;
    if (cla_log_check()) {
        return cli_fail(CLA_E_USAGE);
    }
    cla_log_set(cla_log_to_stderr, NULL);
    cli_watch_drivers();
    const int code = cli_finish(command->run(argc, argv));
    cla_foreign_enter(NULL); // this end is ours
    return code;
}

int main(int argc, char **argv)
{
    cla_os_begin(argc, argv);
    static char program[] = "clattn";
    cli_program = argc > 0 && *argv[0] ? argv[0] : program;
    argv[0] = program;
    if (argc < 2) {
        return no_command();
    }
    if (argv[1][0] == '-') {
        const cla_status status = cli_read(&cli_top_usage, 2, argv, NULL);
        return status ? cli_fail(status) : no_command();
    }
    const cli_command *command = cli_find_command(&cli_top_usage, argv[1]);
    return command ? run(command, argc - 1, argv + 1)
                   : cli_fail(cli_no_command(&cli_top_usage, argv[1]));
}
