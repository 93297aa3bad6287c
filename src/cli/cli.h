/* cli.h - the commands of the program, their messages, output and exit codes. */
#pragma once

#include <jansson.h>

#include "base/text.h"
#include "clattn/runtime.h"
#include "cli/options.h"

/* Exit codes besides those of cla_status. */
enum { CLI_OK = 0, CLI_CHECK_FAILED = 1 };

/* The usage of `clattn' itself, with all commands. */
extern const cli_usage cli_top_usage;

/* The usage of each command and its function, which returns the exit code. */
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
extern const cli_usage cli_languages_usage;
int cli_languages(int argc, char **argv);
extern const cli_usage cli_plot_usage;
int cli_plot(int argc, char **argv);
extern const cli_usage cli_report_usage;
int cli_report(int argc, char **argv);
extern const cli_usage cli_generate_usage;
int cli_generate(int argc, char **argv);
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

/* The name by which this program was called, for commands that messages suggest. */
extern const char *cli_program;

/* Prints "clattn: " and cla_error() on stderr; returns the exit code. */
int cli_fail(cla_status status);
/* Does the same for commands that read tensors from files: shapes that do not fit are
 * then bad input data. */
int cli_fail_data(cla_status status);
/* Ends a command that writes a model's folder under cli_catch_signals. Returns the code
 * of the signal that stopped it, or cli_fail_data of a failure; otherwise prints one
 * line of the format on stdout and returns CLI_OK. */
int cli_published(cla_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Flushes stdout and returns code. When output was lost, on a full disk for example,
 * and code is at most CLI_CHECK_FAILED, prints that error and returns its code. */
int cli_finish(int code);

/* Prints object (consumed) as one line. Errors: CLA_E_NOMEM. */
cla_status cli_print_json(json_t *object);

/* Flushes standard output. Errors: CLA_E_IO (not all of it could be written). */
cla_status cli_flush(void);
/* Returns a JSON string, or NULL when out of memory. When text is not UTF-8, '?'
 * replaces all its bytes outside of ASCII. */
json_t *cli_json_text(const char *text);

/* Prints on stderr device time, launches and bytes per step for each kernel, longest
 * first, and the share of the steps' seconds in which the device is idle. Prints
 * nothing without steps. */
void cli_print_profile(cla_runtime *rt, int64_t steps, double seconds);
