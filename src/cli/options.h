/* options.h - the options of a command: one table parses them, prints the help, and
 * generates manual pages and completions. */
#pragma once

#include <stddef.h>

#include "base/base.h"
#include "base/text.h"

typedef enum cli_kind {
    CLI_FLAG,  // bool: true when given
    CLI_TEXT,  // const char *: not empty
    CLI_INT,   // int, from low to high
    CLI_INT64, // int64_t, from low to high
    CLI_REAL,  // double, from low to high
    CLI_TAKE,  // take() decides
} cli_kind;

/* One option. Its value goes to the member at offset `at` of the command's struct. */
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): in the order of its tables
typedef struct cli_option {
    const char *name;  // of the long form
    char key;          // of the short form; 0: there is none
    const char *value; // what the help calls its value: FILE, DIR, N; or NULL
    const char *help;  // NULL: not for users
    cli_kind kind;
    size_t at;
    int64_t low, high;
    bool needed;
    /* Of CLI_TAKE. Errors: those of cla_fail, usually CLA_E_USAGE. */
    cla_status (*take)(void *arguments, const char *value);
    const char *choices; // the values that completion offers, with blanks between them
    const char *(*names)(void); // the same from a table; the help lists them
} cli_option;

/* The arguments that are no options, in their order. */
typedef struct cli_words {
    char **word;
    int count;
} cli_words;

typedef struct cli_usage {
    const char *words; // as the help shows them: "[PATH...]"; "\n" begins another form
    const char *about; // a paragraph in front of the options
    const char *more;  // behind them; lines that begin with a blank stay as they are
    const cli_option *options; // the last name is NULL; NULL: only --help and --version
    size_t words_at;           // of a cli_words
    int least, most;           // how many words; most 0: none
    const char *lacks;         // what fewer than `least` words lack: "a folder"
    cla_status (*check)(const void *arguments); // of options that exclude each other
    const struct cli_command *verbs;            // the last name is NULL; NULL: none
} cli_usage;

/* One command, or a verb of one: `clattn bpe learn'. run gets its own words only:
 * argv[0] is "clattn bpe learn". */
typedef struct cli_command {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
    const cli_usage *usage;
} cli_command;

#define CLI_DEVICE(type, member)                            \
    {                                                       \
        "device", 'd', "DEVICE", cli_device_help, CLI_TEXT, \
            .at = offsetof(type, member)                    \
    }
#define CLI_JSON(type, member)                                 \
    {                                                          \
        "json", 'j', NULL, "one JSON object a line", CLI_FLAG, \
            .at = offsetof(type, member)                       \
    }
extern const char cli_device_help[];

/* Reads argv into the struct at `arguments`. --help and --version are answered on the
 * way, and end the program.
 * Errors: CLA_E_USAGE (naming the option, and the nearest known one), those of take()
 * and check(). */
cla_status cli_read(const cli_usage *usage, int argc, char **argv, void *arguments);

/* The command, or verb of a command, of that name; NULL when there is none. */
const cli_command *cli_find_command(const cli_usage *of, const char *word);

/* Errors: CLA_E_USAGE always, with the nearest command's name. */
cla_status cli_no_command(const cli_usage *of, const char *word);

/* Runs the verb of the usage that argv[1] names. */
int cli_run_verb(const cli_usage *usage, int argc, char **argv);

/* The text that --help prints; command is "clattn tag". Errors: CLA_E_NOMEM. */
cla_status cli_help_text(const char *command, const cli_usage *usage, cla_text *out);

/* Appends text in lines of at most `width` columns, each behind `indent` blanks; the
 * first line begins at column `column`. Errors: CLA_E_NOMEM. */
cla_status cli_wrap(const char *text, int column, int indent, int width, cla_text *out);

/* Appends the help of an option, with its names. Errors: CLA_E_NOMEM. */
cla_status cli_option_help(const cli_option *option, cla_text *out);

/* The short form of --help: h where the options have no h of their own, or 0. */
char cli_help_key(const cli_usage *usage);
