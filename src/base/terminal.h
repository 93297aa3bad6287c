/* terminal.h - the width of a terminal. */
#pragma once

/* Returns the columns of terminal fd: the value of the variable COLUMNS (20 to 10,000),
 * else the width that the system reports; fallback where that is below 20 or fd is not
 * a terminal. */
int cla_terminal_columns(int fd, int fallback);
