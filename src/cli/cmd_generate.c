/* cmd_generate.c - clattn generate: continues texts with a language model. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/model.h"
#include "cli/stream.h"

enum { STOPS = 16 };

typedef struct arguments {
    const char *device, *model;
    cli_weights weights;
    bool json, greedy;
    cli_words prompts;
    const char *stop[STOPS];
    cla_generate_options options;
} arguments;

static cla_status take_seed(void *arguments_, const char *value)
{
    arguments *a = arguments_;
    int64_t seed = 0;
    if (!cla_parse_int(value, &seed) || seed < 0 || seed > UINT32_MAX) {
        return cla_fail(CLA_E_USAGE, "--seed is '%s', must be 0 to %lld", value,
                        (long long)UINT32_MAX);
    }
    a->options.seed = (uint32_t)seed;
    return CLA_OK;
}

static cla_status take_stop(void *arguments_, const char *value)
{
    arguments *a = arguments_;
    if (a->options.stop_count == STOPS) {
        return cla_fail(CLA_E_USAGE, "--stop: more than %d", STOPS);
    }
    a->stop[a->options.stop_count++] = value;
    return *value ? CLA_OK : cla_fail(CLA_E_USAGE, "--stop is empty");
}

static const cli_option options[] = {
    CLI_DEVICE(arguments, device),
    CLI_JSON(arguments, json),
    { "model", 'm', "DIR", "folder of a language model's training run", CLI_TEXT,
      .at = offsetof(arguments, model), .needed = true },
    CLI_WEIGHTS(arguments, weights),
    { "pieces", 'n', "N", "pieces to write, at most (200)", CLI_INT,
      .at = offsetof(arguments, options.pieces), .low = 1, .high = INT32_MAX },
    { "greedy", 'g', NULL, "take the likeliest piece each time", CLI_FLAG,
      .at = offsetof(arguments, greedy) },
    { "temperature", 't', "X",
      "draw by the probabilities to the power 1/X: below 1 likelier pieces, above 1 "
      "rarer ones (1); 0: as --greedy",
      CLI_REAL, .at = offsetof(arguments, options.temperature), .low = 0, .high = 100 },
    { "top-k", 'k', "N", "draw from the N likeliest pieces", CLI_INT,
      .at = offsetof(arguments, options.top_k), .low = 1, .high = INT32_MAX },
    { "top-p", 'p', "X",
      "draw from the fewest likeliest pieces that have the probability X together",
      CLI_REAL, .at = offsetof(arguments, options.top_p), .low = 0, .high = 1 },
    { "stop", 'S', "TEXT", "end before this text; may be given again", CLI_TAKE,
      .take = take_stop },
    { "seed", 's', "N", "of the draws (42)", CLI_TAKE, .take = take_seed },
    { 0 },
};

const cli_usage cli_generate_usage = {
    .options = options,
    .words = "[PROMPT...]",
    .words_at = offsetof(arguments, prompts),
    .most = INT_MAX,
    .about = "Continues each prompt, or each line of standard input.",
    .more = "  clattn generate --model runs/lm \"To be\"\n"
            "  clattn generate --model runs/lm --temperature 0.8 --top-k 40 \"To be\"\n"
            "  clattn generate --model runs/lm --greedy --stop . --json < prompts",
};

/* Prints a part of a text as it is written. */
static cla_status print_part(void *to, const char *text, size_t size)
{
    (void)to;
    fwrite(text, 1, size, stdout);
    return cli_flush();
}

typedef struct generator {
    const arguments *a;
    cla_model *model;
} generator;

/* Continues a prompt. Without --json, prints it with what follows on it. */
static cla_status continue_one(const generator *g, const char *prompt)
{
    cla_generate_options how = g->a->options;
    const char *text = NULL;
    how.greedy = g->a->greedy || !(how.temperature > 0) || !(how.top_p > 0);
    how.stop = g->a->stop;
    how.take = g->a->json ? NULL : print_part;
    CLA_TRY(g->a->json ? CLA_OK : print_part(NULL, prompt, strlen(prompt)));
    cla_status status = cla_model_generate(g->model, &text, prompt, &how);
    if (!status && g->a->json) {
        status = cli_print_json(json_pack("{so so}", "prompt", cli_json_text(prompt),
                                          "text", cli_json_text(text)));
    } else if (!status) {
        status = print_part(NULL, "\n", 1);
    }
    return status ? status : cli_flush();
}

static cla_status take_line(void *to, const cla_line_stream *at, char *text,
                            size_t size)
{
    (void)at;
    (void)size;
    return continue_one(to, text);
}

static cla_status continue_all(generator *g)
{
    cla_status status = CLA_OK;
    for (int i = 0; i < g->a->prompts.count && !status; i++) {
        status = continue_one(g, g->a->prompts.word[i]);
    }
    const cli_stream input = { .take = take_line, .to = g };
    return g->a->prompts.count || status ? status : cli_stream_run(&input);
}

static cla_status generate(const arguments *a)
{
    cli_model m;
    cla_status status = cli_model_open(&m, a->device, a->model, &a->weights, "lm",
                                       "generate needs a language model");
    generator g = { .a = a, .model = m.model };
    status = status ? status : continue_all(&g);
    cli_model_close(&m);
    return status;
}

int cli_generate(int argc, char **argv)
{
    arguments a = { .options = {
                        .pieces = 200, .temperature = 1, .top_p = 1, .seed = 42 } };
    cla_status status = cli_read(&cli_generate_usage, argc, argv, &a);
    status = status ? status : generate(&a);
    return status ? cli_fail_data(status) : CLI_OK;
}
