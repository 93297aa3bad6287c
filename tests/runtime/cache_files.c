/* cache_files.c - the kernel cache keeps to its own folder and deletes only entries. */
#include "runtime/cache_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "base/file.h"

#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define ID_C "0123456789abcdef0123456789abcdef"

static char root[] = "/tmp/clattn-cache-XXXXXX";
static char given[64], own[128]; // root/given, and the cache's folder in it

static void begin(void)
{
    cr_assert_not_null(mkdtemp(root));
    snprintf(given, sizeof given, "%s/given", root);
    snprintf(own, sizeof own, "%s/clattn-kernels-1", given);
}

static void end(void)
{
    char command[128];
    snprintf(command, sizeof command, "chmod -R u+rwx '%s'; rm -rf '%s'", root, root);
    cr_assert_eq(system(command), 0);
}

TestSuite(cache_files, .init = begin, .fini = end);

static int open_cache(const char **why)
{
    cla_text path = { 0 };
    const int folder = cla_cache_files_open(given, &path, why);
    if (folder >= 0) cr_expect_str_eq(path.data, own);
    cla_text_free(&path);
    return folder;
}

static int open_good(void)
{
    const char *why = NULL;
    const int folder = open_cache(&why);
    cr_assert_geq(folder, 0, "%s", why ? why : "");
    cr_assert_null(why);
    return folder;
}

static void expect_refusal(const char *part)
{
    const char *why = NULL;
    cr_expect_eq(open_cache(&why), -1, "not refused: %s", part);
    cr_assert_not_null(why);
    cr_expect_not_null(strstr(why, part), "'%s' says nothing of '%s'", why, part);
}

static void put(int folder, const char *id, const char *data)
{
    const cla_status status = cla_cache_files_write(folder, id, data, strlen(data));
    cr_assert_eq(status, CLA_OK, "%s", cla_error());
}

static bool holds(int folder, const char *id, const char *data)
{
    unsigned char *found = NULL;
    const char *why = NULL;
    size_t size = 0;
    cla_cache_files_read(folder, id, &found, &size, &why);
    const bool same =
        found && size == strlen(data) && memcmp(found, data, size) == 0 && !why;
    free(found);
    return same;
}

/* Returns why an entry cannot be read, or NULL for one that is not there. */
static const char *unreadable(int folder, const char *id)
{
    unsigned char *found = NULL;
    const char *why = NULL;
    size_t size = 0;
    cla_cache_files_read(folder, id, &found, &size, &why);
    cr_expect_null(found);
    free(found);
    return why;
}

static void write_text(const char *folder, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    cr_assert_eq(cla_file_write(path, text, strlen(text)), CLA_OK, "%s", cla_error());
}

static unsigned mode_of(int folder, const char *name)
{
    struct stat info;
    cr_assert_eq(fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW), 0, "%s", name);
    return info.st_mode & 07777u;
}

static bool exists(int folder, const char *name)
{
    struct stat info;
    return fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0;
}

Test(cache_files, an_entry_comes_back)
{
    const int folder = open_good();
    cr_expect_null(unreadable(folder, ID_A));
    put(folder, ID_A, "first");
    put(folder, ID_A, "second");
    put(folder, ID_B, "");
    cr_expect(holds(folder, ID_A, "second") && holds(folder, ID_B, ""));
    cla_cache_files_remove(folder, ID_A);
    cr_expect_null(unreadable(folder, ID_A));
    cr_expect_not(exists(folder, ID_A ".kernel"));
    close(folder);
    const int again = open_good();
    cr_expect(holds(again, ID_B, ""));
    close(again);
}

/* The folder has mode 0700 and its files have 0600, whatever the umask. */
Test(cache_files, is_private_under_every_umask)
{
    static const mode_t masks[] = { 0, 022, 0777 };
    mkdir(given, 0777); // the cache cares for its own folder only
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        const mode_t before = umask(masks[i]);
        const int folder = open_good();
        put(folder, ID_A, "data");
        umask(before);
        cr_expect_eq(mode_of(folder, "."), 0700u, "umask %o", masks[i]);
        cr_expect_eq(mode_of(folder, ID_A ".kernel"), 0600u, "umask %o", masks[i]);
        cr_expect_eq(mode_of(folder, "CACHEDIR.TAG"), 0600u, "umask %o", masks[i]);
        cr_expect_eq(unlinkat(folder, ID_A ".kernel", 0), 0);
        cr_expect_eq(unlinkat(folder, "CACHEDIR.TAG", 0), 0, "umask %o", masks[i]);
        cr_expect_eq(rmdir(own), 0);
        close(folder);
    }
}

Test(cache_files, refuses_a_folder_that_others_can_write)
{
    close(open_good());
    static const mode_t modes[] = { 0770, 0702, 0777, 01777 };
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        cr_assert_eq(chmod(own, modes[i]), 0);
        expect_refusal("other users can write to");
    }
    cr_assert_eq(chmod(own, 0755), 0); // others may read
    close(open_good());
    // sticky as /tmp is: other users cannot replace the cache's folder
    cr_assert_eq(chmod(given, 01777), 0);
    close(open_good());
}

Test(cache_files, refuses_another_users_folder)
{
    if (geteuid() != 0) cr_skip("only root can give a folder away");
    close(open_good());
    cr_assert_eq(chown(own, 65534, 65534), 0);
    expect_refusal("another user owns");
}

Test(cache_files, refuses_what_it_did_not_make)
{
    char elsewhere[128];
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", root);
    cr_assert_eq(mkdir(given, 0700) | mkdir(elsewhere, 0700), 0);
    cr_assert_eq(symlink(elsewhere, own), 0);
    expect_refusal("not a folder");
    cr_assert_eq(unlink(own), 0);

    write_text(given, "clattn-kernels-1", "a file");
    expect_refusal("not a folder");
    cr_assert_eq(unlink(own), 0);

    cr_assert_eq(mkdir(own, 0700), 0);
    write_text(own, "thesis.txt", "years of work");
    expect_refusal("did not make");
    write_text(own, "CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n");
    expect_refusal("did not make"); // the tag of another program's cache
    char **paths = NULL;
    size_t count = 0;
    cr_assert_eq(cla_folder_list(given, "", &paths, &count), CLA_OK);
    cr_expect_eq(count, 2); // unchanged: nothing added or left behind
    cla_folder_list_free(&paths, count);
}

/* An empty folder becomes the cache's, as nothing in it can be lost. */
Test(cache_files, takes_an_empty_folder)
{
    cr_assert_eq(mkdir(given, 0700) | mkdir(own, 0755), 0);
    const int folder = open_good();
    cr_expect_eq(mode_of(folder, "."), 0700u);
    close(folder);
}

Test(cache_files, a_given_folder_that_cannot_be_had)
{
    write_text(root, "given", "a file");
    expect_refusal("cannot write to");
    // cannot be made, not even by root
    snprintf(given, sizeof given, "/proc/nowhere/cache");
    expect_refusal("cannot write to");
}

/* Entries that are cut, altered, renamed or writable by others are reported and never
 * returned. */
Test(cache_files, damaged_entries)
{
    const int folder = open_good();
    put(folder, ID_A, "machine code");
    for (off_t size = 0; size < 64 + 12; size++) {
        put(folder, ID_A, "machine code");
        const int fd = openat(folder, ID_A ".kernel", O_RDWR);
        cr_assert_eq(ftruncate(fd, size), 0);
        cr_expect_str_eq(unreadable(folder, ID_A), "damaged", "cut at %d", (int)size);
        put(folder, ID_A, "machine code");
        close(fd);
        const int other = openat(folder, ID_A ".kernel", O_RDWR);
        char byte = 0;
        cr_assert_eq(pread(other, &byte, 1, size), 1);
        byte ^= 1;
        cr_assert_eq(pwrite(other, &byte, 1, size), 1);
        cr_expect_str_eq(unreadable(folder, ID_A), "damaged", "bit %d", (int)size * 8);
        close(other);
    }
    put(folder, ID_A, "machine code");
    cr_assert_eq(fchmodat(folder, ID_A ".kernel", 0666, 0), 0);
    cr_expect_str_eq(unreadable(folder, ID_A), "other users can write to it");
    put(folder, ID_A, "machine code");
    cr_expect(holds(folder, ID_A, "machine code"));
    cr_assert_eq(renameat(folder, ID_A ".kernel", folder, ID_B ".kernel"), 0);
    // the entry of another program
    cr_expect_str_eq(unreadable(folder, ID_B), "damaged");
    close(folder);
}

/* An entry that is no regular file is neither read nor replaced nor deleted. */
Test(cache_files, follows_no_link)
{
    const int folder = open_good();
    put(folder, ID_A, "machine code");
    // root is a folder
    cr_assert_eq(renameat(folder, ID_A ".kernel", AT_FDCWD, root), -1);
    char target[128];
    snprintf(target, sizeof target, "%s/target", root);
    cr_assert_eq(renameat(folder, ID_A ".kernel", AT_FDCWD, target), 0);
    cr_assert_eq(symlinkat(target, folder, ID_A ".kernel"), 0);
    cr_assert_eq(mkdirat(folder, ID_B ".kernel", 0700), 0);
    cr_assert_eq(mkfifoat(folder, ID_C ".kernel", 0600), 0);
    static const char *const ids[] = { ID_A, ID_B, ID_C };
    for (int i = 0; i < 3; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s.kernel", ids[i]);
        cr_expect_null(unreadable(folder, ids[i]));
        cr_expect_eq(cla_cache_files_write(folder, ids[i], "x", 1), CLA_E_IO);
        cla_cache_files_remove(folder, ids[i]);
        cla_cache_files_shrink(folder, 0);
        cr_expect(exists(folder, name), "%s is gone", name);
    }
    cr_expect(exists(AT_FDCWD, target));
    close(folder);
}

/* With no room at all the cache deletes its entries and the remains of a killed writer;
 * all other files stay, whatever their names. */
Test(cache_files, deletes_only_what_it_wrote)
{
    static const char *const foreign[] = {
        "disk.bin",      "pytorch_model.bin", "notes.kernel",
        ID_B ".kernel", // an entry's name without its header
        ID_A "a.kernel", ID_A ".kernel.bak",  ID_A ".bin",    "deep/" ID_A ".kernel",
    };
    const int folder = open_good();
    put(folder, ID_A, "an entry");
    put(folder, ID_C, "another");
    char *entry = NULL, path[256];
    size_t size = 0;
    snprintf(path, sizeof path, "%s/" ID_A ".kernel", own);
    cr_assert_eq(cla_file_read(path, &entry, &size), CLA_OK);
    snprintf(path, sizeof path, "%s/" ID_A ".kernel.17-0.tmp", own);
    cr_assert_eq(cla_file_write(path, entry, size), CLA_OK);
    cr_assert_eq(mkdirat(folder, "deep", 0700), 0);
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        const bool same = strstr(foreign[i], ID_A) != NULL; // even with a valid header
        snprintf(path, sizeof path, "%s/%s", own, foreign[i]);
        cr_assert_eq(cla_file_write(path, same ? entry : "mine", same ? size : 4),
                     CLA_OK);
    }
    free(entry);
    cla_cache_files_shrink(folder, 0);
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        cr_expect(exists(folder, foreign[i]), "%s was deleted", foreign[i]);
    }
    cr_expect(exists(folder, "CACHEDIR.TAG"));
    cr_expect_not(exists(folder, ID_A ".kernel"));
    cr_expect_not(exists(folder, ID_C ".kernel"));
    cr_expect_not(exists(folder, ID_A ".kernel.17-0.tmp"));
    close(folder);
}

/* The least recently used entry is deleted first, and no more than needed. */
Test(cache_files, keeps_to_its_limit)
{
    static const char *const ids[] = { ID_A, ID_B, ID_C };
    const int folder = open_good();
    for (int i = 0; i < 3; i++) {
        char name[64];
        const struct timespec times[2] = { { 1000 + i, 0 }, { 1000 + i, 0 } };
        snprintf(name, sizeof name, "%s.kernel", ids[i]);
        put(folder, ids[i], "0123456789");
        cr_assert_eq(utimensat(folder, name, times, 0), 0);
    }
    cr_expect(holds(folder, ID_A, "0123456789")); // counts as a use
    const uint64_t bytes = 64 + 10;
    cla_cache_files_shrink(folder, 3 * bytes);
    cr_expect(exists(folder, ID_B ".kernel"));
    cla_cache_files_shrink(folder, 3 * bytes - 1);
    cr_expect(exists(folder, ID_A ".kernel") && exists(folder, ID_C ".kernel"));
    cr_expect_not(exists(folder, ID_B ".kernel"));
    cla_cache_files_shrink(folder, 2 * bytes - 1);
    cr_expect(exists(folder, ID_A ".kernel"));
    cr_expect_not(exists(folder, ID_C ".kernel"));
    close(folder);
}
