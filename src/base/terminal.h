/* terminal.h - what there is to know of a terminal. */
#pragma once

/* Columns of the terminal that fd is: those that the variable COLUMNS gives (20 to
 * 10,000), else those that the system reports; fallback where fd is no terminal. */
int cla_terminal_columns(int fd, int fallback);
