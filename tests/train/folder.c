/* folder.c - claiming a run's folder. */
#include "train/folder.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "support/support.h"

static char top[64];

static void make_folder(void)
{
    strcpy(top, "/tmp/clattn-folder-XXXXXX");
    cr_assert_not_null(mkdtemp(top));
}

static void drop_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", top);
    cr_assert_eq(system(command), 0);
}

TestSuite(folder, .init = make_folder, .fini = drop_folder);

static const char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", top, name);
    return path;
}

static bool exists(const char *name)
{
    struct stat info;
    return lstat(path_of(name), &info) == 0;
}

static void claim(const char *name)
{
    cla_folder f;
    TEST_OK(cla_folder_claim(&f, path_of(name), false));
    cla_folder_release(&f);
}

/* "[a]" is a glob pattern that matches the other folder, "a". */
Test(folder, a_claim_cleans_its_own_folder_alone)
{
    TEST_OK(cla_folder_make(path_of("a")));
    TEST_OK(cla_folder_make(path_of("[a]")));
    TEST_OK(cla_file_write(path_of("a/x.1-1.tmp"), "x", 1));
    TEST_OK(cla_file_write(path_of("[a]/x.1-1.tmp"), "x", 1));
    claim("[a]");
    cr_expect(exists("a/x.1-1.tmp"));
    cr_expect_not(exists("[a]/x.1-1.tmp"));
}

Test(folder, a_claim_removes_temporary_files_alone)
{
    static const char *const kept[] = { "a/x.tmp", "a/x.1.tmp", "a/x.1-1.tmp.txt",
                                        "a/.1-1.tmp", "a/x.a-1.tmp" };
    TEST_OK(cla_folder_make(path_of("a/folder.1-1.tmp")));
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        TEST_OK(cla_file_write(path_of(kept[i]), "x", 1));
    }
    TEST_OK(cla_file_write(path_of("a/last.ckpt.safetensors.123-4.tmp"), "x", 1));
    claim("a");
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        cr_expect(exists(kept[i]), "%s", kept[i]);
    }
    cr_expect(exists("a/folder.1-1.tmp"));
    cr_expect_not(exists("a/last.ckpt.safetensors.123-4.tmp"));
}
