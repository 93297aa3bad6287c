/* cli.h - what the subcommands share: options, messages, output, exit codes. */
#pragma once

#include <jansson.h>

#include "base/text.h"
#include "clattn/runtime.h"
#include "cli/options.h"

/* Exit codes are those of cla_status; beside them: */
enum { CLI_OK = 0, CLI_CHECK_FAILED = 1 };

/* Of `clattn' itself, with all commands. */
extern const cli_usage cli_top_usage;

/* Each command's options and what runs it. */
extern const cli_usage cli_answer_usage;
int cli_answer(int argc, char **argv);
extern const cli_usage cli_average_usage;
int cli_average(int argc, char **argv);
extern const cli_usage cli_export_usage;
int cli_export(int argc, char **argv);
extern const cli_usage cli_import_usage;
int cli_import(int argc, char **argv);
extern const cli_usage cli_bench_usage;
int cli_bench(int argc, char **argv);
extern const cli_usage cli_bpe_usage;
int cli_bpe(int argc, char **argv);
extern const cli_usage cli_check_usage;
int cli_check(int argc, char **argv);
extern const cli_usage cli_compare_usage;
int cli_compare(int argc, char **argv);
extern const cli_usage cli_compose_usage;
int cli_compose(int argc, char **argv);
extern const cli_usage cli_demo_usage;
int cli_demo(int argc, char **argv);
extern const cli_usage cli_devices_usage;
int cli_devices(int argc, char **argv);
extern const cli_usage cli_eval_usage;
int cli_eval(int argc, char **argv);
extern const cli_usage cli_inspect_usage;
int cli_inspect(int argc, char **argv);
extern const cli_usage cli_plot_usage;
int cli_plot(int argc, char **argv);
extern const cli_usage cli_report_usage;
int cli_report(int argc, char **argv);
extern const cli_usage cli_help_usage;
int cli_help(int argc, char **argv);
extern const cli_usage cli_score_usage;
int cli_score(int argc, char **argv);
extern const cli_usage cli_serve_usage;
int cli_serve(int argc, char **argv);
extern const cli_usage cli_tag_usage;
int cli_tag(int argc, char **argv);
extern const cli_usage cli_train_usage;
int cli_train(int argc, char **argv);
extern const cli_usage cli_translate_usage;
int cli_translate(int argc, char **argv);
extern const cli_usage cli_verify_usage;
int cli_verify(int argc, char **argv);
extern const cli_usage cli_vectors_usage;
int cli_vectors(int argc, char **argv);
extern const cli_usage cli_tune_usage;
int cli_tune(int argc, char **argv);

/* The name by which this program was called, for commands to type next. */
extern const char *cli_program;

/* Appends a blank (to what is not empty) and a word, quoted for a POSIX shell where it
 * must be. Errors: CLA_E_NOMEM. */
cla_status cli_add_word(cla_text *line, const char *word);

/* Says "clattn: " and cla_error() on stderr; gives the exit code. */
int cli_fail(cla_status status);
/* The same where tensors come out of files: then shapes that do not fit are bad
 * data. */
int cli_fail_data(cla_status status);
/* The end of a command that writes a model's folder under cli_catch_signals: the code
 * of the signal that stopped it, cli_fail_data of a failure, or else one line of the
 * format on stderr and CLI_OK. */
int cli_published(cla_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Output that did not arrive, on a full disk for example, is a failure: gives code, or
 * says so and gives that one. */
int cli_finish(int code);

/* Prints object (taken) as one line. Errors: CLA_E_NOMEM. */
cla_status cli_print_json(json_t *object);
/* A string for it, with '?' in place of bytes that are not UTF-8. */
json_t *cli_json_text(const char *text);

/* Device time, launches and bytes by kernel of a step on stderr, longest first, and the
 * share of the steps' seconds in which the device is idle; nothing without steps. */
void cli_print_profile(cla_runtime *rt, int64_t steps, double seconds);
