/* cmd_compose.c - clattn compose: quatrains from texts, with a trained generator. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "clattn/model.h"
#include "cli/stream.h"
#include "models/poet.h"

typedef struct arguments {
    cli_common common;
    const char *model;
    char **text; // [texts] of the command line
    int texts;
    cla_compose_options options;
} arguments;

static const struct argp_option options[] = {
    { "model", 'm', "DIR", 0, "folder of a poem generator's training run", 0 },
    { "chars", 'c', "N", 0, "characters of a line: 5 or 7 (7)", 0 },
    { "beam", 'k', "N", 0, "hypotheses of a line; 1: the likeliest character each time",
      0 },
    { "greedy", 'g', NULL, 0, "the same as --beam 1, which is what is done", 0 },
    { "seed", 's', "N", 0, "of keywords that the text does not give (42)", 0 },
    { 0 },
};

static error_t check(const arguments *a)
{
    if (!a->model) {
        cla_fail(CLA_E_USAGE, "compose needs --model DIR (see clattn compose --help)");
        return EINVAL;
    }
    if (!*a->model) {
        cla_fail(CLA_E_USAGE, "--model is empty");
        return EINVAL;
    }
    if (a->options.characters != 5 && a->options.characters != 7) {
        cla_fail(CLA_E_USAGE, "--chars is %d, must be 5 or 7", a->options.characters);
        return EINVAL;
    }
    return 0;
}

// NOLINTNEXTLINE(readability-non-const-parameter): the type is argp's
static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *a = state->input;
    int64_t number = 0;
    error_t error = 0;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->common;
        return 0;
    case 'm':
        a->model = value;
        return 0;
    case 'c':
        return cli_take_int("chars", value, 1, INT32_MAX, &a->options.characters);
    case 'k':
        return cli_take_int("beam", value, 1, POET_MAX_BEAM, &a->options.beam);
    case 'g':
        a->options.beam = 1;
        return 0;
    case 's':
        error = cli_take_number("seed", value, 0, UINT32_MAX, &number);
        a->options.seed = (uint32_t)number;
        return error;
    case ARGP_KEY_ARGS: // all that are left, one behind the other
        a->text = state->argv + state->next;
        a->texts = state->argc - state->next;
        return 0;
    case ARGP_KEY_END:
        return check(a);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static json_t *list(const char *const *texts)
{
    json_t *array = json_array();
    for (int i = 0; i < CLA_QUATRAIN_LINES; i++) {
        json_array_append_new(array, cli_json_text(texts[i]));
    }
    return array;
}

static cla_status print(const arguments *a, const char *text, const cla_quatrain *p,
                        bool first)
{
    if (a->common.json) {
        CLA_TRY(cli_print_json(
            json_pack("{so so so si si sf}", "text", cli_json_text(text), "keywords",
                      list(p->keyword), "lines", list(p->line), "from_text",
                      p->from_text, "from_vectors", p->from_vectors, "logp", p->logp)));
    } else {
        printf("%s", first ? "" : "\n");
        for (int i = 0; i < CLA_QUATRAIN_LINES; i++) {
            printf("%s\n", p->line[i]);
        }
    }
    return fflush(stdout) || ferror(stdout)
               ? cla_fail(CLA_E_IO, "standard output: %s", strerror(errno))
               : CLA_OK;
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
    for (int i = 0; i < c->a->texts && !status; i++) {
        char *text = c->a->text[i];
        size_t size = strlen(text);
        status = cla_line_check("argument", (size_t)i + 1, text, &size);
        status = status ? status : compose_one(c, text);
    }
    const cli_stream input = { .take = take_line, .to = c };
    return c->a->texts || status ? status : cli_stream_run(&input);
}

static cla_status compose(const arguments *a)
{
    cla_runtime *rt = NULL;
    composer c = { .a = a };
    cla_status status = cla_runtime_new(&rt, a->common.device);
    status = status ? status : cla_model_load(&c.model, rt, a->model);
    if (!status && strcmp(cla_model_kind(c.model), "poet") != 0) {
        status = cla_fail(CLA_E_USAGE, "%s holds a %s, compose needs a poet", a->model,
                          cla_model_kind(c.model));
    }
    status = status ? status : compose_all(&c);
    cla_model_free(&c.model);
    cla_runtime_free(&rt);
    return status;
}

int cli_compose(int argc, char **argv)
{
    static const struct argp_child children[] = { { &cli_common_argp, 0, NULL, 0 },
                                                  { 0 } };
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "[TEXT...]",
        .doc = "Writes a quatrain about each text, or about each line of standard "
               "input.\v"
               "  clattn compose --model runs/p --chars 5 \"春風明月\"\n"
               "  clattn compose --model runs/p --beam 8 --json < texts",
        .children = children,
    };
    arguments a = { .options = { 7, 1, 42 } };
    cla_status status = cli_parse(&argp, argc, argv, &a);
    status = status ? status : compose(&a);
    return status ? cli_fail_data(status) : CLI_OK;
}
