/* args.c - options by argp, with one line for what is wrong and the known word that
 * was likely meant. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/text.h"
#include "cli/cli.h"

enum { WORD_BYTES = 32 };

/* ---- options shared by commands ---------------------------------------------- */

static const struct argp_option device_options[] = {
    { "device", 'd', "DEVICE", 0,
      "index, P:D, cpu, gpu, accelerator, amd, intel, nvidia, pocl, uuid:..., or part "
      "of its name; !x excludes; a comma list is an order of preference (default: "
      "$CLATTN_DEVICE, or the first that `clattn devices' lists)",
      0 },
    { 0 },
};

static const struct argp_option json_options[] = {
    { "json", 'j', NULL, 0, "one JSON object a line", 0 },
    { 0 },
};

// NOLINTNEXTLINE(readability-non-const-parameter): the type is argp\'s
static error_t parse_device(int key, char *value, struct argp_state *state)
{
    cli_common *common = state->input;
    if (key != 'd') {
        return ARGP_ERR_UNKNOWN;
    }
    if (!*value) {
        cla_fail(CLA_E_USAGE, "--device is empty");
        return EINVAL;
    }
    common->device = value;
    return 0;
}

// NOLINTNEXTLINE(readability-non-const-parameter): the type is argp\'s
static error_t parse_common(int key, char *value, struct argp_state *state)
{
    cli_common *common = state->input;
    (void)value;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = common;
        return 0;
    case 'j':
        common->json = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp cli_device_argp = { .options = device_options,
                                      .parser = parse_device };

static const struct argp_child with_device[] = { { &cli_device_argp, 0, NULL, 0 },
                                                 { 0 } };
const struct argp cli_common_argp = { .options = json_options,
                                      .parser = parse_common,
                                      .children = with_device };

error_t cli_take_number(const char *option, const char *value, int64_t low,
                        int64_t high, int64_t *number)
{
    int64_t taken = 0;
    if (!cla_parse_int(value, &taken) || taken < low || taken > high) {
        cla_fail(CLA_E_USAGE, "--%s is '%s', must be %lld to %lld", option, value,
                 (long long)low, (long long)high);
        return EINVAL;
    }
    *number = taken;
    return 0;
}

error_t cli_take_int(const char *option, const char *value, int low, int high,
                     int *number)
{
    int64_t taken = 0;
    const error_t error = cli_take_number(option, value, low, high, &taken);
    *number = error ? *number : (int)taken;
    return error;
}

error_t cli_take_penalty(const char *value, double *penalty)
{
    if (!cla_parse_double(value, penalty) || !(*penalty >= 0 && *penalty <= 10)) {
        cla_fail(CLA_E_USAGE, "--length-penalty is '%s', must be 0 to 10", value);
        return EINVAL;
    }
    return 0;
}

/* ---- parsing ----------------------------------------------------------------- */

enum { MAX_OPTIONS = 32, KEY_USAGE = 0x100 };

/* argp's own help is silent when argp leaves the errors to us. */
static const struct argp_option help_options[] = {
    { "help", '?', NULL, 0, "give this help list", -1 },
    { "usage", KEY_USAGE, NULL, 0, "give a short usage message", -1 },
    { "version", 'V', NULL, 0, "print program version", -1 },
    { 0 },
};

/* What the parser of a command is wrapped in. */
typedef struct outer_input {
    const struct argp *outer;
    void *input;       // of the command's own parser
    const char *wrong; // the word that was not taken
    bool is_option;
} outer_input;

static void answer(const struct argp *argp, unsigned flags, char *name)
{
    argp_help(argp, stdout, flags, name);
    exit(cli_finish(CLI_OK));
}

// NOLINTNEXTLINE(readability-non-const-parameter): the type is argp\'s
static error_t parse_outer(int key, char *value, struct argp_state *state)
{
    outer_input *o = state->input;
    (void)value;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = o->input;
        return 0;
    case '?':
        answer(o->outer, ARGP_HELP_STD_HELP & ~(unsigned)ARGP_HELP_EXIT_OK,
               state->argv[0]);
        return 0;
    case KEY_USAGE:
        answer(o->outer, ARGP_HELP_USAGE, state->argv[0]);
        return 0;
    case 'V':
        printf("clattn %s\n", cla_version());
        exit(cli_finish(CLI_OK));
    case ARGP_KEY_ERROR: {
        // a word too many was put back, an option was not
        const char *next = state->next < state->argc ? state->argv[state->next] : NULL;
        const char *last = state->argv[state->next - 1];
        const bool ended = strcmp(last, "--") == 0; // words stand behind it
        o->wrong = (last[0] == '-' && !ended) || !next ? last : next;
        o->is_option = o->wrong[0] == '-' && o->wrong[1] && !ended;
        return 0;
    }
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The options with long names of argp, its children and their children. */
static size_t collect(const struct argp *argp, const struct argp_option **found)
{
    const struct argp *groups[8] = { argp };
    size_t count = 0, group_count = 1;
    for (size_t i = 0; i < group_count; i++) {
        const struct argp_child *c = groups[i]->children;
        for (; c && c->argp && group_count < 8; c++) {
            groups[group_count++] = c->argp;
        }
        const struct argp_option *o = groups[i]->options;
        for (; o && (o->name || o->key) && count < MAX_OPTIONS; o++) {
            if (o->name) {
                found[count++] = o;
            }
        }
    }
    return count;
}

/* How many names begin with name; *which is one of them: if any, name itself. */
static int begun_with(const char *const *names, const char *name, int *which)
{
    const size_t size = strlen(name);
    int count = 0;
    for (int i = 0; size && names[i]; i++) {
        if (strcmp(names[i], name) == 0) {
            *which = i;
            return 1;
        }
        if (strncmp(names[i], name, size) == 0) {
            *which = i;
            count++;
        }
    }
    return count;
}

/* Says what is the matter with a word that getopt did not take; command ends in a
 * blank, or is empty. */
static cla_status refuse_option(const struct argp *argp, const char *command,
                                const char *word)
{
    const struct argp_option *options[MAX_OPTIONS];
    const char *names[MAX_OPTIONS + 1] = { NULL };
    const bool is_long = word[1] == '-';
    int which = -1, begun = 0;
    char name[WORD_BYTES];
    snprintf(name, sizeof name, "%s", word + strspn(word, "-"));
    name[strcspn(name, "=")] = '\0';
    const size_t count = collect(argp, options);
    for (size_t i = 0; i < count; i++) {
        names[i] = options[i]->name;
        which = !is_long && word[1] == options[i]->key && !word[2] ? (int)i : which;
    }
    begun = is_long ? begun_with(names, name, &which) : which >= 0;
    if (begun == 1) {
        return cla_fail(CLA_E_USAGE, "option '%.80s' %s (see clattn %s--help)", word,
                        options[which]->arg ? "needs a value" : "takes no value",
                        command);
    }
    if (begun > 1) {
        return cla_fail(CLA_E_USAGE,
                        "option '%.80s' is short for %d options (see clattn %s--help)",
                        word, begun, command);
    }
    const char *near = cla_nearest(name, names);
    return cla_fail(CLA_E_USAGE, "unknown option '%.80s'%s%s%s (see clattn %s--help)",
                    word, near ? "; did you mean '--" : "", near ? near : "",
                    near ? "'?" : "", command);
}

cla_status cli_parse(const struct argp *argp, int argc, char **argv, void *input)
{
    const struct argp_child children[] = { { argp, 0, NULL, 0 }, { 0 } };
    const struct argp outer = { .options = help_options,
                                .parser = parse_outer,
                                .children = children };
    const char *space = strchr(argv[0], ' ');
    char command[WORD_BYTES] = "";
    if (space) {
        snprintf(command, sizeof command, "%s ", space + 1);
    }
    outer_input o = { .outer = &outer, .input = input };
    cla_fail(CLA_OK, "%s", ""); // a text after the call is the command's own
    const error_t error =
        argp_parse(&outer, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP, NULL, &o);
    if (!error) {
        return CLA_OK;
    }
    if (*cla_error()) {
        return error == ENOMEM ? CLA_E_NOMEM : CLA_E_USAGE;
    }
    if (o.wrong && o.is_option) {
        return refuse_option(&outer, command, o.wrong);
    }
    return cla_fail(CLA_E_USAGE, "unexpected '%.80s' (see clattn %s--help)",
                    o.wrong ? o.wrong : "", command);
}
