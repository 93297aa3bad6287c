/* output.c - messages, JSON lines, exit codes. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/locale.h"
#include "cli/cli.h"

int cli_fail(cla_status status)
{
    fflush(stdout); // keeps the order where both go to one place
    fprintf(stderr, "clattn: %s\n", cla_error());
    return status == CLA_E_SHAPE ? CLA_E_USAGE : (int)status;
}

int cli_fail_data(cla_status status)
{
    const int code = cli_fail(status);
    return status == CLA_E_SHAPE ? CLA_E_INPUT : code;
}

int cli_finish(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return code;
    }
    return cli_fail(cla_fail(CLA_E_IO, "standard output: %s", strerror(errno)));
}

cla_status cli_print_json(json_t *object)
{
    const locale_t before = cla_locale_enter();
    char *line = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(9));
    cla_locale_leave(before);
    json_decref(object);
    if (!line) {
        return cla_fail(CLA_E_NOMEM, "output: no memory for a line of JSON");
    }
    puts(line);
    free(line);
    return CLA_OK;
}

json_t *cli_json_text(const char *text)
{
    json_t *string = json_string(text);
    char *copy = string ? NULL : strdup(text);
    if (!copy) {
        return string;
    }
    for (char *c = copy; *c; c++) {
        if (*c & 0x80) {
            *c = '?';
        }
    }
    string = json_string(copy);
    free(copy);
    return string;
}
