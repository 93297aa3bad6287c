/* cache.c - binaries and tuning on disk: warm starts, damage, folders that cannot be
 * had. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "runtime/runtime.h"
#include "support/support.h"

static char folder[] = "/tmp/clattn-test-XXXXXX";

static void use_fresh_folder(void)
{
    cr_assert_not_null(mkdtemp(folder));
    setenv("CLATTN_CACHE_DIR", folder, 1);
}

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_assert_eq(system(command), 0);
}

/* Opens a runtime, runs one op, returns how many programs were compiled. */
static int builds_of_one_run(void)
{
    cla_runtime *rt = NULL;
    cla_tensor *x = NULL, *y = NULL;
    cla_tape *tape = NULL;
    float got[2];
    TEST_OK(cla_runtime_new(&rt, NULL));
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 4, (int64_t[]){ 1, 1, 1, 2 }));
    TEST_OK(cla_tensor_fill(x, 1));
    TEST_OK(cla_tape_new(&tape, rt, false));
    TEST_OK(cla_masked_softmax(tape, &y, x, NULL, NULL, false));
    TEST_OK(cla_tensor_download(y, got));
    cr_assert(got[0] == 0.5f && got[1] == 0.5f);
    const int builds = cla_runtime_builds(rt);
    cla_tape_free(&tape);
    cla_tensor_free(&x);
    cla_runtime_free(&rt);
    return builds;
}

static size_t entries(char ***paths)
{
    size_t count = 0;
    TEST_OK(cla_folder_list(folder, ".bin", paths, &count));
    return count;
}

Test(cache, warm_start_compiles_nothing)
{
    use_fresh_folder();
    cr_assert_eq(builds_of_one_run(), 2); // the self-test and the op
    cr_assert_eq(builds_of_one_run(), 0);
    remove_folder();
}

/* Truncated, altered, emptied: rebuilt, and whole again afterwards. */
Test(cache, rebuilds_damaged_entries)
{
    use_fresh_folder();
    builds_of_one_run();
    for (int damage = 0; damage < 3; damage++) {
        char **paths = NULL;
        const size_t count = entries(&paths);
        cr_assert_gt(count, 0);
        for (size_t i = 0; i < count; i++) {
            char *data = NULL;
            size_t size = 0;
            TEST_OK(cla_file_read(paths[i], &data, &size));
            data[size / 2] ^= 1;
            TEST_OK(cla_file_write(paths[i], data,
                                   damage == 0   ? size
                                   : damage == 1 ? size / 3
                                                 : 0));
            free(data);
        }
        cla_folder_list_free(&paths, count);
        cr_assert_eq(builds_of_one_run(), 2, "damage %d", damage);
        cr_assert_eq(builds_of_one_run(), 0, "damage %d", damage);
    }
    remove_folder();
}

Test(cache, works_without_a_folder)
{
    setenv("CLATTN_CACHE_DIR", "off", 1);
    cr_assert_eq(builds_of_one_run(), 2);
    setenv("CLATTN_CACHE_DIR", "/proc/nowhere/cache",
           1); // cannot be made, even by root
    cr_assert_eq(builds_of_one_run(), 2);
    unsetenv("CLATTN_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    cr_assert_eq(builds_of_one_run(), 2);
}

Test(tuning, survives_a_restart)
{
    use_fresh_folder();
    char path[128];
    snprintf(path, sizeof path, "%s/deep/tuning.json", folder);
    setenv("CLATTN_TUNING", path, 1);
    cla_runtime *rt = NULL;
    const char *written = NULL;
    char before[17], after[17];
    TEST_OK(cla_runtime_new(&rt, NULL));
    cr_assert_eq(cla_tuned(rt, "some_op", "WG", 128), 128);
    cla_tuning_hash(rt, before);
    TEST_OK(cla_tuning_set(rt, "some_op", "WG", 32));
    cla_tuning_hash(rt, after);
    cr_assert_str_neq(before, after);
    TEST_OK(cla_tuning_save(rt, &written));
    cr_assert_str_eq(written, path);
    cla_runtime_free(&rt);
    TEST_OK(cla_runtime_new(&rt, NULL));
    cr_assert_eq(cla_tuned(rt, "some_op", "WG", 128), 32);
    cla_runtime_free(&rt);
    TEST_OK(cla_file_write(path, "{ \"broken\": ", 12)); // named in a warning, not used
    TEST_OK(cla_runtime_new(&rt, NULL));
    cr_assert_eq(cla_tuned(rt, "some_op", "WG", 128), 128);
    cla_runtime_free(&rt);
    remove_folder();
}
