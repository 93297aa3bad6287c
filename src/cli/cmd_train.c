/* cmd_train.c - clattn train: trains a model from its config. */
#include <stdio.h>

#include "clattn/runtime.h"
#include "cli/cli.h"
#include "cli/signals.h"
#include "runtime/runtime.h"
#include "train/folder.h"
#include "train/loop.h"
#include "train/parallel.h"

enum { MAX_SETS = 64 };

typedef struct arguments {
    const char *device, *out;
    cli_words config; // one; none: that of the run that --resume continues
    const char *set[MAX_SETS];
    int set_count;
    char precision[32]; // the setting that --precision is
    bool resume, quiet, profile;
} arguments;

static cla_status take_set(void *arguments_, const char *value)
{
    arguments *a = arguments_;
    if (a->set_count == MAX_SETS) {
        return cla_fail(CLA_E_USAGE, "--set: more than %d", MAX_SETS);
    }
    a->set[a->set_count++] = value;
    return CLA_OK;
}

/* The precision is a key of the config, so that config.json has it. */
static cla_status take_precision(void *arguments_, const char *value)
{
    cla_precision precision = CLA_PRECISION_HIGHEST;
    CLA_TRY(cla_precision_read("--precision", value, &precision));
    arguments *a = arguments_;
    snprintf(a->precision, sizeof a->precision, "precision=%s",
             cla_precision_word(precision));
    return take_set(a, a->precision);
}

static const cli_option options[] = {
    CLI_DEVICE(arguments, device),
    { "precision", 0, "WORD", cli_precision_help, CLI_TAKE, .take = take_precision,
      .choices = CLA_PRECISION_NAMES },
    { "out", 'o', "DIR", "the run's folder: model, checkpoints, log", CLI_TEXT,
      .at = offsetof(arguments, out), .needed = true, .output = CLI_OUT_FOLDER },
    { "set", 's', "KEY=VALUE", "override a key of the config, dotted for nested ones",
      CLI_TAKE, .take = take_set },
    { "resume", 'r', NULL,
      "continue the run in DIR, with its own config if none is given", CLI_FLAG,
      .at = offsetof(arguments, resume) },
    { "quiet", 'q', NULL, "say nothing but warnings and errors", CLI_FLAG,
      .at = offsetof(arguments, quiet) },
    { "profile", 'p', NULL, "launches, bytes and device time of a step at the end",
      CLI_FLAG, .at = offsetof(arguments, profile) },
    { 0 },
};

/* A run that continues has a config of its own. */
static bool has_config(const void *arguments_)
{
    return ((const arguments *)arguments_)->resume;
}

const cli_usage cli_train_usage = {
    .options = options,
    .words = "CONFIG.json --out DIR\n--resume [CONFIG.json] --out DIR",
    .words_at = offsetof(arguments, config),
    .least = 1,
    .most = 1,
    .lacks = "a config file",
    .may_lack = has_config,
    .about = "Trains the system that CONFIG.json describes.",
    .more = "The folder then serves clattn eval, tag and others with --model DIR. "
            "SIGINT finishes the step, saves, and exits with 130.\n\n"
            "  clattn train examples/configs/tagger-conv2d.json --out runs/t\n"
            "  clattn train --resume --out runs/t\n"
            "  clattn train tagger.json --set epochs=5 --set lr=0.002 --out runs/u",
};

/* Reads the config of the run that continues. Its paths stay as they are: they were
 * resolved when the run began. */
static cla_status read_own(const arguments *a, cla_config *settings)
{
    cla_text path = { 0 };
    if (!cla_folder_holds(a->out, "config.json")) {
        return cla_fail(CLA_E_USAGE, "%s holds no run to resume", a->out);
    }
    cla_status status = cla_text_add(&path, "%s/config.json", a->out);
    status = status ? status : cla_config_read(settings, path.data);
    for (int i = 0; i < a->set_count && !status; i++) {
        status = cla_config_set(settings, a->set[i]);
    }
    cla_text_free(&path);
    return status;
}

static cla_status read_settings(const arguments *a, cla_config *settings)
{
    static const char *const files[] = {
        "data",       "vectors",       "lexicon",
        "themes",     "sentencepiece", "target_sentencepiece",
        "warm_start", "tokenizer",     NULL
    };
    if (!a->config.count) {
        return read_own(a, settings);
    }
    CLA_TRY(cla_config_read(settings, a->config.word[0]));
    for (int i = 0; i < a->set_count; i++) {
        CLA_TRY(cla_config_set(settings, a->set[i]));
    }
    return cla_config_find_files(settings, files);
}

static void print_start(const arguments *a, cla_runtime *rt,
                        const cla_parallel *parallel)
{
    const cla_device *device = cla_runtime_device(rt);
    if (!a->quiet) {
        fprintf(stderr, "device  %d: %s (%s, driver %s)", device->index, device->name,
                device->platform_name, device->driver);
        if (parallel->size > 1) {
            fprintf(stderr, ", process %d of %d", parallel->rank + 1, parallel->size);
        }
        fprintf(stderr, "\n");
    }
}

static cla_status add_pair(cla_text *line, const char *option, const char *value)
{
    CLA_TRY(cla_text_add_word(line, option));
    return cla_text_add_word(line, value);
}

/* Appends the command that continues the run, quoted for a shell. */
static cla_status resume_command(const arguments *a, int processes, cla_text *line)
{
    if (processes > 1) {
        char count[16];
        snprintf(count, sizeof count, "%d", processes);
        CLA_TRY(cla_text_add_word(line, "mpirun"));
        CLA_TRY(add_pair(line, "-n", count));
    }
    CLA_TRY(add_pair(line, cli_program, "train"));
    CLA_TRY(a->config.count ? cla_text_add_word(line, a->config.word[0]) : CLA_OK);
    CLA_TRY(add_pair(line, "--out", a->out));
    for (int i = 0; i < a->set_count; i++) {
        CLA_TRY(add_pair(line, "--set", a->set[i]));
    }
    CLA_TRY(a->device ? add_pair(line, "--device", a->device) : CLA_OK);
    CLA_TRY(a->profile ? cla_text_add_word(line, "--profile") : CLA_OK);
    return cla_text_add_word(line, "--resume");
}

static void print_stop(const arguments *a, int processes, const cla_train_result *r)
{
    cla_text line = { 0 };
    const cla_status status = resume_command(a, processes, &line);
    fprintf(stderr, "stopped at step %lld; continue with:\n%s\n", (long long)r->step,
            status ? "the same command and --resume" : line.data);
    cla_text_free(&line);
}

static void print_end(const arguments *a, cla_runtime *rt, int processes,
                      const cla_train_result *r)
{
    if (a->quiet) {
        return;
    }
    if (r->interrupted) {
        print_stop(a, processes, r);
        return;
    }
    if (a->resume && !r->taken) {
        fprintf(
            stderr,
            "the run in %s is complete after %lld steps; --set epochs=N, steps=N or "
            "patience=N continues it\n",
            a->out, (long long)r->step);
        return;
    }
    fprintf(stderr,
            "done: %lld steps, best %.2f at step %lld, %.0f per second, %.0f MB on the "
            "device; model in %s\n",
            (long long)r->step, r->best, (long long)r->best_step, r->words_per_second,
            (double)cla_runtime_peak_bytes(rt) * 1e-6, a->out);
}

static cla_status train(const arguments *a, const cla_parallel *parallel,
                        cla_train_result *result)
{
    cla_runtime *rt = NULL;
    cla_config settings = { 0 };
    cla_train_options run = {
        .out = a->out,
        .resume = a->resume,
        .quiet = a->quiet,
        .profile = a->profile,
        .parallel = *parallel,
        .signal = cli_catch_signals(),
    };
    cla_status status = read_settings(a, &settings);
    status = status ? status : cla_parallel_runtime(parallel, &rt, a->device);
    if (!status) {
        print_start(a, rt, parallel);
        status = cla_train(rt, &settings, &run, result);
    }
    if (!status && parallel->rank == 0) {
        print_end(a, rt, parallel->size, result);
        cli_print_profile(rt, result->profiled, result->profiled_s);
    }
    cla_config_fini(&settings);
    cla_runtime_free(&rt);
    return status;
}

int cli_train(int argc, char **argv)
{
    arguments a = { 0 };
    cla_parallel parallel;
    cla_train_result result = { 0 };
    cla_status status = cli_read(&cli_train_usage, argc, argv, &a);
    if (status) {
        return cli_fail(status);
    }
    status = cla_parallel_open(&parallel);
    status = status ? status : train(&a, &parallel, &result);
    if (result.shared && parallel.rank > 0) { // process 0 prints the message
        cla_parallel_close(&parallel, CLA_OK);
        return (int)status;
    }
    const int code = status ? cli_fail_data(status) : cli_signal_code();
    cla_parallel_close(&parallel, result.shared ? CLA_OK : status);
    return code;
}
