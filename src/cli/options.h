/* options.h - the options of a command. One table serves for parsing, the help, manual
 * pages and completions. */
#pragma once

#include <stddef.h>

#include "base/base.h"
#include "base/text.h"
#include "runtime/runtime.h"

typedef enum cli_kind {
    CLI_FLAG,  // bool: true when given
    CLI_TEXT,  // const char *: not empty
    CLI_INT,   // int, from low to high
    CLI_INT64, // int64_t, from low to high
    CLI_REAL,  // double, from low to high
    CLI_TAKE,  // take() decides
} cli_kind;

/* What a command writes to the value of an option; cli_read refuses an output that
 * cannot be written, before the command begins its work. */
typedef enum cli_output {
    CLI_NO_OUTPUT,
    CLI_OUT_FILE,   // cla_file_write: whole or not at all
    CLI_OUT_DIRECT, // a file that is written in place; "-" is standard output
    CLI_OUT_FOLDER, // cla_folder_make
} cli_output;

/* An option. Its value goes to the member at offset `at` of the command's struct. */
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): in the order of its tables
typedef struct cli_option {
    const char *name;  // long form
    char key;          // short form; 0: none
    const char *value; // its value in the help: FILE, DIR, N; NULL: takes no value
    const char *help;  // NULL: hidden from users
    cli_kind kind;
    size_t at;
    int64_t low, high;
    bool needed;
    cli_output output; // of a CLI_TEXT
    /* Takes the value of a CLI_TAKE. Errors: those of cla_fail, usually CLA_E_USAGE. */
    cla_status (*take)(void *arguments, const char *value);
    const char *choices;        // values that completion offers, separated by blanks
    const char *(*names)(void); // the same from a table; also listed in the help
} cli_option;

/* The positional arguments, in their order. */
typedef struct cli_words {
    char **word;
    int count;
} cli_words;

typedef struct cli_usage {
    const char *words; // synopsis of its words: "[PATH...]"; "\n" begins another form
    const char *about; // help before the options
    const char *more;  // help after them; lines that begin with a blank are not wrapped
    const cli_option *options; // the last name is NULL; NULL: only --help and --version
    size_t words_at;           // offset of a cli_words
    int least, most;           // number of words; most 0: none
    const char *lacks;         // names what is missing below `least`: "a folder"
    bool (*may_lack)(const void *arguments); // whether it may be missing; NULL: never
    cla_status (*check)(const void *arguments); // for options that exclude each other
    const struct cli_command *verbs;            // the last name is NULL; NULL: none
} cli_usage;

/* A command, or a verb of a command: `clattn bpe learn'. run gets its own words only:
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
/* The precision of all runtimes that the command opens. */
#define CLI_PRECISION                                                  \
    {                                                                  \
        "precision", 0, "WORD", cli_precision_help, CLI_TAKE,          \
            .take = cli_take_precision, .choices = CLA_PRECISION_NAMES \
    }
cla_status cli_take_precision(void *arguments, const char *value);
extern const char cli_precision_help[];
extern const char cli_device_help[];

/* Parses argv into the struct at `arguments`. --help and --version print their text and
 * end the program.
 * Errors: CLA_E_USAGE (naming the option; for an unknown one also the nearest), those
 * of take() and check(), CLA_E_IO (an output cannot be written). */
cla_status cli_read(const cli_usage *usage, int argc, char **argv, void *arguments);

/* Returns the command, or the verb of a command, of that name; NULL when there is
 * none. */
const cli_command *cli_find_command(const cli_usage *of, const char *word);

/* Fails with CLA_E_USAGE: word is no command. The message suggests the nearest one. */
cla_status cli_no_command(const cli_usage *of, const char *word);

/* Runs the verb that argv[1] names; returns the exit code. */
int cli_run_verb(const cli_usage *usage, int argc, char **argv);

/* Appends the text of --help; command is "clattn tag", for example. Errors:
 * CLA_E_NOMEM. */
cla_status cli_help_text(const char *command, const cli_usage *usage, cla_text *out);

/* Appends text in lines of at most `width` columns, indented by `indent` blanks; the
 * first line begins at column `column`. Errors: CLA_E_NOMEM. */
cla_status cli_wrap(const char *text, int column, int indent, int width, cla_text *out);

/* Appends the help of an option and the names of its values. Errors: CLA_E_NOMEM. */
cla_status cli_option_help(const cli_option *option, cla_text *out);

/* Returns the short form of --help: h, or 0 where the options have an h of their
 * own. */
char cli_help_key(const cli_usage *usage);
