/* terminal.c - the width of a terminal. */
#include "base/terminal.h"

#include "base/platform.h"
#include "base/text.h"

enum { LEAST = 20, MOST = 10000 };

int cla_terminal_columns(int fd, int fallback)
{
    int64_t said = 0;
    const char *variable = cla_os_getenv("COLUMNS");
    if (variable && cla_parse_int(variable, &said) && said >= LEAST && said <= MOST) {
        return (int)said;
    }
    const int columns = cla_os_columns(fd);
    return columns >= LEAST ? columns : fallback;
}
