/* cmd_train.c - clattn train: any system from its config. */
#include <errno.h>
#include <stdio.h>

#include "clattn/runtime.h"
#include "cli/cli.h"
#include "cli/signals.h"
#include "train/loop.h"
#include "train/parallel.h"

enum { MAX_SETS = 64 };

typedef struct arguments {
    cli_common common;
    const char *config, *out;
    const char *set[MAX_SETS];
    int set_count;
    bool resume, quiet, profile;
} arguments;

static const struct argp_option options[] = {
    { "out", 'o', "DIR", 0, "the run's folder: model, checkpoints, log", 0 },
    { "set", 's', "KEY=VALUE", 0,
      "override a key of the config, dotted for nested ones", 0 },
    { "resume", 'r', NULL, 0, "continue the run in DIR", 0 },
    { "quiet", 'q', NULL, 0, "say nothing but warnings and errors", 0 },
    { "profile", 'p', NULL, 0, "device time by kernel at the end; slows the run", 0 },
    { 0 },
};

// NOLINTNEXTLINE(readability-non-const-parameter): the type is argp's
static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->common;
        return 0;
    case 'o':
        a->out = value;
        return 0;
    case 's':
        if (a->set_count == MAX_SETS) {
            cla_fail(CLA_E_USAGE, "--set: more than %d", MAX_SETS);
            return EINVAL;
        }
        a->set[a->set_count++] = value;
        return 0;
    case 'r':
        a->resume = true;
        return 0;
    case 'q':
        a->quiet = true;
        return 0;
    case 'p':
        a->profile = true;
        return 0;
    case ARGP_KEY_ARG:
        if (a->config) {
            return ARGP_ERR_UNKNOWN;
        }
        a->config = value;
        return 0;
    case ARGP_KEY_END:
        if (!a->config || !a->out) {
            cla_fail(CLA_E_USAGE, "train needs %s (see clattn train --help)",
                     a->config ? "--out DIR" : "a config file");
            return EINVAL;
        }
        if (!*a->out) {
            cla_fail(CLA_E_USAGE, "--out is empty");
            return EINVAL;
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static cla_status read_settings(const arguments *a, cla_config *settings)
{
    static const char *const files[] = { "data",          "vectors",    "lexicon",
                                         "sentencepiece", "warm_start", NULL };
    CLA_TRY(cla_config_read(settings, a->config));
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
    CLA_TRY(cli_add_word(line, option));
    return cli_add_word(line, value);
}

/* The command that continues the run, as it can be typed. */
static cla_status resume_command(const arguments *a, int processes, cla_text *line)
{
    if (processes > 1) {
        char count[16];
        snprintf(count, sizeof count, "%d", processes);
        CLA_TRY(cli_add_word(line, "mpirun"));
        CLA_TRY(add_pair(line, "-n", count));
    }
    CLA_TRY(add_pair(line, cli_program, "train"));
    CLA_TRY(cli_add_word(line, a->config));
    CLA_TRY(add_pair(line, "--out", a->out));
    for (int i = 0; i < a->set_count; i++) {
        CLA_TRY(add_pair(line, "--set", a->set[i]));
    }
    CLA_TRY(a->common.device ? add_pair(line, "--device", a->common.device) : CLA_OK);
    CLA_TRY(a->profile ? cli_add_word(line, "--profile") : CLA_OK);
    return cli_add_word(line, "--resume");
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
        .parallel = *parallel,
        .signal = cli_catch_signals(),
    };
    cla_status status = read_settings(a, &settings);
    status = status ? status : cla_parallel_runtime(parallel, &rt, a->common.device);
    if (!status) {
        print_start(a, rt, parallel);
        cla_profile_enable(rt, a->profile);
        status = cla_train(rt, &settings, &run, result);
    }
    if (!status && parallel->rank == 0) {
        print_end(a, rt, parallel->size, result);
        cli_print_profile(rt);
    }
    cla_config_fini(&settings);
    cla_runtime_free(&rt);
    return status;
}

int cli_train(int argc, char **argv)
{
    static const struct argp_child children[] = { { &cli_device_argp, 0, NULL, 0 },
                                                  { 0 } };
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "CONFIG.json",
        .doc =
            "Trains the system that CONFIG.json describes.\v"
            "The folder then serves clattn eval, tag and others with --model DIR. "
            "SIGINT "
            "finishes the step, saves, and exits with 130.\n\n"
            "  clattn train examples/configs/tagger-conv2d.json --out runs/t\n"
            "  clattn train examples/configs/tagger-conv2d.json --out runs/t --resume\n"
            "  clattn train tagger.json --set epochs=5 --set lr=0.002 --out runs/u",
        .children = children,
    };
    arguments a = { 0 };
    cla_parallel parallel;
    cla_train_result result = { 0 };
    cla_status status = cli_parse(&argp, argc, argv, &a);
    if (status) {
        return cli_fail(status);
    }
    status = cla_parallel_open(&parallel);
    status = status ? status : train(&a, &parallel, &result);
    if (result.shared && parallel.rank > 0) { // process 0 prints the line
        cla_parallel_close(&parallel, CLA_OK);
        return (int)status;
    }
    const int code = status ? cli_fail_data(status) : cli_signal_code();
    cla_parallel_close(&parallel, result.shared ? CLA_OK : status);
    return code;
}
