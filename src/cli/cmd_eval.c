/* cmd_eval.c - clattn eval: a trained system's own metrics on a data set. */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/text.h"
#include "cli/eval.h"
#include "cli/lengths.h"
#include "cli/model.h"

typedef struct arguments {
    cli_common common;
    const char *model[EVAL_MODELS], *data, *split;
    int models;
    bool lengths, tags;
    int beam;
    double alpha;
} arguments;

static const struct argp_option options[] = {
    { "model", 'm', "DIR", 0,
      "folder of a training run; several give a table that compares them", 0 },
    { "data", 'D', "PATH", 0, "data folder, or one file (default: the run's own data)",
      0 },
    { "split", 'S', "NAME", 0, "which file of the folder (default: test)", 0 },
    { "tags", 't', NULL, 0,
      "of a tagger: precision, recall and F1 of each tag, and the confusion matrix",
      0 },
    { "lengths", 'l', NULL, 0,
      "of a translator: BLEU of its translations by the words of the source", 0 },
    { "beam", 'k', "N", 0, "with --lengths: hypotheses of a sentence (1)", 0 },
    { "length-penalty", 'a', "X", 0,
      "with --lengths: how much longer translations are favoured (0.6)", 0 },
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
        if (a->models == EVAL_MODELS) {
            cla_fail(CLA_E_USAGE, "--model: more than %d", EVAL_MODELS);
            return EINVAL;
        }
        a->model[a->models++] = value;
        return 0;
    case 'D':
        a->data = value;
        return 0;
    case 'S':
        a->split = value;
        return 0;
    case 't':
        a->tags = true;
        return 0;
    case 'l':
        a->lengths = true;
        return 0;
    case 'k':
        return cli_take_int("beam", value, 1, TRANSLATION_MAX_BEAM, &a->beam);
    case 'a':
        return cli_take_penalty(value, &a->alpha);
    case ARGP_KEY_END:
        if (!a->models) {
            cla_fail(CLA_E_USAGE, "eval needs --model DIR (see clattn eval --help)");
            return EINVAL;
        }
        if ((a->tags || a->lengths) && (a->models > 1 || a->tags == a->lengths)) {
            cla_fail(CLA_E_USAGE, "eval: --tags or --lengths is for one --model alone");
            return EINVAL;
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static cla_status print(const arguments *a, const char *model, const cla_metrics *m)
{
    if (a->common.json) {
        json_t *object = json_object();
        if (a->models > 1) {
            json_object_set_new(object, "model", cli_json_text(model));
        }
        for (int i = 0; i < m->count; i++) {
            json_object_set_new(object, m->row[i].name, json_real(m->row[i].value));
        }
        return cli_print_json(object);
    }
    for (int i = 0; i < m->count; i++) {
        const double value = m->row[i].value;
        printf("%-20s %.*f\n", m->row[i].name, fabs(value) < 1 ? 4 : 2, value);
    }
    return CLA_OK;
}

/* What is asked for beside scores. */
static cla_status show(const arguments *a, cla_task *task, const char *split)
{
    enum { TOGETHER = 32 };
    const translation_options together = {
        { .beam = a->beam,
          .alpha = a->alpha,
          .extra = TRANSLATION_EXTRA,
          .end = CLA_EOS },
        .batch = TOGETHER,
    };
    return a->tags ? cli_eval_tags((tagging *)task, a->data, split, a->common.json)
                   : cli_eval_lengths((translation *)task, a->data, split, &together,
                                      a->common.json);
}

static cla_status score(const arguments *a, const char *model, cla_metrics *metrics)
{
    const char *split = a->split ? a->split : "test";
    const cla_task_kind *kind = a->lengths ? &translation_kind
                                : a->tags  ? &tagging_kind
                                           : NULL;
    cli_model m;
    cla_status status = cli_model_open(&m, a->common.device, model, kind,
                                       a->tags ? "eval --tags needs a tagger"
                                               : "eval --lengths needs a translator");
    if (!status) {
        status = kind ? show(a, m.task, split)
                      : m.task->kind->evaluate(m.task, a->data, split, metrics);
    }
    cli_model_close(&m);
    return status;
}

static cla_status eval(const arguments *a)
{
    cla_metrics metrics[EVAL_MODELS] = { { 0 } };
    for (int i = 0; i < a->models; i++) {
        CLA_TRY(score(a, a->model[i], &metrics[i]));
        if (!a->tags && !a->lengths && (a->common.json || a->models == 1)) {
            CLA_TRY(print(a, a->model[i], &metrics[i]));
        }
    }
    if (a->models > 1 && !a->common.json) {
        cli_eval_table(metrics, a->model, a->models);
    }
    return CLA_OK;
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
               "  clattn eval --model runs/t --data other.conllu --json\n"
               "  clattn eval --model runs/t --model runs/u\n"
               "  clattn eval --model runs/t --tags\n"
               "  clattn eval --model runs/m --lengths --beam 4",
        .children = children,
    };
    arguments a = { .beam = 1, .alpha = 0.6 };
    cla_status status = cli_parse(&argp, argc, argv, &a);
    status = status ? status : eval(&a);
    return status ? cli_fail_data(status) : CLI_OK;
}
