/* cmd_demo.c - clattn demo: trains a tagger on data that comes with the program. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/platform.h"
#include "bench/treebank.h"
#include "cli/cli.h"
#include "cli/model.h"

enum { WORDS = 100 };

typedef struct arguments {
    const char *device, *out, *text;
    int epochs; // 0: those of the config
} arguments;

static const cli_option options[] = {
    CLI_DEVICE(arguments, device),
    { "out", 'o', "DIR", "folder of the model (clattn-demo)", CLI_TEXT,
      .at = offsetof(arguments, out), .output = CLI_OUT_FOLDER },
    { "text", 't', "TEXT", "the French sentence to tag, words with blanks between them",
      CLI_TEXT, .at = offsetof(arguments, text) },
    { "epochs", 'e', "N", "train for N epochs (12)", CLI_INT,
      .at = offsetof(arguments, epochs), .low = 1, .high = 1000 },
    { 0 },
};

const cli_usage cli_demo_usage = {
    .options = options,
    .about = "Trains a part-of-speech tagger on the French treebank that comes with "
             "clattn, scores it, tags a sentence and draws its attention weights. "
             "The same command continues a demo that was stopped.",
    .more = "  clattn demo\n"
            "  clattn demo --out runs/demo --text 'il ne vient pas'",
};

/* ---- other commands, as if they were typed ----------------------------------- */

enum { MOST = 16 };

typedef struct call {
    const char *word[MOST + 1];
    int count;
} call;

static void add(call *c, const char *option, const char *value)
{
    c->word[c->count++] = option;
    if (value) {
        c->word[c->count++] = value;
    }
}

static int run(int (*command)(int, char **), const arguments *a, call *c)
{
    if (a->device) {
        add(c, "--device", a->device);
    }
    return command(c->count, (char **)c->word);
}

static bool holds_run(const char *folder)
{
    cla_text path = { 0 };
    const bool holds = !cla_text_add(&path, "%s/config.json", folder) &&
                       cla_os_may(path.data, CLA_MAY_BE);
    cla_text_free(&path);
    return holds;
}

static int train(const arguments *a, const char *config)
{
    char epochs[32];
    call c = { { "clattn train", config, "--out", a->out }, 4 };
    snprintf(epochs, sizeof epochs, "epochs=%d", a->epochs);
    if (a->epochs) {
        add(&c, "--set", epochs);
    }
    if (holds_run(a->out)) {
        add(&c, "--resume", NULL);
    }
    return run(cli_train, a, &c);
}

static int eval(const arguments *a)
{
    call c = { { "clattn eval", "--model", a->out }, 3 };
    return run(cli_eval, a, &c);
}

static int inspect(const arguments *a, const char *picture)
{
    call c = {
        { "clattn inspect", "--model", a->out, "--text", a->text, "--out", picture }, 7
    };
    return run(cli_inspect, a, &c);
}

/* ---- tagging ----------------------------------------------------------------- */

static cla_status print_tags(cla_model *model, char *text)
{
    const char *words[WORDS], *tags[WORDS];
    char *rest = text;
    size_t count = 0;
    for (char *word; (word = strtok_r(rest, " \t\r\n", &rest)) && count < WORDS;) {
        words[count++] = word;
    }
    if (!count) {
        return cla_fail(CLA_E_INPUT, "demo: --text has no word");
    }
    CLA_TRY(cla_model_tag(model, tags, words, count));
    for (size_t i = 0; i < count; i++) {
        printf("  %s/%s", words[i], tags[i]);
    }
    printf("\n");
    return CLA_OK;
}

static cla_status tag(const arguments *a)
{
    cli_model m;
    char *text = NULL;
    CLA_TRY(cla_strdup(&text, a->text));
    cla_status status = cli_model_open(&m, a->device, a->out, NULL, NULL, NULL);
    status = status ? status : print_tags(m.model, text);
    cli_model_close(&m);
    free(text);
    return status;
}

/* ---- the command ------------------------------------------------------------- */

static void print_next(const arguments *a, const char *config)
{
    printf("\nNext:\n"
           "  echo 'on y va' | %s tag --model %s\n"
           "  %s train %s --out %s --set epochs=20 --resume\n"
           "  %s train %s --out plain --set attention=softmax\n"
           "  %s bench --quick\n",
           cli_program, a->out, cli_program, config, a->out, cli_program, config,
           cli_program);
}

static int show(const arguments *a, const char *config, const char *picture)
{
    printf("\nScores on sentences that training did not see (majority: the most "
           "frequent tag of each word):\n");
    int code = eval(a);
    if (code) {
        return code;
    }
    printf("\nA tagged sentence:\n");
    const cla_status status = tag(a);
    if (status) {
        return cli_fail_data(status);
    }
    code = inspect(a, picture);
    if (!code) {
        printf("\nIts attention weights, before and after the convolution: %s\n",
               picture);
        print_next(a, config);
    }
    return code;
}

/* Gives the path of the config that comes with the program, without ".." in it. */
static cla_status find_config(cla_text *config)
{
    char path[4096];
    cla_text found = { 0 };
    CLA_TRY(cla_text_add(&found, "%s/../../configs/tagger-demo.json",
                         bench_treebank_folder(path, sizeof path)));
    char *real = cla_os_real_path(found.data);
    const cla_status status =
        real ? cla_text_add(config, "%s", real)
             : cla_fail(CLA_E_IO, "demo: %s: %s", found.data, strerror(errno));
    free(real);
    cla_text_free(&found);
    return status;
}

static int demo(const arguments *a)
{
    cla_text config = { 0 }, picture = { 0 };
    cla_status status = find_config(&config);
    status = status ? status : cla_text_add(&picture, "%s/attention.svg", a->out);
    int code = status ? cli_fail(status) : CLI_OK;
    if (!code) {
        printf("Training a part-of-speech tagger of French, for about a minute:\n");
        fflush(stdout);
        code = train(a, config.data);
    }
    code = code ? code : show(a, config.data, picture.data);
    cla_text_free(&config);
    cla_text_free(&picture);
    return code;
}

int cli_demo(int argc, char **argv)
{
    arguments a = { .out = "clattn-demo", .text = "elle veut pas venir avec nous" };
    const cla_status status = cli_read(&cli_demo_usage, argc, argv, &a);
    return status ? cli_fail(status) : demo(&a);
}
