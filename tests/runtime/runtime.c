/* runtime.c - launches, memory limits, profile, fork, an application's queue. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clattn/opencl.h"
#include "runtime/internal.h"
#include "support/kernels.h"
#include "support/support.h"

static void count_groups(cla_runtime *rt, double flops, const size_t groups[3])
{
    const size_t n = groups[0] * 4 * groups[1] * groups[2];
    int32_t *got = malloc(n * 4);
    cla_memory y = { 0 };
    TEST_OK(cla_memory_new(&y, rt, n * 4));
    TEST_OK(cla_memory_fill(rt, &y, 0));
    const cla_launch launch = {
        .file = "probe",
        .kernel = "probe_groups",
        .groups = { groups[0], groups[1], groups[2] },
        .local = { 4 },
        .args = { cla_mem(&y), cla_i32((int)groups[0]), cla_i32((int)groups[1]) },
        .flops = flops,
    };
    TEST_OK(cla_enqueue(rt, &launch));
    TEST_OK(cla_memory_read(rt, &y, 0, got, n * 4));
    for (size_t i = 0; i < n; i++) {
        cr_assert_eq(got[i], (int32_t)i, "item %zu holds %d", i, got[i]);
    }
    cla_memory_free(&y, rt);
    free(got);
}

/* A launch that would run for long is split; each group still runs once. */
Test(launch, splits_long_work)
{
    cla_runtime *rt = test_kernels();
    const size_t along_x[3] = { 13, 2, 3 }, along_z[3] = { 1, 2, 7 };
    count_groups(rt, 0, along_x);
    count_groups(rt, 5.5 * rt->slice_flops, along_x);
    count_groups(rt, 100 * rt->slice_flops, along_z);
    cla_runtime_free(&rt);
}

Test(launch, refuses)
{
    cla_runtime *rt = test_kernels();
    cla_launch launch = { .file = "no_such", .kernel = "x", .groups = { 1 } };
    TEST_FAILS(cla_enqueue(rt, &launch), CLA_E_IO, "no_such.cl");
    launch.file = "probe";
    TEST_FAILS(cla_enqueue(rt, &launch), CLA_E_DEVICE, "kernel x of probe");
    launch.kernel = "probe_groups";
    launch.args[0] = cla_local((size_t)rt->device.local_bytes + 1);
    TEST_FAILS(cla_enqueue(rt, &launch), CLA_E_DEVICE, "bytes of local memory");
    launch.groups[0] = 0;
    TEST_OK(cla_enqueue(rt, &launch)); // no groups are no error
    cla_runtime_free(&rt);
}

Test(memory, guards_see_a_stray_write)
{
    cla_runtime *rt = test_kernels();
    cla_memory y = { 0 };
    TEST_OK(cla_memory_new(&y, rt, 64));
    TEST_OK(cla_memory_check_guards(rt));
    // Oclgrind stops such writes itself
    if (strstr(rt->device.platform_name, "Oclgrind") == NULL) {
        const cla_launch launch = {
            .file = "probe",
            .kernel = "probe_overrun",
            .groups = { 1 },
            .args = { cla_mem(&y), cla_i32(16) },
        };
        TEST_OK(cla_enqueue(rt, &launch));
        TEST_FAILS(cla_memory_check_guards(rt), CLA_E_DEVICE,
                   "behind a buffer of 64 bytes");
    }
    cla_memory_free(&y, rt);
    cla_runtime_free(&rt);
}

Test(memory, refuses_more_than_the_device_has)
{
    cla_runtime *rt = NULL;
    TEST_OK(cla_runtime_new(&rt, NULL));
    cla_memory y = { 0 };
    char limit[32];
    snprintf(limit, sizeof limit, "%llu",
             (unsigned long long)rt->device.max_buffer_bytes);
    TEST_FAILS(cla_memory_new(&y, rt, (size_t)rt->device.max_buffer_bytes + 1),
               CLA_E_NOMEM, limit);
    rt->in_use_bytes = rt->device.memory_bytes - 10;
    TEST_FAILS(cla_memory_new(&y, rt, 11), CLA_E_NOMEM, "11 bytes asked beside");
    rt->in_use_bytes = 0;
    cla_runtime_free(&rt);
}

/* Returns the row of a kernel or of a command of the driver. */
static cla_profile_row profile_of(cla_runtime *rt, const char *kernel)
{
    int rows = 0;
    const cla_profile_row *row = cla_profile_rows(rt, &rows);
    for (int i = 0; i < rows; i++) {
        if (!strcmp(row[i].kernel, kernel)) return row[i];
    }
    return (cla_profile_row){ .launches = 0 };
}

Test(profile, counts_launches_and_bytes)
{
    cla_runtime *rt = test_kernels();
    const size_t groups[3] = { 3, 1, 1 };
    count_groups(rt, 0, groups);
    cla_profile_enable(rt, true);
    count_groups(rt, 0, groups);
    const int64_t bytes = profile_of(rt, "probe_groups").bytes;
    count_groups(rt, 0, groups);
    cr_assert_eq(profile_of(rt, "probe_groups").launches, 2);
    cr_assert_gt(bytes, 0);
    cr_assert_eq(profile_of(rt, "probe_groups").bytes, 2 * bytes);
    cla_profile_clear(rt);
    cr_assert_eq(profile_of(rt, "probe_groups").launches, 0);
    cla_runtime_free(&rt);
}

/* A launch that is split counts as several; its bytes count once. */
Test(profile, counts_pieces)
{
    cla_runtime *rt = test_kernels();
    const size_t groups[3] = { 13, 1, 1 };
    cla_profile_enable(rt, true);
    count_groups(rt, 0, groups);
    const int64_t bytes = profile_of(rt, "probe_groups").bytes;
    count_groups(rt, 5.5 * rt->slice_flops, groups);
    cr_assert_gt(profile_of(rt, "probe_groups").launches, 3);
    cr_assert_eq(profile_of(rt, "probe_groups").bytes, 2 * bytes);
    cla_runtime_free(&rt);
}

Test(profile, counts_commands_of_the_driver)
{
    cla_runtime *rt = test_kernels();
    cla_memory a = { 0 }, b = { 0 };
    char host[64] = { 0 };
    TEST_OK(cla_memory_new(&a, rt, 64));
    TEST_OK(cla_memory_new(&b, rt, 64));
    cla_profile_enable(rt, true);
    TEST_OK(cla_memory_write(rt, &a, 0, host, 48));
    TEST_OK(cla_memory_copy(rt, &b, 0, &a, 0, 32));
    TEST_OK(cla_memory_read(rt, &b, 0, host, 16));
    cla_profile_enable(rt, false);
    TEST_OK(cla_memory_read(rt, &b, 0, host, 16)); // not counted
    cr_assert_eq(profile_of(rt, "(write)").bytes, 48);
    cr_assert_eq(profile_of(rt, "(copy)").bytes, 64); // read and written
    cr_assert_eq(profile_of(rt, "(read)").launches, 1);
    cr_assert_eq(profile_of(rt, "(read)").bytes, 16);
    cla_memory_free(&a, rt);
    cla_memory_free(&b, rt);
    cla_runtime_free(&rt);
}

/* Fills and copies of a size that CPUs do with a kernel, again and again, with ends
 * that no vector ends at; bands around the memory must stay whole. */
static void check_moves(cla_schedule schedule)
{
    enum { WORDS = (1 << 18) + 45, AT = 13, COPIED = WORDS - 2, ROUNDS = 12 };
    cla_runtime *rt = test_runtime();
    cla_memory a = { 0 }, b = { 0 };
    uint32_t *host = malloc((WORDS + AT) * 4);
    cla_runtime_set_schedule(rt, schedule);
    TEST_OK(cla_memory_new(&a, rt, WORDS * 4));
    TEST_OK(cla_memory_new(&b, rt, (WORDS + AT) * 4));
    cla_profile_enable(rt, true);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        const uint32_t pattern = 0x7FC00100u + i; // a NaN, whose bits must not change
        TEST_OK(cla_memory_fill(rt, &a, pattern));
        TEST_OK(cla_memory_fill(rt, &b, 7));
        TEST_OK(cla_memory_copy(rt, &b, AT * 4, &a, 8, COPIED * 4));
        TEST_OK(cla_memory_read(rt, &b, 0, host, (WORDS + AT) * 4));
        for (uint32_t n = 0; n < WORDS + AT; n++) {
            const uint32_t want = n < AT || n >= AT + COPIED ? 7 : pattern;
            cr_assert_eq(host[n], want, "round %u, word %u is %u", i, n, host[n]);
        }
    }
    // one core leaves it to the driver
    const bool shared =
        schedule == CLA_SCHEDULE_TILE && cla_runtime_device(rt)->compute_units > 1;
    const char *const copying = shared ? "memory_copy" : "(copy)";
    cr_assert_gt(profile_of(rt, copying).launches, 0, "no %s", copying);
    cla_memory_free(&a, rt);
    cla_memory_free(&b, rt);
    cla_runtime_free(&rt);
    free(host);
}

Test(runtime, moves_large_memory)
{
    check_moves(CLA_SCHEDULE_TILE);
    check_moves(CLA_SCHEDULE_GROUP);
}

Test(runtime, refused_after_fork)
{
    cla_runtime *rt = NULL;
    TEST_OK(cla_runtime_new(&rt, NULL));
    const pid_t child = fork();
    if (!child) {
        const cla_status status = cla_runtime_finish(rt);
        const bool named = strstr(cla_error(), "after fork") != NULL;
        cla_runtime_free(&rt); // must not touch the parent's objects
        _exit(status == CLA_E_USAGE && named ? 0 : 1);
    }
    int code = 0;
    waitpid(child, &code, 0);
    cr_assert(WIFEXITED(code) && WEXITSTATUS(code) == 0);
    TEST_OK(cla_runtime_finish(rt));
    cla_runtime_free(&rt);
}

Test(runtime, refuses_bad_environment)
{
    cla_runtime *rt = NULL;
    setenv("CLATTN_SCHEDULE", "warp", 1);
    TEST_FAILS(cla_runtime_new(&rt, NULL), CLA_E_USAGE, "CLATTN_SCHEDULE is 'warp'");
    cr_assert_null(rt);
    unsetenv("CLATTN_SCHEDULE");
    TEST_FAILS(cla_runtime_new(&rt, "no such device"), CLA_E_USAGE, "no such device");
    setenv("CLATTN_KERNEL_PATH", "/nonexistent", 1);
    TEST_FAILS(cla_runtime_new(&rt, NULL), CLA_E_IO, "/nonexistent");
}

/* A runtime works with the context, the queue and a buffer of an application. */
Test(runtime, works_inside_an_application)
{
    cla_runtime *own = NULL, *rt = NULL;
    TEST_OK(cla_runtime_new(&own, NULL));
    cl_int code = CL_SUCCESS;
    const float host[4] = { 1, 2, 3, 4 };
    float got[4];
    cl_mem buffer =
        clCreateBuffer(own->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                       sizeof host, (void *)host, &code);
    cr_assert_eq(code, CL_SUCCESS);
    TEST_OK(cla_runtime_wrap(&rt, own->context, own->queue));
    cla_tensor *x = NULL, *y = NULL;
    cla_tape *tape = NULL;
    TEST_FAILS(cla_tensor_wrap(&x, rt, buffer, CLA_F32, 1, (int64_t[]){ 5 }),
               CLA_E_SHAPE, "16 bytes, 20 are needed");
    TEST_OK(cla_tensor_wrap(&x, rt, buffer, CLA_F32, 4, (int64_t[]){ 1, 1, 1, 4 }));
    TEST_OK(cla_tape_new(&tape, rt, false));
    TEST_OK(cla_masked_softmax(tape, &y, x, NULL, NULL, false));
    TEST_OK(cla_tensor_download(y, got));
    const double want[] = { 0.0320586, 0.0871443, 0.2368828, 0.6439143 };
    check_close("softmax of an application's buffer", got, want, 4, 1e-6);
    cr_assert_eq(cla_tensor_buffer(x), buffer);
    cla_tape_free(&tape);
    cla_tensor_free(&x);
    cla_runtime_free(&rt);
    clReleaseMemObject(buffer);
    cla_runtime_free(&own);
}
