/* cmd_serve.c - clattn serve: serves a trained model over HTTP. */
#include <stdio.h>
#include <string.h>

#include "cli/model.h"
#include "cli/serve.h"

typedef struct arguments {
    const char *device, *model[SERVE_MODELS], *weights, *host, *origin;
    int models, port, workers;
    bool whole;
    serve_limits limits;
} arguments;

#define LIMIT(member) .at = offsetof(arguments, limits.member)

static cla_status take_model(void *arguments_, const char *value)
{
    arguments *a = arguments_;
    if (a->models == SERVE_MODELS) {
        return cla_fail(CLA_E_USAGE, "--model: more than %d", SERVE_MODELS);
    }
    a->model[a->models++] = value;
    return *value ? CLA_OK : cla_fail(CLA_E_USAGE, "--model is empty");
}

static const cli_option options[] = {
    CLI_DEVICE(arguments, device),
    CLI_PRECISION,
    { "model", 'm', "DIR",
      "folder of a translator, a tagger, a reader or a language model; several "
      "translators serve the "
      "languages of each",
      CLI_TAKE, .at = offsetof(arguments, model), .needed = true, .take = take_model },
    CLI_WEIGHTS(arguments, weights),
    { "host", 'H', "ADDRESS", "numeric address to listen at (127.0.0.1)", CLI_TEXT,
      .at = offsetof(arguments, host) },
    { "port", 'p', "N", "port to listen at, 0: any that is free (5000)", CLI_INT,
      .at = offsetof(arguments, port), .low = 0, .high = 65535 },
    { "batch", 'b', "N", "texts worked on together, of all clients (32)", CLI_INT,
      LIMIT(batch), .low = 1, .high = 1 << 16 },
    CLI_WORKERS(arguments, workers, "1: the whole device"),
    { "wait", 't', "MS", "how long a batch waits for more texts (10)", CLI_INT,
      LIMIT(wait_ms), .low = 0, .high = 60000 },
    { "queue", 'q', "N", "texts that wait; more get status 503 (1024)", CLI_INT,
      LIMIT(queue), .low = 1, .high = 1 << 20 },
    { "max-body", 'B', "BYTES", "refuse a longer request (1048576)", CLI_INT,
      LIMIT(body), .low = 1, .high = 1 << 30 },
    { "max-words", 'w', "N",
      "refuse a text of more words or pieces of words (translators: 2000, taggers: "
      "10000, readers: 20000); most pieces of a continuation too (4096)",
      CLI_INT, LIMIT(max_words), .low = 1, .high = INT32_MAX },
    { "timeout", 'T', "SECONDS", "close a connection that is idle for so long (30)",
      CLI_INT, LIMIT(timeout), .low = 1, .high = 86400 },
    { "connections", 'c', "N", "connections at a time (512)", CLI_INT,
      LIMIT(connections), .low = 1, .high = 1 << 16 },
    { "beam", 'k', "N", "hypotheses of a translation (the model's, or 1)", CLI_INT,
      LIMIT(beam), .low = 1, .high = CLA_MOST_BEAM },
    { "no-split", 'N', NULL, "translate each line as it is, not sentence by sentence",
      CLI_FLAG, .at = offsetof(arguments, whole) },
    { "origin", 'o', "ORIGIN",
      "the server whose pages may ask, such as https://example.org, or none (*: all)",
      CLI_TEXT, .at = offsetof(arguments, origin) },
    { "length-penalty", 'a', "X",
      "how much longer translations are favoured, 0: not (the model's, or 0.6)",
      CLI_REAL, LIMIT(alpha), .low = 0, .high = 10 },
    { 0 },
};

const cli_usage cli_serve_usage = {
    .options = options,
    .about =
        "Serves a trained model over HTTP: POST /translate, /tag, /answer or "
        "/generate with JSON, "
        "GET /health, /metrics, /languages and /frontend/settings. Prints its address, "
        "and runs until SIGTERM or SIGINT; requests that it has accepted are answered "
        "first.",
    .more =
        "  clattn serve --model runs/m --beam 4\n"
        "  curl -d '{\"q\": \"the red dog runs.\"}' http://127.0.0.1:5000/translate",
};

/* Sets the kind of service that suits the model, and the default of --max-words. */
static cla_status choose(serve *s, serve_limits *limits)
{
    static const struct {
        const char *kind;
        int max_words;
    } known[] = {
        [SERVE_TRANSLATE] = { "translator", 2000 },
        [SERVE_TAG] = { "tagger", 10000 },
        [SERVE_ANSWER] = { "reader", 20000 },
        [SERVE_GENERATE] = { "lm", 4096 },
    };
    for (int i = 0; i <= SERVE_GENERATE; i++) {
        if (strcmp(cla_model_kind(s->model), known[i].kind) == 0) {
            s->kind = (serve_kind)i;
            limits->max_words =
                limits->max_words ? limits->max_words : known[i].max_words;
            return CLA_OK;
        }
    }
    return cla_fail(CLA_E_USAGE,
                    "serve needs a translator, a tagger, a reader or a language "
                    "model: this is a %s",
                    cla_model_kind(s->model));
}

/* The translators of a service, on one device. */
typedef struct translators {
    serve_translator item[SERVE_MODELS];
    int count;
} translators;

/* Opens the translators behind the first one. */
static cla_status open_others(const arguments *a, const serve *s, cla_runtime *rt,
                              translators *all)
{
    cla_model_options how = { 0 };
    CLA_TRY(cla_weights_parse(a->weights, &how.weights));
    all->item[all->count++].model = s->model;
    while (all->count < a->models) {
        cla_model **to = &all->item[all->count].model;
        CLA_TRY(cla_model_open(to, rt, a->model[all->count], &how));
        all->count++;
        const char *kind = cla_model_kind(*to);
        if (s->kind != SERVE_TRANSLATE || strcmp(kind, "translator") != 0) {
            return cla_fail(
                CLA_E_USAGE, "several models have to be translators: %s holds a %s",
                a->model[s->kind == SERVE_TRANSLATE ? all->count - 1 : 0],
                s->kind == SERVE_TRANSLATE ? kind : cla_model_kind(s->model));
        }
    }
    return CLA_OK;
}

static cla_status serve_models(arguments *a, serve *s, translators *all)
{
    cla_translate_options usual = { 0 };
    for (int i = 0; i < all->count; i++) {
        if (s->kind == SERVE_TRANSLATE) {
            CLA_TRY(serve_read_languages(&all->item[i], s->limits));
        }
        CLA_TRY(cli_model_hire(all->item[i].model, a->workers));
    }
    if (s->kind == SERVE_TRANSLATE) {
        CLA_TRY(cla_model_translate_usual(s->model, &usual));
    }
    CLA_TRY(serve_open(s));
    if (s->kind == SERVE_TRANSLATE && serve_detector_new(&s->detector, s)) {
        snprintf(s->no_detector, sizeof s->no_detector, "%s", cla_error());
    }
    const cla_status status = serve_run(s, a->host, a->port);
    serve_detector_free(&s->detector);
    cli_tell_cut(usual.extra, usual.most, s->counts.cut, s->counts.texts);
    serve_close(s);
    return status;
}

static cla_status serve_opened(arguments *a, const cli_model *m)
{
    translators *all = NULL;
    serve s = { .model = m->model,
                .limits = &a->limits,
                .workers = a->workers,
                .whole = a->whole,
                .origin = strcmp(a->origin, "none") ? a->origin : "" };
    CLA_TRY(choose(&s, &a->limits));
    CLA_TRY(cla_alloc(&all, 1, sizeof *all));
    cla_status status = open_others(a, &s, m->rt, all);
    s.translator = all->item;
    s.translators = all->count;
    status = status ? status : serve_models(a, &s, all);
    for (int i = 1; i < all->count; i++) {
        cla_model_free(&all->item[i].model);
    }
    free(all);
    return status;
}

static cla_status serve_folders(arguments *a)
{
    cli_model m;
    CLA_TRY(serve_available());
    cla_status status =
        cli_model_open(&m, a->device, a->model[0], a->weights, NULL, NULL);
    status = status ? status : serve_opened(a, &m);
    cli_model_close(&m);
    return status;
}

int cli_serve(int argc, char **argv)
{
    arguments a = {
        .host = "127.0.0.1",
        .origin = "*",
        .port = 5000,
        .workers = 1,
        .limits = { .batch = 32,
                    .wait_ms = 10,
                    .queue = 1024,
                    .body = 1 << 20,
                    .timeout = 30,
                    .connections = 512,
                    .alpha = -1 },
    };
    cla_status status = cli_read(&cli_serve_usage, argc, argv, &a);
    status = status ? status : serve_folders(&a);
    return status ? cli_fail_data(status) : CLI_OK;
}
