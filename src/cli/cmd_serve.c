/* cmd_serve.c - clattn serve: serves a trained model over HTTP. */
#include <string.h>

#include "cli/model.h"
#include "cli/serve.h"
#include "tasks/model.h"

typedef struct arguments {
    const char *host, *origin;
    cli_weights weights;
    int port;
    bool whole;
    serve_folders folders;
    serve_limits limits;
} arguments;

#define LIMIT(member) .at = offsetof(arguments, limits.member)

static cla_status take_model(void *arguments_, const char *value)
{
    serve_folders *f = &((arguments *)arguments_)->folders;
    if (f->count == SERVE_MODELS) {
        return cla_fail(CLA_E_USAGE, "--model: more than %d", SERVE_MODELS);
    }
    f->folder[f->count++] = value;
    return *value ? CLA_OK : cla_fail(CLA_E_USAGE, "--model is empty");
}

/* Takes a number of bytes, which K, M, G or T may follow: times 1024, once to four
 * times. */
static cla_status take_memory(void *arguments_, const char *value)
{
    static const char units[] = "KMGT";
    const size_t size = strlen(value);
    const char *unit = size ? strchr(units, value[size - 1]) : NULL;
    char number[32] = "";
    double bytes = 0;
    if (size < sizeof number) {
        memcpy(number, value, unit ? size - 1 : size);
    }
    const bool read = cla_parse_double(number, &bytes);
    for (const char *u = units; unit && u <= unit; u++) {
        bytes *= 1024;
    }
    if (!read || !(bytes >= 1 && bytes <= 1e18)) {
        return cla_fail(CLA_E_USAGE,
                        "--memory is '%.40s', must be bytes such as 800M "
                        "or 2G",
                        value);
    }
    ((arguments *)arguments_)->folders.memory = (uint64_t)bytes;
    return CLA_OK;
}

static const cli_option options[] = {
    CLI_DEVICE(arguments, folders.device),
    CLI_PRECISION,
    { "model", 'm', "DIR",
      "folder of a translator, a tagger, a reader or a language model; several "
      "translators serve the "
      "languages of each",
      CLI_TAKE, .at = offsetof(arguments, folders.folder), .needed = true,
      .take = take_model },
    CLI_WEIGHTS(arguments, weights),
    { "memory", 'M', "BYTES",
      "hold weights of so many bytes, such as 2G: models are loaded when they are "
      "asked "
      "for, and the least recently used go (all models stay)",
      CLI_TAKE, .take = take_memory },
    { "host", 'H', "ADDRESS", "numeric address to listen at (127.0.0.1)", CLI_TEXT,
      .at = offsetof(arguments, host) },
    { "port", 'p', "N", "port to listen at, 0: any that is free (5000)", CLI_INT,
      .at = offsetof(arguments, port), .low = 0, .high = 65535 },
    { "batch", 'b', "N", "texts worked on together, of all clients (32)", CLI_INT,
      LIMIT(batch), .low = 1, .high = 1 << 16 },
    CLI_WORKERS(arguments, folders.workers, "1: the whole device"),
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
        "first. SIGHUP reads the models again.",
    .more =
        "  clattn serve --model runs/m --beam 4\n"
        "  curl -d '{\"q\": \"the red dog runs.\"}' http://127.0.0.1:5000/translate",
};

/* Sets the kind of service that suits the first model, and the default of
 * --max-words. */
static cla_status choose(serve *s, const char *kind, serve_limits *limits)
{
    static const struct {
        const char *kind, *path;
        int max_words;
    } known[] = {
        [SERVE_TRANSLATE] = { "translator", "/translate", 2000 },
        [SERVE_TAG] = { "tagger", "/tag", 10000 },
        [SERVE_ANSWER] = { "reader", "/answer", 20000 },
        [SERVE_GENERATE] = { "lm", "/generate", 4096 },
    };
    for (int i = 0; i <= SERVE_GENERATE; i++) {
        if (strcmp(kind, known[i].kind) == 0) {
            s->kind = (serve_kind)i;
            s->kind_name = known[i].kind;
            s->path = known[i].path;
            limits->max_words =
                limits->max_words ? limits->max_words : known[i].max_words;
            return CLA_OK;
        }
    }
    return cla_fail(CLA_E_USAGE,
                    "serve needs a translator, a tagger, a reader or a language "
                    "model: this is a %s",
                    kind);
}

/* Looks at the first model: its kind, and the limits of its translations. */
static cla_status look(arguments *a, serve *s, cla_translate_options *usual)
{
    cla_model *first = NULL;
    uint64_t bytes = 0;
    CLA_TRY(cli_weights_read(&a->weights, &a->folders.how));
    CLA_TRY(cla_model_outline(&first, a->folders.folder[0], a->folders.how.weights,
                              &bytes));
    cla_status status = choose(s, cla_model_kind(first), &a->limits);
    if (!status && s->kind == SERVE_TRANSLATE) {
        status = cla_model_translate_usual(first, usual);
    }
    cla_model_free(&first);
    return status;
}

static cla_status serve_folders_of(arguments *a)
{
    serve s = { .folders = &a->folders,
                .limits = &a->limits,
                .workers = a->folders.workers,
                .whole = a->whole,
                .origin = strcmp(a->origin, "none") ? a->origin : "" };
    cla_translate_options usual = { 0 };
    CLA_TRY(serve_available());
    CLA_TRY(look(a, &s, &usual));
    CLA_TRY(serve_open(&s));
    cla_status status = serve_models_open(&s.models, &s);
    status = status ? status : serve_run(&s, a->host, a->port);
    serve_log_counts(&s);
    cli_tell_cut(usual.extra, usual.most, s.counts.cut, s.counts.texts);
    serve_models_leave(&s.models);
    serve_close(&s);
    return status;
}

int cli_serve(int argc, char **argv)
{
    arguments a = {
        .host = "127.0.0.1",
        .origin = "*",
        .port = 5000,
        .folders = { .workers = 1 },
        .limits = { .batch = 32,
                    .wait_ms = 10,
                    .queue = 1024,
                    .body = 1 << 20,
                    .timeout = 30,
                    .connections = 512,
                    .alpha = -1 },
    };
    cla_status status = cli_read(&cli_serve_usage, argc, argv, &a);
    status = status ? status : serve_folders_of(&a);
    return status ? cli_fail_data(status) : CLI_OK;
}
