/* verbs.c - finds commands, and verbs of commands, by name. */
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "cli/cli.h"

enum { MAX_VERBS = 63 };

const cli_command *cli_find_command(const cli_usage *of, const char *word)
{
    for (const cli_command *v = of->verbs; v && v->name; v++) {
        if (strcmp(v->name, word) == 0) return v;
    }
    return NULL;
}

cla_status cli_no_command(const cli_usage *of, const char *word)
{
    const char *names[MAX_VERBS + 1] = { NULL };
    for (int i = 0; of->verbs && i < MAX_VERBS && of->verbs[i].name; i++) {
        names[i] = of->verbs[i].name;
    }
    const char *near = cla_nearest(word, names);
    return cla_fail(CLA_E_USAGE, "'%.80s' is no command%s%s%s (see clattn --help)",
                    word, near ? "; did you mean '" : "", near ? near : "",
                    near ? "'?" : "");
}

/* Fails: word (NULL: none) is no verb of command, "clattn bpe" for example. The message
 * leaves out the program's name. */
static cla_status no_verb(const cli_command *verbs, const char *command,
                          const char *word)
{
    const char *shown = strchr(command, ' ') ? strchr(command, ' ') + 1 : command;
    const char *names[MAX_VERBS + 1] = { NULL };
    cla_text list = { 0 };
    for (int i = 0; i < MAX_VERBS && verbs[i].name; i++) {
        names[i] = verbs[i].name;
        const char *comma = !i ? "" : verbs[i + 1].name ? ", " : " or ";
        CLA_TRY(cla_text_add(&list, "%s%s", comma, names[i]));
    }
    const char *near = word ? cla_nearest(word, names) : NULL;
    const cla_status status =
        near ? cla_fail(CLA_E_USAGE, "'%.80s' is no verb of %s; did you mean '%s'?",
                        word, shown, near)
             : cla_fail(CLA_E_USAGE, "%s needs a verb: %s", shown, list.data);
    cla_text_free(&list);
    return status;
}

int cli_run_verb(const cli_usage *usage, int argc, char **argv)
{
    static char name[64];
    if (argc > 1 && argv[1][0] == '-') {
        const cla_status status = cli_read(usage, 2, argv, NULL);
        return cli_fail(status ? status : no_verb(usage->verbs, argv[0], NULL));
    }
    const cli_command *verb = argc > 1 ? cli_find_command(usage, argv[1]) : NULL;
    if (!verb) {
        return cli_fail(no_verb(usage->verbs, argv[0], argc > 1 ? argv[1] : NULL));
    }
    snprintf(name, sizeof name, "%s %s", argv[0], verb->name);
    argv[1] = name;
    return verb->run(argc - 1, argv + 1);
}
