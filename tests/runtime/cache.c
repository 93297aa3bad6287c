/* cache.c - binaries and tuning on disk: warm starts, damage, unusable folders. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "runtime/internal.h"
#include "support/support.h"

static char folder[] = "/tmp/clattn-test-XXXXXX";

static void use_fresh_folder(void)
{
    cr_assert_not_null(mkdtemp(folder));
    setenv("CLATTN_CACHE_DIR", folder, 1);
    setenv("CLATTN_CACHE_BINARIES", "1", 1); // for PoCL, too
}

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_assert_eq(system(command), 0);
}

/* Runs one op on a new runtime. Returns the number of programs that were compiled. */
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
    TEST_OK(cla_folder_list(folder, ".kernel", paths, &count));
    return count;
}

Test(cache, warm_start_compiles_nothing)
{
    use_fresh_folder();
    cr_assert_eq(builds_of_one_run(), 2); // the self-test and the op
    cr_assert_eq(builds_of_one_run(), 0);
    remove_folder();
}

static int told[8], told_count, told_total;

static void note_save(void *context, int number, int total)
{
    told[told_count++] = number;
    told_total = *(int *)context = total;
}

/* Each saved program is announced once, in order; without saving nothing is
 * announced. */
Test(cache, announces_what_it_saves)
{
    for (int warm = 0; warm < 2; warm++) {
        cla_runtime *rt = NULL;
        cla_tensor *x = NULL, *y = NULL;
        cla_tape *tape = NULL;
        int seen = 0;
        if (!warm) use_fresh_folder();
        told_count = 0;
        TEST_OK(cla_runtime_new(&rt, NULL));
        cla_runtime_on_save(rt, note_save, &seen);
        TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 4, (int64_t[]){ 1, 1, 1, 2 }));
        TEST_OK(cla_tensor_fill(x, 1));
        TEST_OK(cla_tape_new(&tape, rt, false));
        TEST_OK(cla_masked_softmax(tape, &y, x, NULL, NULL, false));
        cla_tape_free(&tape);
        cla_tensor_free(&x);
        cla_runtime_free(&rt);
        cr_assert_eq(told_count, warm ? 0 : 2);
        cr_assert_eq(seen, warm ? 0 : 2);
    }
    cr_assert(told[0] == 1 && told[1] == 2 && told_total == 2);
    remove_folder();
}

/* PoCL has a cache of its own, which the second run uses. Nothing requests a binary of
 * PoCL, which would compile each kernel for any group size first. */
Test(cache, a_driver_with_a_cache_compiles_once)
{
    char **code = NULL, **saved = NULL;
    size_t count = 0, again = 0, any_size = 0;
    use_fresh_folder();
    unsetenv("CLATTN_CACHE_BINARIES");
    setenv("POCL_CACHE_DIR", folder, 1);
    setenv("POCL_KERNEL_CACHE", "1", 1);
    builds_of_one_run();
    TEST_OK(cla_folder_list(folder, ".so", &code, &count));
    cla_folder_list_free(&code, count);
    builds_of_one_run();
    TEST_OK(cla_folder_list(folder, ".so", &code, &again));
    for (size_t i = 0; i < again; i++) {
        any_size += strstr(code[i], "/0-0-0") != NULL;
    }
    cla_folder_list_free(&code, again);
    cr_expect_eq(count, again);
    cr_expect_eq(any_size, 0);
    any_size = entries(&saved);
    cla_folder_list_free(&saved, any_size);
    // the self-test's verdict; without PoCL's cache also the two programs
    cr_expect_eq(any_size, count ? 1 : 3);
    remove_folder();
}

/* Truncated, altered and emptied entries are rebuilt and valid afterwards. */
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

/* Makes a file of 600 MiB without contents, above the cache's limit. */
static void plant(const char *path)
{
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file, "%s", path);
    cr_assert_eq(ftruncate(fileno(file), 600 << 20), 0);
    cr_assert_eq(fclose(file), 0);
}

/* The folder may hold anything: only the cache's own files count and are deleted. */
Test(cache, leaves_other_files_alone)
{
    use_fresh_folder();
    cr_assert_eq(chdir(folder), 0);
    setenv("CLATTN_CACHE_DIR", "given", 1);
    cr_assert_eq(mkdir("given", 0700) | mkdir("given/deep", 0700), 0);
    cr_assert_eq(mkdir("models", 0700) | symlink("../models", "given/link"), 0);
    plant("given/disk.bin");
    plant("given/deep/disk.bin");
    plant("models/pytorch_model.bin");
    cr_assert_eq(builds_of_one_run(), 2);
    cr_assert_eq(builds_of_one_run(), 0);
    cr_expect_eq(access("given/disk.bin", F_OK), 0);
    cr_expect_eq(access("given/deep/disk.bin", F_OK), 0);
    cr_expect_eq(access("models/pytorch_model.bin", F_OK), 0);
    remove_folder();
}

/* A folder that others can write is not used: their machine code would run here. */
Test(cache, does_without_a_folder_that_others_can_write)
{
    char own[128];
    use_fresh_folder();
    cr_assert_eq(builds_of_one_run(), 2);
    snprintf(own, sizeof own, "%s/clattn-kernels-1", folder);
    cr_assert_eq(chmod(own, 0777), 0);
    cr_assert_eq(builds_of_one_run(), 2);
    cr_assert_eq(chmod(own, 0700), 0);
    cr_assert_eq(builds_of_one_run(), 0);
    remove_folder();
}

Test(cache, works_without_a_folder)
{
    setenv("CLATTN_CACHE_DIR", "off", 1);
    cr_assert_eq(builds_of_one_run(), 2);
    // cannot be made, not even by root
    setenv("CLATTN_CACHE_DIR", "/proc/nowhere/cache", 1);
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
    cr_assert_eq(cla_tuned(rt, "masked_softmax", "WG", 128), 128);
    TEST_OK(cla_tuning_hash(rt, before));
    TEST_OK(cla_tuning_set(rt, "masked_softmax", "WG", 32));
    TEST_OK(cla_tuning_hash(rt, after));
    cr_assert_str_neq(before, after);
    TEST_OK(cla_tuning_save(rt, &written));
    cr_assert_str_eq(written, path);
    cla_runtime_free(&rt);
    TEST_OK(cla_runtime_new(&rt, NULL));
    cr_assert_eq(cla_tuned(rt, "masked_softmax", "WG", 128), 32);
    cla_runtime_free(&rt);
    TEST_OK(cla_file_write(path, "{ \"broken\": ", 12)); // warns, and is not used
    TEST_OK(cla_runtime_new(&rt, NULL));
    cr_assert_eq(cla_tuned(rt, "masked_softmax", "WG", 128), 128);
    cla_runtime_free(&rt);
    remove_folder();
}

Test(tuning, a_class_has_constants_of_its_own)
{
    static const struct {
        const char *class;
        int unroll, items; // 4 and 64 where the class has none
    } cases[] = {
        { "cpu", 1, 64 }, { "amd", 16, 64 }, { "Intel", 4, 32 }, { "nvidia", 2, 64 }
    };
    cla_runtime *rt = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("CLATTN_CLASS", cases[i].class, 1);
        TEST_OK(cla_runtime_new(&rt, NULL));
        cr_assert_eq(cla_tuned(rt, "matmul_group", "UNROLL", 4), cases[i].unroll);
        cr_assert_eq(cla_tuned(rt, "matmul_group", "ITEMS", 64), cases[i].items);
        TEST_OK(
            cla_tuning_set(rt, "matmul_group", "UNROLL", 8)); // goes before the class's
        cr_assert_eq(cla_tuned(rt, "matmul_group", "UNROLL", 4), 8);
        cla_runtime_free(&rt);
    }
    setenv("CLATTN_CLASS", "riva", 1);
    TEST_FAILS(cla_runtime_new(&rt, NULL), CLA_E_USAGE,
               "CLATTN_CLASS is 'riva', must be cpu, gpu, amd, intel or nvidia");
    unsetenv("CLATTN_CLASS");
}

/* Machine code of one processor may end the process on another, and drivers give both
 * the same name: each has entries of its own. */
Test(cache, processors_do_not_share_machine_code)
{
    char here[33], again[33], elsewhere[33];
    cla_runtime *rt = NULL;
    use_fresh_folder();
    TEST_OK(cla_runtime_new(&rt, NULL));
    cla_cache_id(rt, "kernel void f(void) {}", "", here);
    cla_cache_id(rt, "kernel void f(void) {}", "", again);
    cr_expect_str_eq(here, again);
#if defined(__x86_64__)
    cr_expect(rt->device.kind != CLA_DEVICE_CPU || *rt->processor);
#endif
    rt->processor[0] = rt->processor[0] == '0' ? '1' : '0';
    cla_cache_id(rt, "kernel void f(void) {}", "", elsewhere);
    cr_expect_str_neq(here, elsewhere);
    cla_runtime_free(&rt);
    remove_folder();
}
