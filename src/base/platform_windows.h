/* platform_windows.h - wide names and errors, for the files platform_*_windows.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <windows.h>

/* Sets errno from GetLastError(). Returns false. */
bool cla_win_failed(void);

/* Return a copy in the other coding, to be freed; NULL, with errno. */
WCHAR *cla_win_wide(const char *text);
char *cla_win_utf8(const WCHAR *wide);

/* Returns a path as Windows takes it, to be freed: absolute and with the prefix of long
 * paths where it is long. "/dev/null" is NUL. Other names that Windows keeps for
 * devices ("aux", "com1.txt") are refused with EINVAL. NULL, with errno. */
WCHAR *cla_win_path(const char *path);
/* The same for a name in the folder of a descriptor. */
WCHAR *cla_win_path_in(int folder, const char *name);

/* Returns the path of an open file, to be freed; NULL, with errno. */
WCHAR *cla_win_path_of(HANDLE file);
HANDLE cla_win_handle(int fd); // INVALID_HANDLE_VALUE, with EBADF

/* Opens a file or folder. Returns a descriptor; -1, with errno. */
int cla_win_open(const WCHAR *path, int how);
bool cla_win_rename(const WCHAR *from, const WCHAR *to);
