/* cmd_eval.c - clattn eval: prints the metrics of trained models on a data set. */
#include <math.h>
#include <stdio.h>

#include "base/text.h"
#include "cli/eval.h"
#include "cli/lengths.h"
#include "cli/model.h"
#include "tasks/model.h"
#include "tasks/poetry/poetry.h"
#include "tasks/translation/translation.h"

typedef struct arguments {
    const char *device, *model[EVAL_MODELS], *data, *split;
    cli_weights weights;
    int models;
    bool lengths, tags, planned, json;
    int beam;
    double alpha;
} arguments;

static cla_status take_model(void *arguments_, const char *value)
{
    arguments *a = arguments_;
    if (a->models == EVAL_MODELS) {
        return cla_fail(CLA_E_USAGE, "--model: more than %d", EVAL_MODELS);
    }
    a->model[a->models++] = value;
    return *value ? CLA_OK : cla_fail(CLA_E_USAGE, "--model is empty");
}

static const cli_option options[] = {
    CLI_DEVICE(arguments, device),
    CLI_PRECISION,
    CLI_JSON(arguments, json),
    { "model", 'm', "DIR",
      "folder of a training run; several give a table that compares them", CLI_TAKE,
      .at = offsetof(arguments, model), .needed = true, .take = take_model },
    CLI_WEIGHTS(arguments, weights),
    { "data", 'D', "PATH", "data folder, or one file (default: the run's own data)",
      CLI_TEXT, .at = offsetof(arguments, data) },
    { "split", 'S', "NAME", "which file of the folder (default: test)", CLI_TEXT,
      .at = offsetof(arguments, split) },
    { "tags", 't', NULL,
      "of a tagger: precision, recall and F1 of each tag, and the confusion matrix",
      CLI_FLAG, .at = offsetof(arguments, tags) },
    { "lengths", 'l', NULL,
      "of a translator: BLEU of its translations by the words of the source", CLI_FLAG,
      .at = offsetof(arguments, lengths) },
    { "planned", 'p', NULL,
      "of a poet: keywords are planned from titles, as `compose' plans them, and not "
      "taken from the poets' lines",
      CLI_FLAG, .at = offsetof(arguments, planned) },
    { "beam", 'k', "N", "of a translator: hypotheses of a sentence (1)", CLI_INT,
      .at = offsetof(arguments, beam), .low = 1, .high = TRANSLATION_MAX_BEAM },
    { "length-penalty", 'a', "X",
      "of a translator: how much longer translations are favoured (0.6)", CLI_REAL,
      .at = offsetof(arguments, alpha), .low = 0, .high = 10 },
    { 0 },
};

static cla_status check(const void *arguments_)
{
    const arguments *a = arguments_;
    const bool one = a->models == 1 && a->tags != a->lengths;
    return one || !(a->tags || a->lengths)
               ? CLA_OK
               : cla_fail(CLA_E_USAGE,
                          "eval: --tags or --lengths is for one --model alone");
}

const cli_usage cli_eval_usage = {
    .options = options,
    .check = check,
    .about = "Scores a trained system on a data set.",
    .more = "  clattn eval --model runs/t\n"
            "  clattn eval --model runs/t --data other.conllu --json\n"
            "  clattn eval --model runs/t --model runs/u\n"
            "  clattn eval --model runs/t --tags\n"
            "  clattn eval --model runs/m --model runs/n --beam 4\n"
            "  clattn eval --model runs/m --lengths --beam 4\n"
            "  clattn eval --model runs/p --planned",
};

/* Prints the metrics as one object; those that are not finite are null. */
static cla_status print_object(const arguments *a, const char *model,
                               const cla_metrics *m)
{
    json_t *object = json_object();
    int failed =
        a->models > 1 && json_object_set_new(object, "model", cli_json_text(model));
    for (int i = 0; i < m->count; i++) {
        const double value = m->row[i].value;
        failed |= json_object_set_new(object, m->row[i].name,
                                      isfinite(value) ? json_real(value) : json_null());
    }
    if (failed) {
        json_decref(object);
        return cla_fail(CLA_E_NOMEM, "output: no memory for the metrics");
    }
    return cli_print_json(object);
}

static cla_status print(const arguments *a, const char *model, const cla_metrics *m)
{
    if (a->json) {
        return print_object(a, model, m);
    }
    for (int i = 0; i < m->count; i++) {
        const double value = m->row[i].value;
        printf("%-20s %.*f\n", m->row[i].name, fabs(value) < 1 ? 4 : 2, value);
    }
    return CLA_OK;
}

static cla_translate_options decoding(const arguments *a)
{
    return (cla_translate_options){ .beam = a->beam, .length_penalty = a->alpha };
}

/* Prints the output of --tags or --lengths. */
static cla_status show(const arguments *a, cla_model *model, const char *split)
{
    const cla_translate_options together = decoding(a);
    return a->tags ? cli_eval_tags((tagging *)cla_model_task(model), a->data, split,
                                   a->json)
                   : cli_eval_lengths(model, a->data, split, &together, a->json);
}

/* Computes the metrics of the model's kind, and for a translator also those of its
 * translations. */
static cla_status evaluate(const arguments *a, cla_model *model, const char *split,
                           cla_metrics *metrics)
{
    const cla_translate_options together = decoding(a);
    cla_task *task = cla_model_task(model);
    if (a->planned && task->kind != &cla_poetry_kind) {
        return cla_fail(CLA_E_USAGE, "eval --planned needs a poet, the model is a %s",
                        task->kind->name);
    }
    if (a->planned) {
        ((poetry *)task)->planned = true;
    }
    CLA_TRY(task->kind->evaluate(task, a->data, split, metrics));
    return task->kind == &cla_translation_kind
               ? cli_eval_text(model, a->data, split, &together, metrics)
               : CLA_OK;
}

static cla_status score(const arguments *a, const char *model, cla_metrics *metrics)
{
    const char *split = a->split ? a->split : "test";
    const char *kind = a->lengths ? "translator" : a->tags ? "tagger" : NULL;
    cli_model m;
    cla_status status = cli_model_open(&m, a->device, model, &a->weights, kind,
                                       a->tags ? "eval --tags needs a tagger"
                                               : "eval --lengths needs a translator");
    if (!status) {
        status = kind ? show(a, m.model, split) : evaluate(a, m.model, split, metrics);
    }
    cli_model_close(&m);
    return status;
}

static cla_status eval(const arguments *a)
{
    cla_metrics metrics[EVAL_MODELS] = { { 0 } };
    for (int i = 0; i < a->models; i++) {
        CLA_TRY(score(a, a->model[i], &metrics[i]));
        if (!a->tags && !a->lengths && (a->json || a->models == 1)) {
            CLA_TRY(print(a, a->model[i], &metrics[i]));
        }
    }
    if (a->models > 1 && !a->json) {
        cli_eval_table(metrics, a->model, a->models);
    }
    return CLA_OK;
}

int cli_eval(int argc, char **argv)
{
    arguments a = { .beam = 1, .alpha = 0.6 };
    cla_status status = cli_read(&cli_eval_usage, argc, argv, &a);
    status = status ? status : eval(&a);
    return status ? cli_fail_data(status) : CLI_OK;
}
