/* device.c - fuzz targets: golden cases and tuning files. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/golden.h"
#include "fuzz.h"
#include "runtime/runtime.h"

enum { LARGEST = 1 << 20 };

/* ---- golden cases ---------------------------------------------------------------- */

/* Fills a tensor's data: types of whole numbers with bytes of the input, again and
 * again, others with a pattern. */
static void fill_tensor(char *data, const json_t *tensor, size_t size,
                        const fuzz_part *numbers)
{
    const json_t *range = json_object_get(tensor, "data_offsets");
    const char *type = json_string_value(json_object_get(tensor, "dtype"));
    const json_int_t from = json_integer_value(json_array_get(range, 0));
    const json_int_t to = json_integer_value(json_array_get(range, 1));
    if (from < 0 || to > (json_int_t)size || !type) {
        return;
    }
    for (json_int_t i = from; i + 4 <= to; i += 4) {
        const float x = (float)(i % 13) / 8 - 0.75f;
        memcpy(data + i, &x, sizeof x);
    }
    for (json_int_t i = from, k = 0; i < to && *type == 'I' && numbers->size;
         i++, k++) {
        data[i] = numbers->data[(size_t)k % numbers->size];
    }
}

/* Makes a file of tensors from parts: the header, and whole numbers. Returns its path,
 * or NULL where the header is not JSON. */
static const char *make_file(const fuzz_part parts[2])
{
    json_t *header = json_loadb(parts[0].data, parts[0].size, 0, NULL);
    cla_text text = { 0 };
    const char *path = NULL, *name = NULL;
    json_t *tensor = NULL;
    size_t size = 0;
    json_object_foreach(header, name, tensor)
    {
        const json_t *range = json_object_get(tensor, "data_offsets");
        const json_int_t end = json_integer_value(json_array_get(range, 1));
        size = end > (json_int_t)size && end <= LARGEST ? (size_t)end : size;
    }
    char *data = NULL;
    FUZZ_CHECK(!cla_alloc(&data, size + 1, 1), "%s", cla_error());
    json_object_foreach(header, name, tensor)
    {
        fill_tensor(data, tensor, size, &parts[1]);
    }
    if (header) {
        const uint64_t bytes = parts[0].size;
        FUZZ_CHECK(!cla_text_append(&text, (const char *)&bytes, sizeof bytes) &&
                       !cla_text_append(&text, parts[0].data, parts[0].size) &&
                       !cla_text_append(&text, data, size),
                   "%s", cla_error());
        path = fuzz_file("golden.safetensors", text.data, text.size);
    }
    json_decref(header);
    cla_text_free(&text);
    free(data);
    return path;
}

/* Runs a case. It may fail: its data may be bad, or more than the device can do. */
static void run_case(cla_runtime *rt, const cla_st_file *file, cla_schedule schedule)
{
    golden_result result = { .ok = false };
    cla_runtime_set_schedule(rt, schedule);
    const cla_status status = golden_run(&result, rt, file);
    FUZZ_CHECK(status == CLA_OK || status == CLA_E_USAGE || status == CLA_E_INPUT ||
                   status == CLA_E_SHAPE || status == CLA_E_NOMEM ||
                   status == CLA_E_DEVICE,
               "status %d: %s", (int)status, cla_error());
}

static void run_golden(cla_runtime *rt, const fuzz_part parts[2])
{
    cla_st_file file;
    const char *path = make_file(parts);
    if (!path) {
        return;
    }
    if (fuzz_ok(cla_st_open(&file, path))) {
        run_case(rt, &file, CLA_SCHEDULE_TILE);
        run_case(rt, &file, CLA_SCHEDULE_GROUP);
    }
    cla_st_close(&file);
}

/* The input has a header of tensors, and the whole numbers in them. */
void fuzz_golden(const uint8_t *data, size_t size)
{
    cla_runtime *rt = NULL;
    fuzz_part part[2];
    fuzz_cut(data, size, part, 2);
    fuzz_share_runtime();
    FUZZ_CHECK(!cla_runtime_new(&rt, NULL), "%s", cla_error());
    run_golden(rt, part);
    cla_runtime_free(&rt);
}

/* ---- tuning ---------------------------------------------------------------------- */

/* Returns the cases of the golden target's corpus that are not finds, read once. */
static const fuzz_part *cases(size_t *count)
{
    static fuzz_part *list;
    static size_t n;
    char folder[1024], **paths = NULL;
    size_t found = 0;
    snprintf(folder, sizeof folder, "%s/../corpus/golden", fuzz_fixtures());
    if (!list) {
        FUZZ_CHECK(!cla_folder_list(folder, "", &paths, &found) &&
                       !cla_alloc(&list, found, sizeof *list),
                   "%s", cla_error());
    }
    for (size_t i = 0; i < found; i++) {
        char *data = NULL;
        size_t size = 0;
        if (!strstr(paths[i], "/find-")) {
            FUZZ_CHECK(!cla_file_read(paths[i], &data, &size), "%s", cla_error());
            list[n++] = (fuzz_part){ data, size };
        }
    }
    cla_folder_list_free(&paths, found);
    *count = n;
    return list;
}

/* The first byte chooses a golden case; a tuning file that it runs with follows. */
void fuzz_tuning(const uint8_t *data, size_t size)
{
    cla_runtime *rt = NULL;
    fuzz_part part[2];
    char hash[17];
    size_t count = 0;
    const fuzz_part *all = cases(&count), *one = &all[size ? data[0] % count : 0];
    fuzz_cut((const uint8_t *)one->data, one->size, part, 2);
    const char *path = fuzz_file("tuning.json", data + (size > 0), size - (size > 0));
    FUZZ_CHECK(!cla_runtime_new(&rt, NULL), "a bad tuning file is no failure: %s",
               cla_error());
    FUZZ_CHECK(!cla_tuning_hash(rt, hash), "%s", cla_error());
    run_golden(rt, part);
    FUZZ_CHECK(!cla_tuning_save(rt, &path), "%s", cla_error());
    cla_runtime_free(&rt);
    remove(fuzz_path("tuning.json"));
}
