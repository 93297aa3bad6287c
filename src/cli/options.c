/* options.c - parses the command line by a table of options. */
#include "cli/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/writable.h"
#include "cli/cli.h"

enum { MAX_OPTIONS = 40, WORD_BYTES = 32 };

const char cli_device_help[] =
    "index, P:D, cpu, gpu, accelerator, amd, intel, nvidia, pocl, uuid:..., or part of "
    "its name; !x excludes; a comma list is an order of preference (default: "
    "$CLATTN_DEVICE, or the first that `clattn devices' lists)";

const char cli_precision_help[] =
    "how products are computed: highest (float32), high (three bf16 parts a number, as "
    "exact), medium (numbers rounded to bf16); a matrix unit is used where there is "
    "one "
    "(default: $CLATTN_PRECISION, or highest)";

cla_status cli_take_precision(void *arguments, const char *value)
{
    (void)arguments;
    cla_precision precision = CLA_PRECISION_HIGHEST;
    CLA_TRY(cla_precision_read("--precision", value, &precision));
    cla_precision_prefer(precision);
    return CLA_OK;
}

/* The state of parsing a command line. */
typedef struct reader {
    const cli_usage *usage;
    char **argv;
    int argc, next; // next: index of the next word
    void *arguments;
    cli_words words; // collected at the front of argv, after the name
} reader;

/* ---- errors -------------------------------------------------------------------- */

/* Returns "bpe learn " for "clattn bpe learn", for "(see clattn bpe learn --help)". */
static const char *command_of(const reader *r, char text[WORD_BYTES])
{
    const char *space = strchr(r->argv[0], ' ');
    text[0] = '\0';
    if (space) {
        snprintf(text, WORD_BYTES, "%s ", space + 1);
    }
    return text;
}

static cla_status see_help(const reader *r, const char *word, const char *what)
{
    char command[WORD_BYTES];
    return cla_fail(CLA_E_USAGE, "option '%.80s' %s (see clattn %s--help)", word, what,
                    command_of(r, command));
}

static cla_status unknown(const reader *r, const char *word, const char *name)
{
    char command[WORD_BYTES];
    const char *names[MAX_OPTIONS + 3] = { "help", "version" };
    const cli_option *o = r->usage->options;
    for (int i = 0; o && o[i].name && i < MAX_OPTIONS; i++) {
        names[i + 2] = o[i].name;
    }
    const char *near = cla_nearest(name, names);
    return cla_fail(CLA_E_USAGE, "unknown option '%.80s'%s%s%s (see clattn %s--help)",
                    word, near ? "; did you mean '--" : "", near ? near : "",
                    near ? "'?" : "", command_of(r, command));
}

static cla_status unexpected(const reader *r, const char *word)
{
    char command[WORD_BYTES];
    return cla_fail(CLA_E_USAGE, "unexpected '%.80s' (see clattn %s--help)", word,
                    command_of(r, command));
}

/* ---- values -------------------------------------------------------------------- */

static cla_status take_whole(const cli_option *o, const char *value, int64_t *number)
{
    return cla_parse_int(value, number) && *number >= o->low && *number <= o->high
               ? CLA_OK
               : cla_fail(CLA_E_USAGE, "--%s is '%s', must be %lld to %lld", o->name,
                          value, (long long)o->low, (long long)o->high);
}

static cla_status take_real(const cli_option *o, const char *value, double *number)
{
    return cla_parse_double(value, number) && *number >= (double)o->low &&
                   *number <= (double)o->high
               ? CLA_OK
               : cla_fail(CLA_E_USAGE, "--%s is '%s', must be %lld to %lld", o->name,
                          value, (long long)o->low, (long long)o->high);
}

/* Stores the value of an option; value is NULL for a flag. */
static cla_status take(const reader *r, const cli_option *o, const char *value)
{
    void *to = (char *)r->arguments + o->at;
    int64_t number = 0;
    switch (o->kind) {
    case CLI_FLAG:
        *(bool *)to = true;
        return CLA_OK;
    case CLI_TEXT:
        *(const char **)to = value;
        return value && *value ? CLA_OK
                               : cla_fail(CLA_E_USAGE, "--%s is empty", o->name);
    case CLI_INT:
        CLA_TRY(take_whole(o, value, &number));
        *(int *)to = (int)number;
        return CLA_OK;
    case CLI_INT64:
        return take_whole(o, value, to);
    case CLI_REAL:
        return take_real(o, value, to);
    case CLI_TAKE:
        return o->take(r->arguments, value);
    }
    return CLA_OK;
}

/* ---- options ------------------------------------------------------------------- */

_Noreturn static void answer_version(void)
{
    printf("clattn %s\n", cla_version());
    exit(cli_finish(CLI_OK));
}

_Noreturn static void answer_help(const reader *r)
{
    cla_text text = { 0 };
    if (cli_help_text(r->argv[0], r->usage, &text)) {
        exit(cli_fail(CLA_E_NOMEM));
    }
    fwrite(text.data, 1, text.size, stdout);
    cla_text_free(&text);
    exit(cli_finish(CLI_OK));
}

/* Returns the option of that name (of `size` bytes), or the only one that begins with
 * it. *begun is the number of options that begin with it; 1 for the option itself. */
static const cli_option *find(const cli_option *options, const char *name, size_t size,
                              int *begun)
{
    const cli_option *found = NULL;
    *begun = 0;
    for (const cli_option *o = options; o && o->name; o++) {
        if (strncmp(o->name, name, size) != 0) {
            continue;
        }
        if (!o->name[size]) {
            *begun = 1;
            return o;
        }
        *begun += size > 0;
        found = o;
    }
    return *begun == 1 ? found : NULL;
}

static const cli_option common[] = {
    { .name = "help" }, { .name = "usage" }, { .name = "version" }, { 0 }
};

static cla_status read_common(const reader *r, const cli_option *o, const char *word)
{
    if (strchr(word, '=')) {
        return see_help(r, word, "takes no value");
    }
    if (o->name[0] == 'v') {
        answer_version();
    }
    answer_help(r);
}

/* Parses --name, --name=value, --name value, or --na for --name. */
static cla_status read_long(reader *r, const char *word)
{
    const char *name = word + 2, *equals = strchr(name, '=');
    const size_t size = equals ? (size_t)(equals - name) : strlen(name);
    int begun = 0, others = 0;
    const cli_option *o = find(r->usage->options, name, size, &begun);
    const cli_option *c = find(common, name, size, &others);
    if (c && (!begun || !c->name[size])) {
        return read_common(r, c, word);
    }
    if (begun + others > 1) {
        char command[WORD_BYTES];
        return cla_fail(CLA_E_USAGE,
                        "option '%.80s' is short for %d options (see clattn %s--help)",
                        word, begun + others, command_of(r, command));
    }
    if (!o) {
        char plain[WORD_BYTES];
        snprintf(plain, sizeof plain, "%.*s", (int)(size < 31 ? size : 31), name);
        return unknown(r, word, plain);
    }
    if (!o->value) {
        return equals ? see_help(r, word, "takes no value") : take(r, o, NULL);
    }
    if (!equals && r->next == r->argc) {
        return see_help(r, word, "needs a value");
    }
    return take(r, o, equals ? equals + 1 : r->argv[r->next++]);
}

/* Parses -k, -kvalue, -k value, or -abc for -a -b -c. */
static cla_status read_short(reader *r, const char *word)
{
    for (const char *key = word + 1; *key; key++) {
        const cli_option *o = r->usage->options;
        for (; o && o->name && o->key != *key; o++) {
        }
        if (o && o->name && o->value) {
            if (!key[1] && r->next == r->argc) {
                return see_help(r, word, "needs a value");
            }
            return take(r, o, key[1] ? key + 1 : r->argv[r->next++]);
        }
        if (o && o->name) {
            CLA_TRY(take(r, o, NULL));
        } else if (*key == 'V') {
            answer_version();
        } else if (*key == '?' || *key == cli_help_key(r->usage)) {
            answer_help(r);
        } else {
            return unknown(r, word, word + 1);
        }
    }
    return CLA_OK;
}

/* ---- the command line ------------------------------------------------------------ */

static cla_status read_words(reader *r)
{
    bool ended = false; // after --
    while (r->next < r->argc) {
        char *word = r->argv[r->next++];
        if (!ended && word[0] == '-' && word[1]) {
            ended = strcmp(word, "--") == 0;
            CLA_TRY(ended            ? CLA_OK
                    : word[1] == '-' ? read_long(r, word)
                                     : read_short(r, word));
        } else if (r->usage->most == r->words.count) {
            return unexpected(r, word);
        } else {
            r->words.word[r->words.count++] = word;
        }
    }
    return CLA_OK;
}

static cla_status lacks(const reader *r, const char *what)
{
    char command[WORD_BYTES];
    const char *name = strchr(r->argv[0], ' ');
    return cla_fail(CLA_E_USAGE, "%s needs %s (see clattn %s--help)",
                    name ? name + 1 : r->argv[0], what, command_of(r, command));
}

/* Checks that needed options are given. Their members are texts or begin with one,
 * which is NULL when the option is not given. */
static cla_status check_needed(const reader *r)
{
    cla_text list = { 0 };
    cla_status status = CLA_OK;
    for (const cli_option *o = r->usage->options; o && o->name && !status; o++) {
        if (o->needed && !*(const char **)((char *)r->arguments + o->at)) {
            status = cla_text_add(&list, "%s--%s %s", list.size ? " and " : "", o->name,
                                  o->value);
        }
    }
    status = !status && list.size ? lacks(r, list.data) : status;
    cla_text_free(&list);
    return status;
}

static cla_status check_output(const cli_option *o, const char *path)
{
    switch (o->output) {
    case CLI_OUT_FILE:
        return cla_writable_file(path);
    case CLI_OUT_DIRECT:
        return strcmp(path, "-") == 0 ? CLA_OK : cla_writable_direct(path);
    case CLI_OUT_FOLDER:
        return cla_writable_folder(path);
    default:
        return CLA_OK;
    }
}

/* Checks that the outputs that are given can be written. */
static cla_status check_outputs(const reader *r)
{
    for (const cli_option *o = r->usage->options; o && o->name; o++) {
        if (o->output) {
            const char *path = *(const char **)((char *)r->arguments + o->at);
            CLA_TRY(path ? check_output(o, path) : CLA_OK);
        }
    }
    return CLA_OK;
}

cla_status cli_read(const cli_usage *usage, int argc, char **argv, void *arguments)
{
    reader r = { usage, argv, argc, 1, arguments, { argv + 1, 0 } };
    CLA_TRY(read_words(&r));
    const bool may_lack = usage->may_lack && usage->may_lack(arguments);
    if (r.words.count < usage->least && !may_lack) {
        return lacks(&r, usage->lacks);
    }
    if (usage->most) {
        *(cli_words *)((char *)arguments + usage->words_at) = r.words;
    }
    CLA_TRY(check_needed(&r));
    CLA_TRY(check_outputs(&r));
    return usage->check ? usage->check(arguments) : CLA_OK;
}
