/* outputs.c - every option that names an output: one that cannot be written is refused
 * by cli_read, before the command begins any work. The options are those of the
 * program's own tables. */
int clattn_main(int argc, char **argv);
#define main clattn_main // the commands stand in the program's main file
#include "cli/main.c"    // NOLINT(bugprone-suspicious-include)
#undef main

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

enum { ARGUMENTS = 1 << 16 }; // more bytes than the options of any command

static char folder[] = "/tmp/clattn-outputs-XXXXXX";
static int outputs; // that were tried

static void make(void)
{
    cr_assert(mkdtemp(folder) && chdir(folder) == 0 && mkdir("d", 0700) == 0);
    FILE *file = fopen("file", "w");
    cr_assert(file && fclose(file) == 0);
}

static void clean(void)
{
    // nothing else was left in the folder
    cr_assert(rmdir("d") == 0 && remove("file") == 0 && chdir("/") == 0 &&
              rmdir(folder) == 0);
}

/* Reads a command line that gives the option the value, and all that the command
 * needs. */
static cla_status give(const char *name, const cli_usage *u, const cli_option *output,
                       const char *value)
{
    char *argv[32], words[32][64];
    int count = 0;
    void *arguments = calloc(1, ARGUMENTS);
    snprintf(words[count++], 64, "%s", name);
    for (const cli_option *o = u->options; o->name; o++) {
        if (o == output || o->needed) {
            snprintf(words[count++], 64, "--%s=%s", o->name, o == output ? value : "x");
        }
    }
    for (int i = 0; i < u->least; i++) {
        snprintf(words[count++], 64, "x%d", i);
    }
    for (int i = 0; i < count; i++) {
        argv[i] = words[i];
    }
    const cla_status status = cli_read(u, count, argv, arguments);
    free(arguments);
    return status;
}

static void refuse(const char *name, const cli_usage *u, const cli_option *o,
                   const char *value)
{
    const cla_status status = give(name, u, o, value);
    cr_expect(status == CLA_E_IO && strstr(cla_error(), value),
              "%s --%s %s: status %d, %s", name, o->name, value, (int)status,
              cla_error());
}

/* Returns whether the table says that a command writes what the option names. */
static bool is_named_output(const cli_option *o)
{
    const char *help = o->help ? o->help : "";
    return o->value && o->kind == CLI_TEXT &&
           (strcmp(o->name, "out") == 0 || strstr(help, "to FILE") ||
            strstr(help, "to DIR"));
}

static void check_options(const char *name, const cli_usage *u)
{
    for (const cli_option *o = u->options; o && o->name; o++) {
        cr_expect(o->output || !is_named_output(o), "%s --%s: is no output", name,
                  o->name);
        if (!o->output) {
            continue;
        }
        outputs++;
        refuse(name, u, o, "file/below");
        if (o->output == CLI_OUT_FOLDER) {
            refuse(name, u, o, "file");
        } else {
            refuse(name, u, o, "d");
            refuse(name, u, o, "none/below");
        }
    }
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the verbs
static void check_verbs(const char *name, const cli_usage *u)
{
    check_options(name, u);
    for (const cli_command *v = u->verbs; v && v->name; v++) {
        char inner[96];
        snprintf(inner, sizeof inner, "%s %s", name, v->name);
        check_verbs(inner, v->usage);
    }
}

Test(outputs, are_refused_before_work, .init = make, .fini = clean)
{
    check_verbs("clattn", &cli_top_usage);
    cr_assert(outputs >= 12, "%d outputs", outputs);
}
