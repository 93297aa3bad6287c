/* completion.c - writes command line completions for bash, zsh and fish. */
#include <stdio.h>
#include <string.h>

#include "cli/pages.h"

static const char devices[] = "cpu gpu accelerator amd intel nvidia pocl";

typedef enum value_kind { NOTHING, ANYTHING, CHOICES, FOLDERS, FILES } value_kind;

static value_kind kind_of(const cli_option *o)
{
    if (!o->value) return NOTHING;
    if (o->choices || o->names || strncmp(o->value, "DEVICE", 6) == 0) return CHOICES;
    if (strcmp(o->value, "DIR") == 0) return FOLDERS;
    return strcmp(o->value, "FILE") == 0 ? FILES : ANYTHING;
}

static const char *choices_of(const cli_option *o)
{
    return o->names ? o->names() : o->choices ? o->choices : devices;
}

/* Appends the beginning of a help text, without characters special in shells. */
static cla_status add_brief(const char *help, cla_text *out)
{
    for (const char *c = help; *c && !strchr(";(", *c); c++) {
        const char plain = strchr("'\"`[]:$\\", *c) ? ' ' : *c;
        CLA_TRY(c[0] == ' ' && strchr(";(", c[1]) ? CLA_OK
                                                  : cla_text_append(out, &plain, 1));
    }
    return CLA_OK;
}

/* Calls each() for every command and verb, with its words: "tag", "bpe learn". */
static cla_status walk(const cli_usage *u, const char *words,
                       cla_status (*each)(const char *words, const cli_usage *u,
                                          cla_text *out),
                       cla_text *out)
{
    for (const cli_command *v = u->verbs; v && v->name; v++) {
        char inner[64];
        snprintf(inner, sizeof inner, "%s%s%s", words, *words ? " " : "", v->name);
        CLA_TRY(each(inner, v->usage, out));
        for (const cli_command *w = v->usage->verbs; w && w->name; w++) {
            char last[64];
            snprintf(last, sizeof last, "%.40s %.20s", inner, w->name);
            CLA_TRY(each(last, w->usage, out));
        }
    }
    return CLA_OK;
}

static cla_status add_names(const cli_command *verbs, cla_text *out)
{
    for (const cli_command *v = verbs; v && v->name; v++) {
        CLA_TRY(cla_text_add(out, "%s%s", v == verbs ? "" : " ", v->name));
    }
    return CLA_OK;
}

/* ---- bash ---------------------------------------------------------------------- */

static cla_status bash_option(const cli_option *o, cla_text *out)
{
    static const char *const how[] = {
        [ANYTHING] = ":", [FOLDERS] = "_clattn_reply -d", [FILES] = "_clattn_reply -f"
    };
    const value_kind kind = kind_of(o);
    if (kind == NOTHING) {
        return CLA_OK;
    }
    CLA_TRY(cla_text_add(out, "        --%s", o->name));
    CLA_TRY(o->key ? cla_text_add(out, " | -%c", o->key) : CLA_OK);
    return kind == CHOICES ? cla_text_add(out, ") _clattn_reply -W '%s'; return ;;\n",
                                          choices_of(o))
                           : cla_text_add(out, ") %s; return ;;\n", how[kind]);
}

static cla_status bash_command(const char *words, const cli_usage *u, cla_text *out)
{
    CLA_TRY(cla_text_add(out, "    '%s')\n        case $before in\n", words));
    for (const cli_option *o = u->options; o && o->name; o++) {
        CLA_TRY(bash_option(o, out));
    }
    CLA_TRY(cla_text_add(out, "        esac\n        case $now in\n"
                              "        -*) _clattn_reply -W '--help --version"));
    for (const cli_option *o = u->options; o && o->name; o++) {
        CLA_TRY(o->help ? cla_text_add(out, " --%s", o->name) : CLA_OK);
    }
    CLA_TRY(cla_text_add(out, "' ;;\n        *) _clattn_reply "));
    if (u->verbs) {
        CLA_TRY(cla_text_add(out, "-W '"));
        CLA_TRY(add_names(u->verbs, out));
        CLA_TRY(cla_text_add(out, "'"));
    } else {
        CLA_TRY(cla_text_add(out, u->words ? "-f" : "-W ''"));
    }
    return cla_text_add(out, " ;;\n        esac ;;\n");
}

static cla_status bash(const cli_usage *top, cla_text *out)
{
    CLA_TRY(cla_text_add(out,
                         "# bash completion for clattn\n"
                         "_clattn_reply() {\n"
                         "    mapfile -t COMPREPLY < <(compgen \"$@\" -- \"$now\")\n"
                         "}\n"
                         "_clattn() {\n"
                         "    local now=${COMP_WORDS[COMP_CWORD]}\n"
                         "    local before=${COMP_WORDS[COMP_CWORD - 1]}\n"
                         "    local command=${COMP_WORDS[1]}\n"
                         "    COMPREPLY=()\n"
                         "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                         "        _clattn_reply -W '--help --version "));
    CLA_TRY(add_names(top->verbs, out));
    CLA_TRY(cla_text_add(out, "'\n        return\n    fi\n"
                              "    case \"$command ${COMP_WORDS[2]}\" in\n    "));
    bool first = true;
    for (const cli_command *v = top->verbs; v->name; v++) {
        for (const cli_command *w = v->usage->verbs; w && w->name; w++) {
            CLA_TRY(
                cla_text_add(out, "%s'%s %s'", first ? "" : " | ", v->name, w->name));
            first = false;
        }
    }
    CLA_TRY(cla_text_add(out, ")\n        [ \"$COMP_CWORD\" -eq 2 ] || "
                              "command=\"$command ${COMP_WORDS[2]}\" ;;\n    esac\n"
                              "    case $command in\n"));
    CLA_TRY(walk(top, "", bash_command, out));
    return cla_text_add(out, "    esac\n}\ncomplete -F _clattn clattn\n");
}

/* ---- zsh ----------------------------------------------------------------------- */

static cla_status zsh_option(const cli_option *o, cla_text *out)
{
    static const char *const how[] = {
        [ANYTHING] = "", [FOLDERS] = "_files -/", [FILES] = "_files"
    };
    const value_kind kind = kind_of(o);
    const char *equals = kind == NOTHING ? "" : "=", *plus = kind == NOTHING ? "" : "+";
    CLA_TRY(o->key ? cla_text_add(out, "            '*'{-%c%s,--%s%s}'[", o->key, plus,
                                  o->name, equals)
                   : cla_text_add(out, "            '*--%s%s[", o->name, equals));
    CLA_TRY(add_brief(o->help, out));
    CLA_TRY(cla_text_add(out, "]"));
    if (kind != NOTHING) {
        CLA_TRY(cla_text_add(out, ":%s:", o->value));
        CLA_TRY(kind == CHOICES ? cla_text_add(out, "(%s)", choices_of(o))
                                : cla_text_add(out, "%s", how[kind]));
    }
    return cla_text_add(out, "' \\\n");
}

static cla_status zsh_command(const char *words, const cli_usage *u, cla_text *out)
{
    CLA_TRY(cla_text_add(out, "    '%s')\n        _arguments \\\n", words));
    for (const cli_option *o = u->options; o && o->name; o++) {
        CLA_TRY(o->help ? zsh_option(o, out) : CLA_OK);
    }
    CLA_TRY(cla_text_add(out, "            '--help[print a help text]'"));
    if (u->verbs) {
        CLA_TRY(cla_text_add(out, " \\\n            '1:command:("));
        CLA_TRY(add_names(u->verbs, out));
        CLA_TRY(cla_text_add(out, ")'"));
    } else if (u->words) {
        CLA_TRY(cla_text_add(out, " \\\n            '*:file:_files'"));
    }
    return cla_text_add(out, " ;;\n");
}

static cla_status zsh(const cli_usage *top, cla_text *out)
{
    CLA_TRY(cla_text_add(out, "#compdef clattn\n"
                              "local command=$words[2]\n"
                              "local -a commands=(\n"));
    for (const cli_command *v = top->verbs; v->name; v++) {
        CLA_TRY(cla_text_add(out, "    '%s:", v->name));
        CLA_TRY(add_brief(v->summary, out));
        CLA_TRY(cla_text_add(out, "'\n"));
    }
    CLA_TRY(cla_text_add(out, ")\n"
                              "if (( CURRENT == 2 )); then\n"
                              "    _describe command commands\n"
                              "    return\n"
                              "fi\n"
                              "words=(\"${(@)words[2,-1]}\")\n"
                              "(( CURRENT-- ))\n"
                              "case \"$command $words[2]\" in\n"));
    for (const cli_command *v = top->verbs; v->name; v++) {
        for (const cli_command *w = v->usage->verbs; w && w->name; w++) {
            CLA_TRY(cla_text_add(out, "    '%s %s') ;&\n", v->name, w->name));
        }
    }
    CLA_TRY(cla_text_add(out, "    --verb--)\n"
                              "    if (( CURRENT > 2 )); then\n"
                              "        command=\"$command $words[2]\"\n"
                              "        words=(\"${(@)words[2,-1]}\")\n"
                              "        (( CURRENT-- ))\n"
                              "    fi ;;\n"
                              "esac\n"
                              "case $command in\n"));
    CLA_TRY(walk(top, "", zsh_command, out));
    return cla_text_add(out, "esac\n");
}

/* ---- fish ---------------------------------------------------------------------- */

static cla_status fish_condition(const char *words, cla_text *out)
{
    const char *space = strchr(words, ' ');
    const int size = space ? (int)(space - words) : (int)strlen(words);
    CLA_TRY(cla_text_add(out, "complete -c clattn -n '__fish_seen_subcommand_from %.*s",
                         size, words));
    if (space) {
        CLA_TRY(cla_text_add(out, "; and __fish_seen_subcommand_from %s", space + 1));
    }
    return cla_text_add(out, "'");
}

static cla_status fish_option(const char *words, const cli_option *o, cla_text *out)
{
    static const char *const how[] = { [NOTHING] = "",
                                       [ANYTHING] = " -x",
                                       [FOLDERS] =
                                           " -x -a '(__fish_complete_directories)'",
                                       [FILES] = " -r -F" };
    const value_kind kind = kind_of(o);
    CLA_TRY(fish_condition(words, out));
    CLA_TRY(cla_text_add(out, " -l %s", o->name));
    CLA_TRY(o->key ? cla_text_add(out, " -s %c", o->key) : CLA_OK);
    CLA_TRY(kind == CHOICES ? cla_text_add(out, " -x -a '%s'", choices_of(o))
                            : cla_text_add(out, "%s", how[kind]));
    CLA_TRY(cla_text_add(out, " -d '"));
    CLA_TRY(add_brief(o->help, out));
    return cla_text_add(out, "'\n");
}

static cla_status fish_command(const char *words, const cli_usage *u, cla_text *out)
{
    for (const cli_option *o = u->options; o && o->name; o++) {
        CLA_TRY(o->help ? fish_option(words, o, out) : CLA_OK);
    }
    for (const cli_command *v = u->verbs; v && v->name; v++) {
        CLA_TRY(fish_condition(words, out));
        CLA_TRY(cla_text_add(out, " -a %s -d '", v->name));
        CLA_TRY(add_brief(v->summary, out));
        CLA_TRY(cla_text_add(out, "'\n"));
    }
    if (u->words && !u->verbs) {
        CLA_TRY(fish_condition(words, out));
        CLA_TRY(cla_text_add(out, " -F\n"));
    }
    return CLA_OK;
}

static cla_status fish(const cli_usage *top, cla_text *out)
{
    CLA_TRY(cla_text_add(out, "# fish completion for clattn\ncomplete -c clattn -f\n"));
    for (const cli_command *v = top->verbs; v->name; v++) {
        CLA_TRY(cla_text_add(
            out, "complete -c clattn -n __fish_use_subcommand -a %s -d '", v->name));
        CLA_TRY(add_brief(v->summary, out));
        CLA_TRY(cla_text_add(out, "'\n"));
    }
    return walk(top, "", fish_command, out);
}

cla_status cli_completion(const char *shell, const cli_usage *top, cla_text *out)
{
    if (strcmp(shell, "bash") == 0) return bash(top, out);
    if (strcmp(shell, "zsh") == 0) return zsh(top, out);
    if (strcmp(shell, "fish") == 0) return fish(top, out);
    return cla_fail(CLA_E_USAGE, "--completion is '%s', must be bash, zsh or fish",
                    shell);
}
