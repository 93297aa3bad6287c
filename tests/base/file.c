/* file.c - whole files, lists of files, and the folders of caches and data. */
#include "base/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

static char folder[64];

static void make_folder(void)
{
    strcpy(folder, "/tmp/clattn-file-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
}

static void drop_folder(void)
{
    char command[256];
    snprintf(command, sizeof command, "chmod -R u+rwx %s && rm -r %s", folder, folder);
    cr_assert_eq(system(command), 0);
}

/* Returns folder/name. The fourth call after it uses the same buffer. */
static const char *at(const char *name)
{
    static char paths[4][512];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static int count_files(void)
{
    char **paths = NULL;
    size_t count = 0;
    cr_assert_eq(cla_folder_list(folder, "", &paths, &count), CLA_OK);
    cla_folder_list_free(&paths, count);
    return (int)count;
}

/* Replaces the system's write; changes byte `flip` of short writes (-1: none). */
static long flip = -1;

ssize_t write(int fd, const void *bytes, size_t size)
{
    char copy[64];
    if (flip < 0 || size > sizeof copy || (size_t)flip >= size) {
        return syscall(SYS_write, fd, bytes, size);
    }
    memcpy(copy, bytes, size);
    copy[flip] ^= 4;
    return syscall(SYS_write, fd, copy, size);
}

TestSuite(file, .init = make_folder, .fini = drop_folder);

Test(file, compares_bytes)
{
    bool same = false;
    cr_assert_eq(cla_file_write(at("a"), "one\0two", 7), CLA_OK);
    cr_assert_eq(cla_file_compare(at("a"), "one\0two", 7, &same), CLA_OK);
    cr_assert(same);
    cr_assert_eq(cla_file_compare(at("a"), "one\0twX", 7, &same), CLA_OK);
    cr_assert_not(same);
    cr_assert_eq(cla_file_compare(at("a"), "one\0two", 6, &same), CLA_OK);
    cr_assert_not(same);
    cr_assert_eq(cla_file_write(at("b"), "", 0), CLA_OK);
    cr_assert_eq(cla_file_compare(at("b"), NULL, 0, &same), CLA_OK);
    cr_assert(same);
    cr_assert_eq(cla_file_compare(at("none"), "", 0, &same), CLA_E_IO);
}

Test(file, round_trip)
{
    static char bytes[200000];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (char)(i * 7);
    }
    static const size_t sizes[] = { 0, 1, 4096, 65536, 65537, sizeof bytes };
    for (int i = 0; i < 6; i++) {
        char *data = NULL;
        size_t size = 99;
        cr_assert_eq(cla_file_write(at("a"), bytes, sizes[i]), CLA_OK);
        cr_assert_eq(cla_file_read(at("a"), &data, &size), CLA_OK, "%s", cla_error());
        cr_expect_eq(size, sizes[i]);
        cr_expect_eq(memcmp(data, bytes, size), 0);
        cr_expect_eq(data[size], '\0');
        free(data);
    }
    cr_expect_eq(count_files(), 1); // no temporary file is left
}

Test(file, reads_pipes)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(write(ends[1], "through", 7), 7);
    close(ends[1]);
    char path[32], *data = NULL;
    size_t size = 0;
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    cr_assert_eq(cla_file_read(path, &data, &size), CLA_OK, "%s", cla_error());
    cr_expect_str_eq(data, "through");
    free(data);
    close(ends[0]);
}

/* Files of models are regular: those that would block or never end are refused. */
Test(file, refuses_what_is_not_regular)
{
    char *data = NULL;
    size_t size = 0;
    cr_assert_eq(mkfifo(at("fifo"), 0600), 0);
    cr_expect_eq(cla_file_read(at("fifo"), &data, &size), CLA_E_IO);
    cr_expect(strstr(cla_error(), "fifo: is not a regular file") != NULL, "%s",
              cla_error());
    unlink(at("fifo"));
    cr_assert_eq(symlink("/dev/zero", at("link")), 0);
    cr_expect_eq(cla_file_read(at("link"), &data, &size), CLA_E_IO);
    cr_expect(strstr(cla_error(), "link: is not a regular file") != NULL, "%s",
              cla_error());
    cr_expect_null(data);
    unlink(at("link"));
}

Test(file, names_path_and_reason)
{
    char *data = (char *)1;
    size_t size = 1;
    cr_expect_eq(cla_file_read(at("none"), &data, &size), CLA_E_IO);
    cr_expect(strstr(cla_error(), at("none")) != NULL);
    cr_expect(strstr(cla_error(), "No such file") != NULL, "%s", cla_error());
    cr_expect_null(data);
    cr_expect_eq(size, 0);
    cr_expect_eq(cla_file_read(folder, &data, &size), CLA_E_IO);
    cr_expect(strstr(cla_error(), "directory") != NULL, "%s", cla_error());

    cr_expect_eq(cla_file_write(at("none/a"), "x", 1), CLA_E_IO);
    cr_expect_eq(cla_file_write(folder, "x", 1), CLA_E_IO);
    cr_expect_eq(count_files(), 0);
}

/* A write that fails keeps the old file and leaves no other. */
Test(file, failed_write_changes_nothing)
{
    cr_assert_eq(cla_file_write(at("a"), "before", 6), CLA_OK);
    const pid_t child = fork();
    if (child == 0) {
        static char bytes[100000];
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 50000, 50000 });
        signal(SIGXFSZ, SIG_IGN);
        _exit(cla_file_write(at("a"), bytes, sizeof bytes));
    }
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == CLA_E_IO);
    char *data = NULL;
    size_t size = 0;
    cr_assert_eq(cla_file_read(at("a"), &data, &size), CLA_OK);
    cr_expect_str_eq(data, "before");
    free(data);
    cr_expect_eq(count_files(), 1);
}

/* A byte that the disk or memory changes is an error and keeps the old file. */
Test(file, compares_what_it_wrote)
{
    static const char after[] = "after it all";
    char *data = NULL;
    size_t size = 0;
    cr_assert_eq(cla_file_write(at("a"), "before", 6), CLA_OK);
    for (flip = 0; flip < (long)sizeof after; flip++) {
        cr_expect_eq(cla_file_write(at("a"), after, sizeof after), CLA_E_IO);
        cr_expect(strstr(cla_error(), at("a")) && strstr(cla_error(), "read back"),
                  "%s", cla_error());
    }
    flip = -1;
    cr_assert_eq(cla_file_read(at("a"), &data, &size), CLA_OK);
    cr_expect_str_eq(data, "before");
    free(data);
    cr_expect_eq(count_files(), 1);
    cr_expect_eq(cla_file_write(at("a"), after, sizeof after), CLA_OK);
}

/* Names that a killed process with this number left behind are skipped. */
Test(file, left_overs_do_not_stop_writing)
{
    for (int i = 0; i < 3; i++) {
        char name[64];
        snprintf(name, sizeof name, "a.%ld-%d.tmp", (long)getpid(), i);
        const int fd = open(at(name), O_CREAT | O_WRONLY, 0600);
        cr_assert(fd >= 0);
        close(fd);
    }
    cr_expect_eq(cla_file_write(at("a"), "x", 1), CLA_OK, "%s", cla_error());
}

Test(file, write_honours_umask)
{
    umask(027);
    cr_assert_eq(cla_file_write(at("a"), "x", 1), CLA_OK);
    struct stat info;
    cr_assert_eq(stat(at("a"), &info), 0);
    cr_expect_eq(info.st_mode & 0777, 0640);
}

Test(file, makes_folders)
{
    cr_expect_eq(cla_folder_make(at("a/b/c")), CLA_OK);
    cr_expect_eq(cla_folder_make(at("a/b/c")), CLA_OK);
    cr_expect_eq(cla_folder_make(at("a//d/")), CLA_OK);
    struct stat info;
    cr_expect(stat(at("a/b/c"), &info) == 0 && S_ISDIR(info.st_mode));
    cr_expect(stat(at("a/d"), &info) == 0 && S_ISDIR(info.st_mode));
    cr_expect_eq(cla_folder_make("/"), CLA_OK);
    cr_assert_eq(cla_file_write(at("file"), "x", 1), CLA_OK);
    cr_expect_eq(cla_folder_make(at("file/a")), CLA_E_IO);
    cr_expect_eq(cla_folder_make(at("file")), CLA_E_IO);
}

Test(file, lists_sorted)
{
    static const char *const names[] = { "b/2.x", "b/10.x", "a.x", "b.x", "c/d/e.x" };
    static const char *const others[] = { "a.y", "x", "c/x.xx" };
    cr_assert_eq(cla_folder_make(at("b")), CLA_OK);
    cr_assert_eq(cla_folder_make(at("c/d")), CLA_OK);
    cr_assert_eq(cla_folder_make(at("folder.x")), CLA_OK);
    for (int i = 0; i < 5; i++) {
        cr_assert_eq(cla_file_write(at(names[i]), "", 0), CLA_OK);
    }
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(cla_file_write(at(others[i]), "", 0), CLA_OK);
    }
    cr_assert_eq(symlink("b", at("link")), 0);  // followed
    cr_assert_eq(symlink("..", at("c/up")), 0); // a cycle ends

    static const char *const order[] = { "a.x",     "b.x",       "b/10.x",  "b/2.x",
                                         "c/d/e.x", "link/10.x", "link/2.x" };
    char **paths = NULL;
    size_t count = 0;
    cr_assert_eq(cla_folder_list(folder, ".x", &paths, &count), CLA_OK, "%s",
                 cla_error());
    cr_assert_eq(count, 7);
    for (size_t i = 0; i < count; i++) {
        cr_expect_str_eq(paths[i], at(order[i]));
    }
    cla_folder_list_free(&paths, count);
    cr_expect_null(paths);
}

Test(file, lists_a_file_itself)
{
    char **paths = NULL;
    size_t count = 0;
    cr_assert_eq(cla_file_write(at("odd"), "", 0), CLA_OK);
    cr_assert_eq(cla_folder_list(at("odd"), ".x", &paths, &count), CLA_OK);
    cr_assert_eq(count, 1);
    cr_expect_str_eq(paths[0], at("odd"));
    cla_folder_list_free(&paths, count);
    cr_expect_eq(cla_folder_list(at("none"), ".x", &paths, &count), CLA_E_IO);
    cr_expect_eq(count, 0);
    cr_expect_null(paths);
    cr_expect_eq(cla_folder_list("", ".x", &paths, &count), CLA_E_IO);
}

static void expect_home(bool (*find)(char **), const char *expected)
{
    char *path = NULL;
    cr_expect_eq(find(&path), expected != NULL);
    if (expected) {
        cr_assert_not_null(path);
        cr_expect_str_eq(path, expected);
    }
    free(path);
}

Test(file, homes)
{
    setenv("HOME", "/home/me", 1);
    unsetenv("XDG_CACHE_HOME");
    unsetenv("XDG_DATA_HOME");
    expect_home(cla_cache_folder, "/home/me/.cache/clattn");
    expect_home(cla_data_folder, "/home/me/.local/share/clattn");
    setenv("XDG_CACHE_HOME", "/var/c", 1);
    setenv("XDG_DATA_HOME", "relative", 1); // ignored, as the standard demands
    expect_home(cla_cache_folder, "/var/c/clattn");
    expect_home(cla_data_folder, "/home/me/.local/share/clattn");
    setenv("HOME", "", 1);
    expect_home(cla_cache_folder, "/var/c/clattn");
    expect_home(cla_data_folder, NULL);
    unsetenv("HOME");
    expect_home(cla_data_folder, NULL);
}
