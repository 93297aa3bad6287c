/* cli.h - what the subcommands share: options, messages, output, exit codes. */
#pragma once

#include <argp.h>
#include <jansson.h>

#include "base/text.h"
#include "clattn/runtime.h"

/* Exit codes are those of cla_status; beside them: */
enum { CLI_OK = 0, CLI_CHECK_FAILED = 1 };

/* One verb. run gets its own words only: argv[0] is "clattn verb". */
typedef struct cli_command {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
} cli_command;

/* Runs the one of verbs (its last name is NULL) that argv[1] names: `clattn bpe learn'
 * is the verb learn of the command bpe. doc is the command's line of help. */
int cli_run_verb(const cli_command *verbs, const char *doc, int argc, char **argv);

int cli_answer(int argc, char **argv);
int cli_average(int argc, char **argv);
int cli_export(int argc, char **argv);
int cli_bench(int argc, char **argv);
int cli_bpe(int argc, char **argv);
int cli_check(int argc, char **argv);
int cli_compare(int argc, char **argv);
int cli_compose(int argc, char **argv);
int cli_demo(int argc, char **argv);
int cli_devices(int argc, char **argv);
int cli_eval(int argc, char **argv);
int cli_inspect(int argc, char **argv);
int cli_plot(int argc, char **argv);
int cli_score(int argc, char **argv);
int cli_tag(int argc, char **argv);
int cli_train(int argc, char **argv);
int cli_translate(int argc, char **argv);
int cli_verify(int argc, char **argv);
int cli_tune(int argc, char **argv);

/* The name by which this program was called, for commands to type next. */
extern const char *cli_program;

/* Appends a blank (to what is not empty) and a word, quoted for a POSIX shell where it
 * must be. Errors: CLA_E_NOMEM. */
cla_status cli_add_word(cla_text *line, const char *word);

/* Reads argv as argp says; --help and --version are answered on the way, and end the
 * program. argp's parser reports bad values with cla_fail and EINVAL.
 * Errors: CLA_E_USAGE (naming the option, and the nearest known one). */
cla_status cli_parse(const struct argp *argp, int argc, char **argv, void *input);

/* --device, and with it --json, for the children of an argp; input is a cli_common. */
typedef struct cli_common {
    const char *device; // NULL: not given
    bool json;
} cli_common;
extern const struct argp cli_device_argp, cli_common_argp;

/* For argp's parsers: value as a whole number from low to high, else EINVAL after a
 * cla_fail that names the option. */
error_t cli_take_number(const char *option, const char *value, int64_t low,
                        int64_t high, int64_t *number);
error_t cli_take_int(const char *option, const char *value, int low, int high,
                     int *number);

/* The same for --length-penalty: 0 to 10. */
error_t cli_take_penalty(const char *value, double *penalty);

/* Says "clattn: " and cla_error() on stderr; gives the exit code. */
int cli_fail(cla_status status);
/* The same where tensors come out of files: then shapes that do not fit are bad
 * data. */
int cli_fail_data(cla_status status);

/* Output that did not arrive, on a full disk for example, is a failure: gives code, or
 * says so and gives that one. */
int cli_finish(int code);

/* Prints object (taken) as one line. Errors: CLA_E_NOMEM. */
cla_status cli_print_json(json_t *object);
/* A string for it, with '?' in place of bytes that are not UTF-8. */
json_t *cli_json_text(const char *text);

/* Device time by kernel on stderr, longest first; nothing where none was profiled. */
void cli_print_profile(cla_runtime *rt);
