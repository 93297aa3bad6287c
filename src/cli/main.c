/* main.c - the verbs of the command line. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/nearest.h"
#include "base/text.h"
#include "cli/cli.h"

const char *cli_program;

static const cli_command commands[] = {
    { "demo", "train a small tagger on data that comes along, and use it", cli_demo },
    { "devices", "list the OpenCL devices and what they can do", cli_devices },
    { "verify", "run known answers: a check of a device and its driver", cli_verify },
    { "bench", "time the operators; bench compare: two results", cli_bench },
    { "bpe", "cut words into pieces: learn, apply, undo", cli_bpe },
    { "train", "train a system from its config", cli_train },
    { "average", "average the states that a run kept", cli_average },
    { "export", "write a model without what only training needs", cli_export },
    { "check", "compare the files of a model's folder with their hashes", cli_check },
    { "eval", "score a trained system on a data set", cli_eval },
    { "tag", "tag sentences from standard input", cli_tag },
    { "answer", "answer questions about passages", cli_answer },
    { "translate", "translate lines from standard input", cli_translate },
    { "compose", "write quatrains about texts", cli_compose },
    { "score", "score text against references: bleu, squad ...", cli_score },
    { "inspect", "draw what attention looks at", cli_inspect },
    { "plot", "draw learning curves of training runs", cli_plot },
    { "tune", "find the constants that suit a device", cli_tune },
};

enum { COMMANDS = sizeof commands / sizeof *commands };

/* ---- words in front of a verb ------------------------------------------------ */

static char *list_commands(int key, const char *text, void *input)
{
    (void)input;
    cla_text list = { 0 };
    if (key != ARGP_KEY_HELP_EXTRA) {
        return (char *)text;
    }
    cla_status status = cla_text_add(&list, "Commands:\n");
    for (int i = 0; i < COMMANDS && !status; i++) {
        status =
            cla_text_add(&list, "  %-10s %s\n", commands[i].name, commands[i].summary);
    }
    return list.data; // freed by argp
}

static const struct argp top = {
    .args_doc = "COMMAND [ARGUMENT...]",
    .doc =
        "Trains and runs attention networks on any OpenCL device.\v"
        "clattn COMMAND --help tells more about one command. Exit status: 0 success, "
        "1 a check is not met, 2 wrong usage, 3 bad input data, 4 device or driver, "
        "5 memory, 6 file, 7 numbers.",
    .help_filter = list_commands,
};

static int no_command(void)
{
    fprintf(stderr, "usage: clattn COMMAND [ARGUMENT...]\n\n");
    for (int i = 0; i < COMMANDS; i++) {
        fprintf(stderr, "  %-10s %s\n", commands[i].name, commands[i].summary);
    }
    fprintf(stderr, "\nclattn COMMAND --help tells more about one command.\n");
    return CLA_E_USAGE;
}

static int unknown_command(const char *word)
{
    const char *names[COMMANDS + 1] = { NULL };
    for (int i = 0; i < COMMANDS; i++) {
        names[i] = commands[i].name;
    }
    const char *near = cla_nearest(word, names);
    return cli_fail(
        cla_fail(CLA_E_USAGE, "'%.80s' is no command%s%s%s (see clattn --help)", word,
                 near ? "; did you mean '" : "", near ? near : "", near ? "'?" : ""));
}

/* ---- running one ------------------------------------------------------------- */

static int run(const cli_command *command, int argc, char **argv)
{
    char name[64];
    snprintf(name, sizeof name, "clattn %s", command->name);
    argv[0] = name;
    if (cla_log_check()) {
        return cli_fail(CLA_E_USAGE);
    }
    return cli_finish(command->run(argc, argv));
}

/* Opens closed standard streams, so that no file that is opened later takes their
 * numbers and what is printed. Use still fails: /dev/null is opened the wrong way. */
static void open_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF) {
            const int mode = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
            (void)!open("/dev/null", mode); // takes the lowest free number
        }
    }
}

int main(int argc, char **argv)
{
    open_standard_streams();
    static char program[] = "clattn";
    cli_program = argc > 0 && *argv[0] ? argv[0] : program;
    argv[0] = program;
    if (argc < 2) {
        return no_command();
    }
    if (argv[1][0] == '-') {
        const cla_status status = cli_parse(&top, 2, argv, NULL);
        return status ? cli_fail(status) : no_command();
    }
    for (int i = 0; i < COMMANDS; i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            return run(&commands[i], argc - 1, argv + 1);
        }
    }
    return unknown_command(argv[1]);
}
