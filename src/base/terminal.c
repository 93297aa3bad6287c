/* terminal.c - the width of a terminal. */
#include "base/terminal.h"

#include <sys/ioctl.h>

#include "base/text.h"

enum { LEAST = 20, MOST = 10000 };

int cla_terminal_columns(int fd, int fallback)
{
    int64_t said = 0;
    struct winsize size = { 0 };
    const char *variable = getenv("COLUMNS");
    if (variable && cla_parse_int(variable, &said) && said >= LEAST && said <= MOST) {
        return (int)said;
    }
    const bool known = ioctl(fd, TIOCGWINSZ, &size) == 0;
    return known && size.ws_col >= LEAST ? size.ws_col : fallback;
}
