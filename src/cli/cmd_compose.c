/* cmd_compose.c - clattn compose: composes quatrains from texts with a generator. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/model.h"
#include "cli/stream.h"
#include "models/poet.h"

typedef struct arguments {
    const char *device, *model;
    bool json;
    cli_words texts;
    cla_compose_options options;
} arguments;

static cla_status take_greedy(void *arguments_, const char *value)
{
    arguments *a = arguments_;
    (void)value;
    a->options.beam = 1;
    return CLA_OK;
}

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

static const cli_option options[] = {
    CLI_DEVICE(arguments, device),
    CLI_PRECISION,
    CLI_JSON(arguments, json),
    { "model", 'm', "DIR", "folder of a poem generator's training run", CLI_TEXT,
      .at = offsetof(arguments, model), .needed = true },
    { "chars", 'c', "N", "characters of a line: 5 or 7 (7)", CLI_INT,
      .at = offsetof(arguments, options.characters), .low = 1, .high = INT32_MAX,
      .choices = "5 7" },
    { "beam", 'k', "N", "hypotheses of a line; 1: the likeliest character each time",
      CLI_INT, .at = offsetof(arguments, options.beam), .low = 1,
      .high = POET_MAX_BEAM },
    { "greedy", 'g', NULL, "the same as --beam 1, the default", CLI_TAKE,
      .take = take_greedy },
    { "seed", 's', "N", "of keywords that the text does not give (42)", CLI_TAKE,
      .take = take_seed },
    { 0 },
};

static cla_status check(const void *arguments_)
{
    const arguments *a = arguments_;
    const int characters = a->options.characters;
    return characters == 5 || characters == 7
               ? CLA_OK
               : cla_fail(CLA_E_USAGE, "--chars is %d, must be 5 or 7", characters);
}

const cli_usage cli_compose_usage = {
    .options = options,
    .words = "[TEXT...]",
    .words_at = offsetof(arguments, texts),
    .most = INT_MAX,
    .check = check,
    .about = "Writes a quatrain about each text, or about each line of standard input.",
    .more = "  clattn compose --model runs/p --chars 5 \"春風明月\"\n"
            "  clattn compose --model runs/p --beam 8 --json < texts",
};

/* Returns NULL when out of memory. */
static json_t *list(const char *const *texts)
{
    json_t *array = json_array();
    for (int i = 0; i < CLA_QUATRAIN_LINES; i++) {
        if (json_array_append_new(array, cli_json_text(texts[i]))) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static cla_status print(const arguments *a, const char *text, const cla_quatrain *p,
                        bool first)
{
    if (a->json) {
        CLA_TRY(cli_print_json(
            json_pack("{so so so si si si sf}", "text", cli_json_text(text), "keywords",
                      list(p->keyword), "lines", list(p->line), "from_text",
                      p->from_text, "from_themes", p->from_themes, "from_vectors",
                      p->from_vectors, "logp", p->logp)));
    } else {
        printf("%s", first ? "" : "\n");
        for (int i = 0; i < CLA_QUATRAIN_LINES; i++) {
            printf("%s\n", p->line[i]);
        }
    }
    return cli_flush();
}

typedef struct composer {
    const arguments *a;
    cla_model *model;
    bool more; // a poem was printed
} composer;

static cla_status compose_one(composer *c, const char *text)
{
    cla_quatrain *poem = NULL;
    CLA_TRY(cla_model_compose(c->model, &poem, text, &c->a->options));
    const cla_status status = print(c->a, text, poem, !c->more);
    c->more = true;
    cla_quatrain_free(&poem);
    return status;
}

static cla_status take_line(void *to, const cla_line_stream *at, char *text,
                            size_t size)
{
    (void)at;
    (void)size;
    return compose_one(to, text);
}

static cla_status compose_all(composer *c)
{
    cla_status status = CLA_OK;
    for (int i = 0; i < c->a->texts.count && !status; i++) {
        char *text = c->a->texts.word[i];
        size_t size = strlen(text);
        status = cla_line_check("argument", (size_t)i + 1, text, &size);
        status = status ? status : compose_one(c, text);
    }
    const cli_stream input = { .take = take_line, .to = c };
    return c->a->texts.count || status ? status : cli_stream_run(&input);
}

static cla_status compose(const arguments *a)
{
    cli_model m;
    cla_status status =
        cli_model_open(&m, a->device, a->model, NULL, "poet", "compose needs a poet");
    composer c = { .a = a, .model = m.model };
    status = status ? status : compose_all(&c);
    cli_model_close(&m);
    return status;
}

int cli_compose(int argc, char **argv)
{
    arguments a = { .options = { .characters = 7, .beam = 1, .seed = 42 } };
    cla_status status = cli_read(&cli_compose_usage, argc, argv, &a);
    status = status ? status : compose(&a);
    return status ? cli_fail_data(status) : CLI_OK;
}
