/* platform.h - what differs between systems: files, folders, processes, the terminal.
 *
 * No other file calls POSIX or Windows (tools/platform.sh checks it). The files
 * platform_*.c are for POSIX, platform_*_windows.c for Windows. Paths are UTF-8; on
 * Windows both '/' and '\' separate their parts. Where nothing else is said, a function
 * that returns bool returns whether it succeeded, and sets errno otherwise. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

/* ---- the program ----------------------------------------------------------- */

/* Prepares the process: opens closed standard streams in the wrong direction, so that
 * no file opened later takes their numbers and receives the output. On Windows it also
 * makes the arguments and the console UTF-8 and the streams binary. */
void cla_os_begin(int argc, char **argv);

/* Ends the process at once, without atexit. Both may be called in a signal handler. */
_Noreturn void cla_os_exit(int code);
void cla_os_say(const char *text, size_t size); // on stderr

int64_t cla_os_process(void); // the number of this process
long cla_os_processors(void); // that are online; at least 1
/* Gives the path of the running program. */
bool cla_os_program(char *path, size_t size);

/* Asks for the right to use the tile registers of AMX; it is the process's, and holds
 * until it ends. Returns false where the system has no such right, or refuses it. */
bool cla_os_allow_tiles(void);

/* Describes the system: "Linux 6.1.0 x86_64"; an empty text where it is not known. */
void cla_os_describe(char *text, size_t size);
/* Gives the processes that want to run, on average of the last minute. Returns false on
 * systems that do not count them. */
bool cla_os_load(double *load);
/* Returns memory at a multiple of align, a power of two; NULL without memory. It has a
 * function of its own to free it. */
void *cla_os_aligned(size_t align, size_t bytes);
void cla_os_aligned_free(void *memory);
/* Returns the bytes of address space that the process may use; UINT64_MAX: no limit. */
uint64_t cla_os_address_limit(void);

/* ---- environment ----------------------------------------------------------- */

/* Returns the value of a variable, or NULL. Do not free it. */
const char *cla_os_getenv(const char *name);
/* Sets a variable unless it is set. */
bool cla_os_setenv(const char *name, const char *value);
/* Returns a copy of all variables, "NAME=value" up to NULL; NULL without memory. */
char **cla_os_environment(void);
void cla_os_environment_free(char **variables);
/* Returns whether a program lies in a folder of PATH. */
bool cla_os_in_path(const char *program);

/* ---- terminal -------------------------------------------------------------- */

enum { CLA_STDIN, CLA_STDOUT, CLA_STDERR }; // descriptors

bool cla_os_is_terminal(int fd);
int cla_os_columns(int fd); // 0: not known

/* ---- time ------------------------------------------------------------------ */

int64_t cla_os_monotonic_ns(void);
bool cla_os_utc(time_t seconds, struct tm *parts);
void cla_os_sleep_ns(int64_t ns); // a signal may end it early
void cla_os_yield(void);          // lets other threads run

/* ---- descriptors ----------------------------------------------------------- */

/* How a file is opened: one of the first three. No child process inherits it. */
enum {
    CLA_OPEN_READ = 256,
    CLA_OPEN_WRITE = 1,
    CLA_OPEN_BOTH = 2,
    CLA_OPEN_CREATE = 4,   // unless it exists
    CLA_OPEN_NEW = 8,      // create it; fail with EEXIST when it exists
    CLA_OPEN_EMPTY = 16,   // cut it to no bytes
    CLA_OPEN_FOLDER = 32,  // fail with ENOTDIR unless it is a folder
    CLA_OPEN_NO_LINK = 64, // fail with ELOOP or ENOTDIR when it is a link
    CLA_OPEN_NO_WAIT = 128 // do not wait for the writer of a FIFO
};

/* Opens a file. mode: its rights where it is created, less the umask; Windows gives the
 * rights of the folder. Returns a descriptor; -1, with errno. */
int cla_os_open(const char *path, int how, unsigned mode);
/* Opens a name in the folder of a descriptor. */
int cla_os_open_in(int folder, const char *name, int how, unsigned mode);
bool cla_os_close(int fd);
int cla_os_duplicate(int fd); // -1, with errno
/* Return the number of bytes; -1, with errno, which EINTR may be. */
int64_t cla_os_read(int fd, void *to, size_t size);
int64_t cla_os_read_at(int fd, void *to, size_t size, int64_t at);
int64_t cla_os_write(int fd, const void *from, size_t size);
/* Waits until the data lie on the disk. */
bool cla_os_sync(int fd);
/* Sets the time of the last change to now. */
bool cla_os_touch(int fd);
/* Locks a file for this process until it closes it. Fails with EWOULDBLOCK when another
 * process holds the lock. */
bool cla_os_lock(int fd);
/* Gives the first size bytes, more than none, of a file as memory that is only read.
 * The descriptor may be closed before the memory is given back. The file must not get
 * shorter meanwhile. Returns NULL, with errno. */
void *cla_os_map(int fd, size_t size);
void cla_os_unmap(void *memory, size_t size);
/* Gives the whole pages within memory of this process back to the system, where it has
 * such a call. Their content is undefined until they are written again. */
void cla_os_discard(void *memory, size_t size);
/* Opens both ends of a pipe: [0] to read, [1] to write. */
bool cla_os_pipe(int ends[2]);

/* Opens a file of the C library, always binary: "rb", "wb" or "ab". */
FILE *cla_os_fopen(const char *path, const char *mode);

/* Sends standard output into a file until cla_os_capture_end, which gives the first
 * bytes of it as a text. */
typedef struct cla_os_capture {
    int saved, file;
} cla_os_capture;
cla_os_capture cla_os_capture_begin(void);
void cla_os_capture_end(cla_os_capture capture, char *text, size_t size);

/* ---- what is known of a file ----------------------------------------------- */

typedef enum cla_os_kind {
    CLA_OS_FILE,
    CLA_OS_FOLDER,
    CLA_OS_LINK,
    CLA_OS_OTHER // a device, a pipe
} cla_os_kind;

typedef struct cla_os_info {
    cla_os_kind kind;
    int64_t size;            // bytes
    int64_t changed_ns;      // last change, since 1970
    uint64_t device, number; // the same for two names of one file
    bool own;                // this user owns it
    bool others_write;       // other users may write it
} cla_os_info;

/* Follow links, except cla_os_info_link and cla_os_info_in. */
bool cla_os_info_of(const char *path, cla_os_info *info);
bool cla_os_info_link(const char *path, cla_os_info *info);
bool cla_os_info_open(int fd, cla_os_info *info);
bool cla_os_info_in(int folder, const char *name, cla_os_info *info);

enum { CLA_MAY_BE = 0, CLA_MAY_ENTER = 1, CLA_MAY_WRITE = 2, CLA_MAY_READ = 4 };
/* Returns whether a path exists and this process may do what the bits say; Windows
 * looks only at the attribute "read-only". */
bool cla_os_may(const char *path, int what);
bool cla_os_may_open(int folder, int what);

/* ---- names ----------------------------------------------------------------- */

bool cla_os_rename_in(int folder, const char *from, const char *to);
bool cla_os_rename(const char *from, const char *to); // replaces a file
bool cla_os_remove(const char *path);                 // a file
bool cla_os_remove_in(int folder, const char *name);
bool cla_os_remove_folder(const char *path); // that is empty
bool cla_os_remove_folder_in(int folder, const char *name);
bool cla_os_make_folder(const char *path);
/* Makes a folder that only this user may use. */
bool cla_os_make_private_in(int folder, const char *name);
/* Gives a file to this user alone; undoes the umask. */
bool cla_os_make_private(int fd);
/* Makes a folder; name ends in XXXXXX, which is replaced. */
bool cla_os_make_unique(char *name);

bool cla_os_is_absolute(const char *path);
/* Returns the last separator of a path, or NULL. */
char *cla_os_last_slash(const char *path);
bool cla_os_is_slash(char c);
/* Returns the path without links and "..", to be freed; NULL, with errno. */
char *cla_os_real_path(const char *path);

/* Return folders of this user and of the system, without a slash at their end. */
const char *cla_os_temporary(void);
/* What a variable such as XDG_CACHE_HOME holds, else below_home in the home folder
 * (on Windows LOCALAPPDATA); to be freed, NULL without one. */
char *cla_os_user_folder(const char *variable, const char *below_home);
/* The folder of the files that name OpenCL drivers; NULL where a registry does. */
const char *cla_os_drivers(void);
/* Gives the free bytes of the disk of a folder. */
bool cla_os_free_bytes(const char *folder, uint64_t *bytes);

/* ---- lists of folders ------------------------------------------------------ */

typedef struct cla_os_list cla_os_list;

/* Begin to list a folder; NULL, with errno. The second takes the descriptor over when
 * it succeeds. */
cla_os_list *cla_os_list_begin(const char *path);
cla_os_list *cla_os_list_open(int folder);
/* Returns the next name without "." and "..", valid until the next call; NULL at the
 * end with errno 0, or with another errno. */
const char *cla_os_list_next(cla_os_list *list);
int cla_os_list_folder(cla_os_list *list); // its descriptor
void cla_os_list_end(cla_os_list *list);   // accepts NULL

/* ---- processes ------------------------------------------------------------- */

typedef struct cla_os_end {
    bool exited; // else a signal ended it
    int code;    // of the exit, or the signal
} cla_os_end;

/* Starts argv[0], found in PATH unless it has a slash, with its standard output to a
 * descriptor. environment NULL: that of this process. Returns 0, or an errno. */
int cla_os_spawn(int64_t *child, const char *const *argv, char *const *environment,
                 int output);
cla_os_end cla_os_await(int64_t child);

/* Runs work(state) in a copy of this process that prints nothing and ends with this
 * process at the latest. Returns its number; 0 where there is none: on one processor,
 * and on systems that cannot copy a process. Call it before any use of OpenCL. */
int64_t cla_os_copy(void (*work)(void *), void *state);
/* Ends the copy; ignores 0. */
void cla_os_copy_end(int64_t copy);

/* ---- signals: Ctrl-C and SIGTERM; on Windows also the end of the console --- */

/* From now on the first signal is noted in *result, the second of its kind ends the
 * program. */
const volatile int *cla_os_catch_stop(void);
/* From now on SIGHUP is noted, too; Windows has none. Call cla_os_catch_stop first. */
void cla_os_catch_reload(void);
/* Waits for the first signal after cla_os_catch_stop. Returns false for a SIGHUP, which
 * is forgotten then. */
bool cla_os_await_stop(void);
/* From now on a signal prints a text and ends the program with 128 + its number. */
void cla_os_leave_on_stop(const char *text);
/* Holds signals back until hold is false. */
void cla_os_hold_stop(bool hold);
bool cla_os_stop_waits(void); // whether one is held back
/* Calls a function when the process is about to abort. */
void cla_os_on_abort(void (*call)(int signal));

/* ---- libraries ------------------------------------------------------------- */

/* Open a library by its path, or by its name and version (libNAME.so.VERSION); NULL on
 * failure, whose reason cla_os_library_error tells. */
void *cla_os_library(const char *path);
void *cla_os_library_named(const char *name, int version);
const char *cla_os_library_error(void);
void *cla_os_symbol(void *library, const char *name);
void cla_os_library_close(void *library);

/* ---- texts ----------------------------------------------------------------- */

/* Returns the text of an errno, which may lie in room. */
const char *cla_os_reason(int error, char *room, size_t size);
/* Returns the first place of what in bytes, or NULL. */
void *cla_os_find(const void *bytes, size_t size, const void *what, size_t what_size);

typedef struct cla_pattern cla_pattern; // an extended regular expression

/* Gives the reason in error where text is no regular expression. Returns NULL then. */
cla_pattern *cla_pattern_new(const char *text, char *error, size_t size);
bool cla_pattern_matches(const cla_pattern *pattern, const char *text);
void cla_pattern_free(cla_pattern **pattern);
