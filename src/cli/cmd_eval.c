/* cmd_eval.c - clattn eval: a trained system's own metrics on a data set. */
#include <errno.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/model.h"

typedef struct arguments {
    cli_common common;
    const char *model, *data, *split;
} arguments;

static const struct argp_option options[] = {
    { "model", 'm', "DIR", 0, "folder of a training run", 0 },
    { "data", 'D', "PATH", 0, "data folder, or one file (default: the run's own data)",
      0 },
    { "split", 'S', "NAME", 0, "which file of the folder (default: test)", 0 },
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
    case 'm':
        a->model = value;
        return 0;
    case 'D':
        a->data = value;
        return 0;
    case 'S':
        a->split = value;
        return 0;
    case ARGP_KEY_END:
        if (!a->model) {
            cla_fail(CLA_E_USAGE, "eval needs --model DIR (see clattn eval --help)");
            return EINVAL;
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static cla_status print(const arguments *a, const cla_metrics *m)
{
    if (a->common.json) {
        json_t *object = json_object();
        for (int i = 0; i < m->count; i++) {
            json_object_set_new(object, m->row[i].name, json_real(m->row[i].value));
        }
        return cli_print_json(object);
    }
    for (int i = 0; i < m->count; i++) {
        printf("%-20s %.2f\n", m->row[i].name, m->row[i].value);
    }
    return CLA_OK;
}

static cla_status eval(const arguments *a)
{
    cli_model m;
    cla_metrics metrics = { 0 };
    cla_status status = cli_model_open(&m, a->common.device, a->model, NULL, NULL);
    status = status ? status
                    : m.task->kind->evaluate(m.task, a->data,
                                             a->split ? a->split : "test", &metrics);
    status = status ? status : print(a, &metrics);
    cli_model_close(&m);
    return status;
}

int cli_eval(int argc, char **argv)
{
    static const struct argp_child children[] = { { &cli_common_argp, 0, NULL, 0 },
                                                  { 0 } };
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Scores a trained system on a data set.\v"
               "  clattn eval --model runs/t\n"
               "  clattn eval --model runs/t --data other.conllu --json",
        .children = children,
    };
    arguments a = { 0 };
    cla_status status = cli_parse(&argp, argc, argv, &a);
    status = status ? status : eval(&a);
    return status ? cli_fail_data(status) : CLI_OK;
}
