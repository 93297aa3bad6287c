/* record.c - launches that are recorded instead of run. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "runtime/internal.h"
#include "runtime/runtime.h"
#include "support/kernels.h"
#include "support/support.h"

static char folder[] = "/tmp/clattn-test-XXXXXX";

static cla_runtime *recorder(void)
{
    cr_assert_not_null(mkdtemp(folder));
    setenv("CLATTN_RECORD", folder, 1);
    return test_kernels();
}

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_assert_eq(system(command), 0);
}

static char *text_of(const char *name)
{
    char path[128], *text = NULL;
    size_t size = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    TEST_OK(cla_file_read(path, &text, &size));
    return text;
}

/* Launches the probe with groups of 4 items. */
static void launch_probe(cla_runtime *rt, const cla_memory *y, size_t groups, int other)
{
    const cla_launch launch = {
        .file = "probe",
        .kernel = "probe_groups",
        .define = { { "WG", 64 }, { "OTHER", other } },
        .groups = { groups },
        .local = { 4 },
        .args = { cla_mem(y), cla_i32((int)groups), cla_i32(1), cla_local(24) },
    };
    TEST_OK(cla_enqueue(rt, &launch));
}

static int64_t number_in(json_t *line, const char *key, int at)
{
    return json_integer_value(json_array_get(json_object_get(line, key), (size_t)at));
}

/* Each kernel with its defines and group size gives one line, however often it is
 * launched and on however many groups. Nothing is built or run. */
Test(record, writes_each_kernel_once)
{
    cla_runtime *rt = recorder();
    cla_memory y = { 0 };
    int32_t got[64];
    TEST_OK(cla_memory_new(&y, rt, sizeof got));
    launch_probe(rt, &y, 3, 1);
    launch_probe(rt, &y, 5, 1);
    launch_probe(rt, &y, 5, 2);
    TEST_OK(cla_memory_read(rt, &y, 0, got, sizeof got));
    for (int i = 0; i < 64; i++) {
        cr_assert_eq(got[i], 0);
    }
    cr_assert_eq(cla_runtime_builds(rt), 0);
    cr_assert(cla_runtime_records(rt));
    cr_assert_eq(cla_runtime_device(rt)->kind, CLA_DEVICE_GPU);
    cr_assert_eq(cla_runtime_schedule(rt), CLA_SCHEDULE_GROUP);
    cla_memory_free(&y, rt);
    cla_runtime_free(&rt);

    char *lines = text_of("launches.jsonl"), *rest = lines;
    int count = 0;
    for (char *text; (text = strsep(&rest, "\n")) && *text; count++) {
        json_t *line = json_loads(text, 0, NULL);
        cr_assert_not_null(line, "%s", text);
        cr_assert_str_eq(json_string_value(json_object_get(line, "file")), "probe");
        cr_assert_str_eq(json_string_value(json_object_get(line, "kernel")),
                         "probe_groups");
        json_t *defines = json_object_get(line, "defines");
        cr_assert_eq(json_integer_value(json_object_get(defines, "OTHER")), count + 1);
        cr_assert_eq(number_in(line, "local", 0), 4);
        cr_assert_eq(number_in(line, "groups", 0), count ? 5 : 3);
        const json_int_t bytes = json_integer_value(json_object_get(line, "arg_bytes"));
        cr_assert_eq(bytes, (json_int_t)(sizeof(void *) + 8));
        cr_assert_eq(json_integer_value(json_object_get(line, "local_bytes")), 24);
        json_decref(line);
    }
    cr_assert_eq(count, 2);
    char *source = text_of("probe.cl");
    cr_assert(strstr(source, "#define GROUP") && strstr(source, "probe_groups"));
    free(source);
    free(lines);
    remove_folder();
}

/* Launches between the names of cases go to grids.jsonl, each of them. */
Test(record, writes_each_launch_of_a_case)
{
    cla_runtime *rt = recorder();
    cla_memory y = { 0 };
    TEST_OK(cla_memory_new(&y, rt, 256));
    launch_probe(rt, &y, 3, 1);
    TEST_OK(cla_record_case(rt, "probe fwd", 12, 34));
    launch_probe(rt, &y, 3, 1);
    launch_probe(rt, &y, 5, 1);
    TEST_OK(cla_record_case(rt, NULL, 0, 0));
    launch_probe(rt, &y, 7, 1);
    cla_memory_free(&y, rt);
    cla_runtime_free(&rt);
    char *lines = text_of("grids.jsonl"), *rest = lines;
    json_t *line[4] = { NULL };
    for (int i = 0; i < 4; i++) {
        line[i] = json_loads(strsep(&rest, "\n"), 0, NULL);
    }
    cr_assert(line[0] && line[1] && line[2] && !line[3]);
    cr_assert_str_eq(json_string_value(json_object_get(line[0], "case")), "probe fwd");
    cr_assert_eq(json_integer_value(json_object_get(line[0], "flops")), 12);
    cr_assert_eq(json_integer_value(json_object_get(line[0], "bytes")), 34);
    cr_assert_eq(number_in(line[1], "groups", 0), 3);
    cr_assert_eq(number_in(line[2], "groups", 0), 5);
    cr_assert_eq(json_integer_value(json_object_get(line[2], "bytes")), 256);
    for (int i = 0; i < 3; i++) {
        json_decref(line[i]);
    }
    free(lines);
    remove_folder();
}

Test(record, plays_the_gpu_that_is_named)
{
    setenv("CLATTN_RECORD_AS", "local_bytes=32768 compute_units=108,subgroups=1", 1);
    cla_runtime *rt = recorder();
    const cla_device *d = cla_runtime_device(rt);
    cr_assert(d->local_bytes == 32768 && d->compute_units == 108 && d->subgroups);
    cla_runtime_free(&rt);
    static const char *const wrong[] = { "lanes=4", "local_bytes", "local_bytes=x",
                                         "kind=1" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        setenv("CLATTN_RECORD_AS", wrong[i], 1);
        TEST_FAILS(cla_runtime_new(&rt, NULL), CLA_E_USAGE, wrong[i]);
    }
    unsetenv("CLATTN_RECORD_AS");
    remove_folder();
}

Test(record, says_where_it_cannot_write)
{
    cla_runtime *rt = NULL;
    setenv("CLATTN_RECORD", "/dev/null/x", 1);
    TEST_FAILS(cla_runtime_new(&rt, NULL), CLA_E_IO, "/dev/null");
}
