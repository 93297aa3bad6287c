/* average.c - means of kept states, computed by hand, and folders that do not fit
 * together. */
#include "train/average.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/safetensors.h"
#include "support/support.h"

enum { FOLDERS = 3 };
static const char *const names[FOLDERS] = { "a", "b", "out" };
static const char config[] = "{\"model\": \"translator\", \"lr\": 1, \"keep\": 2}";

typedef struct fixture {
    char root[32], path[FOLDERS][48];
} fixture;

static void put(const fixture *f, int folder, const char *name, const char *text)
{
    char path[96];
    snprintf(path, sizeof path, "%s/%s", f->path[folder], name);
    TEST_OK(cla_file_write(path, text, strlen(text)));
}

/* Writes a state with a table [2,1] and a vector of count numbers, called name. */
static void put_state(const fixture *f, int folder, int step, const float *table,
                      const char *name, const float *vector, int count)
{
    char path[96], text[16];
    const cla_st_tensor tensors[] = {
        { "table", CLA_ST_F32, 2, { 2, 1 }, 2, table },
        { name, CLA_ST_F32, 1, { count }, count, vector },
    };
    snprintf(text, sizeof text, "%d", step);
    snprintf(path, sizeof path, "%s/kept-%010d.ckpt.safetensors", f->path[folder],
             step);
    json_t *meta = json_pack("{s:s}", "step", text);
    TEST_OK(cla_st_save(path, tensors, 2, meta));
    json_decref(meta);
}

static void make(fixture *f)
{
    strcpy(f->root, "/tmp/clattn-test-XXXXXX");
    cr_assert_not_null(mkdtemp(f->root));
    for (int i = 0; i < FOLDERS; i++) {
        snprintf(f->path[i], sizeof f->path[i], "%s/%s", f->root, names[i]);
        TEST_OK(cla_folder_make(f->path[i]));
    }
    for (int i = 0; i < 2; i++) {
        put(f, i, "config.json", config);
        put(f, i, "codes.txt", "c");
        put(f, i, "source.txt", "s");
        put(f, i, "target.txt", "t");
    }
    put_state(f, 0, 100, (float[]){ 100, 100 }, "bias", (float[]){ 100 }, 1);
    put_state(f, 0, 200, (float[]){ 1, -2 }, "bias", (float[]){ 0.5F }, 1);
    put_state(f, 0, 1000, (float[]){ 2, 6 }, "bias", (float[]){ 1e8F }, 1);
}

static void unmake(fixture *f)
{
    char **paths = NULL;
    size_t n = 0;
    TEST_OK(cla_folder_list(f->root, "", &paths, &n));
    for (size_t i = 0; i < n; i++) {
        unlink(paths[i]);
    }
    cla_folder_list_free(&paths, n);
    for (int i = 0; i < FOLDERS; i++) {
        rmdir(f->path[i]);
    }
    rmdir(f->root);
}

static cla_status average(const fixture *f, int runs, int last)
{
    const char *const run[] = { f->path[0], f->path[1] };
    cla_averaged done = { 0 };
    const cla_status status = cla_average(run, runs, last, f->path[2], NULL, &done);
    cr_assert(status || done.numbers == 3);
    cr_assert(status || done.states == runs * last);
    return status;
}

static void expect(const fixture *f, const float *table, float bias, const char *steps)
{
    char path[96];
    cla_st_file file = { 0 };
    snprintf(path, sizeof path, "%s/best.ckpt.safetensors", f->path[2]);
    TEST_OK(cla_st_open(&file, path));
    const float *got = cla_st_find(&file, "table")->data;
    cr_assert_eq(file.count, 2);
    cr_assert_eq(got[0], table[0]);
    cr_assert_eq(got[1], table[1]);
    cr_assert_eq(*(const float *)cla_st_find(&file, "bias")->data, bias);
    cr_assert_str_eq(cla_st_meta(&file, "averaged"), steps);
    cla_st_close(&file);
}

static void forget(const fixture *f)
{
    char path[96];
    snprintf(path, sizeof path, "%s/config.json", f->path[2]);
    cr_assert_eq(unlink(path), 0);
}

Test(average, is_the_mean_of_the_newest)
{
    fixture f;
    make(&f);
    TEST_OK(average(&f, 1, 2)); // the mean of 1e8 and 0.5, rounded once
    expect(&f, (float[]){ 1.5F, 2 }, 50000000.25F, "200 1000");
    forget(&f);
    put_state(&f, 1, 300, (float[]){ 4, 0 }, "bias", (float[]){ 0 }, 1);
    put(&f, 1, "config.json",
        "{\"model\": \"translator\", \"lr\": 1.0}"); // keep may differ
    TEST_OK(average(&f, 2, 1));
    expect(&f, (float[]){ 3, 3 }, 5e7F, "1000 300");
    unmake(&f);
}

Test(average, refuses_what_does_not_fit)
{
    fixture f;
    make(&f);
    const float two[] = { 1, 2 };
    TEST_FAILS(average(&f, 1, 4), CLA_E_USAGE, "keeps 3 states, 4 are wanted");
    TEST_FAILS(average(&f, 2, 1), CLA_E_USAGE, "/b keeps 0 states");
    put_state(&f, 1, 7, two, "bias", two, 2);
    TEST_FAILS(average(&f, 2, 1), CLA_E_INPUT, "tensor 'bias' has another shape");
    put_state(&f, 1, 7, two, "base", two, 1);
    TEST_FAILS(average(&f, 2, 1), CLA_E_INPUT, "tensor 'bias' is missing");
    put(&f, 1, "target.txt", "T");
    TEST_FAILS(average(&f, 2, 1), CLA_E_INPUT, "/b/target.txt: is not that of ");
    put(&f, 1, "config.json", "{\"model\": \"translator\", \"lr\": 2}");
    TEST_FAILS(average(&f, 2, 1), CLA_E_INPUT, "/b: 'lr' is not that of ");
    put(&f, 0, "kept-0000001000.ckpt.safetensors", "torn");
    TEST_FAILS(average(&f, 1, 1), CLA_E_INPUT, "kept-0000001000.ckpt.safetensors");
    put(&f, 0, "config.json", "{\"model\": \"painter\"}");
    TEST_FAILS(average(&f, 1, 1), CLA_E_INPUT, "model is 'painter'");
    unmake(&f);
}
