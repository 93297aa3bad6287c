/* train.c - fuzz target: the state from which a training run resumes. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "fuzz.h"
#include "train/integrity.h"
#include "train/loop.h"

enum { STEPS = 5 };

static const char *const names[] = { "train.en", "train.de", "dev.en", "dev.de" };
static char *state; // as the run wrote it, without its hash
static size_t state_size;

static void put(const char *folder, const char *name, const void *data, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    fuzz_file(path, data, size);
}

static cla_status settle(cla_config *settings)
{
    static const char *const small[] = {
        "model=translator", "source=en", "target=de", "dim=4",
        "heads=1",          "inner=4",   "layers=1",  "merges=0",
        "tokens=8",         "warmup=20", "lr=0.4",    "save_every=2"
    };
    char text[128];
    *settings = (cla_config){ .values = json_object(), .known = json_object() };
    CLA_TRY(cla_strdup(&settings->path, "fuzz"));
    snprintf(text, sizeof text, "data=%s", fuzz_path("text"));
    CLA_TRY(cla_config_set(settings, text));
    snprintf(text, sizeof text, "steps=%d", STEPS);
    CLA_TRY(cla_config_set(settings, text));
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        CLA_TRY(cla_config_set(settings, small[i]));
    }
    return CLA_OK;
}

static cla_status train(bool resume)
{
    cla_runtime *rt = NULL;
    cla_config settings = { 0 };
    cla_train_result result = { .step = 0 };
    const cla_train_options options = {
        .out = fuzz_path("run"),
        .resume = resume,
        .quiet = true,
        .parallel = { .size = 1 },
    };
    fuzz_share_runtime();
    FUZZ_CHECK(!cla_runtime_new(&rt, NULL), "%s", cla_error());
    FUZZ_CHECK(!settle(&settings), "%s", cla_error());
    const cla_status status = cla_train(rt, &settings, &options, &result);
    cla_config_fini(&settings);
    cla_runtime_free(&rt);
    return status;
}

/* Removes the hashes from the run: they would refuse every change before a reader sees
 * it. */
static void unseal(void)
{
    cla_config settings = { 0 };
    json_t *files = NULL;
    const char *run = fuzz_path("run");
    FUZZ_CHECK(!cla_folder_read(run, &settings, &files) &&
                   !cla_folder_write(run, &settings, NULL),
               "%s", cla_error());
    json_decref(files);
    cla_config_fini(&settings);
    char *key = memmem(state, state_size, "\"xxh3\":", 7);
    FUZZ_CHECK(key, "a state without a hash");
    memcpy(key + 1, "none", 4);
}

/* Makes a finished run, and reads its last state. */
static void make_run(void)
{
    static const char source[] = "a b\nb a\nb\na\n", target[] = "z y\ny z\ny\nz\n";
    FUZZ_CHECK(!cla_folder_make(fuzz_path("text")), "%s", cla_error());
    for (int i = 0; i < 4; i++) {
        const char *text = i % 2 ? target : source;
        put("text", names[i], text, strlen(text));
    }
    FUZZ_CHECK(!train(false), "%s", cla_error());
    FUZZ_CHECK(
        !cla_file_read(fuzz_path("run/last.ckpt.safetensors"), &state, &state_size),
        "%s", cla_error());
    unseal();
}

/* Writes a state of this header and the numbers of the run's own state. */
static void put_header(const void *header, size_t size)
{
    uint64_t own = 0;
    cla_text text = { 0 };
    const uint64_t bytes = size;
    memcpy(&own, state, sizeof own);
    const size_t numbers = sizeof own + (size_t)own;
    FUZZ_CHECK(!cla_text_append(&text, (const char *)&bytes, sizeof bytes) &&
                   !cla_text_append(&text, header, size) &&
                   !cla_text_append(&text, state + numbers, state_size - numbers),
               "%s", cla_error());
    put("run", "last.ckpt.safetensors", text.data, text.size);
    cla_text_free(&text);
}

/* The input is a state or, when it begins with a brace, the header of one. The run then
 * resumes. */
void fuzz_resume(const uint8_t *data, size_t size)
{
    if (!state) {
        make_run();
    }
    if (size && data[0] == '{') {
        put_header(data, size);
    } else {
        put("run", "last.ckpt.safetensors", data, size);
    }
    const cla_status status = train(true);
    FUZZ_CHECK(status == CLA_OK || status == CLA_E_INPUT || status == CLA_E_NOMEM ||
                   status == CLA_E_NUMERIC,
               "status %d: %s", (int)status, cla_error());
}
