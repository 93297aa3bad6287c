/* lm.c - language models of transformers, imported: the same logits and the same
 * pieces; exported and imported again, the same bits. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json.h"
#include "exchange/export.h"
#include "exchange/import.h"
#include "support/support.h"
#include "tasks/language/language.h"

enum { MOST = 256 };
static const double BAR = 1e-4; // of logits

typedef struct fixture {
    const char *family;
    char folder[32];
    cla_text model; // folder/m
    cla_runtime *rt;
    cla_task *task;
    language *t;
} fixture;

static void path_of(const fixture *f, const char *name, cla_text *path)
{
    TEST_OK(
        cla_text_add(path, "%s/%s/%s", getenv("CLATTN_TEST_DATA"), f->family, name));
}

static void begin(fixture *f, const char *family)
{
    *f = (fixture){ .family = family, .folder = "/tmp/clattn-test-XXXXXX" };
    cr_assert_not_null(mkdtemp(f->folder));
    TEST_OK(cla_text_add(&f->model, "%s/m", f->folder));
}

/* Imports a folder and loads the model. */
static void import(fixture *f, const char *from)
{
    int64_t numbers = 0;
    TEST_OK(cla_import(from, f->model.data, 5, NULL, NULL, &numbers));
    TEST_OK(cla_runtime_new(&f->rt, NULL));
    TEST_OK(cla_task_load(&f->task, f->rt, f->model.data, NULL));
    f->t = (language *)f->task;
    cr_assert_eq(f->t->model.config.pieces, f->t->config.pieces);
    cr_assert_eq(numbers, f->task->params.size);
}

static void make(fixture *f, const char *family)
{
    cla_text from = { 0 };
    begin(f, family);
    TEST_OK(cla_text_add(&from, "%s/%s", getenv("CLATTN_TEST_DATA"), family));
    import(f, from.data);
    cla_text_free(&from);
}

static void unmake(fixture *f)
{
    cla_task_close(&f->task);
    cla_runtime_free(&f->rt);
    TEST_OK(cla_folder_remove(f->folder));
    cla_text_free(&f->model);
}

/* Reads a file of the family as JSON. */
static json_t *json_of(const fixture *f, const char *name)
{
    cla_text path = { 0 };
    json_t *all = NULL;
    path_of(f, name, &path);
    TEST_OK(cla_json_file(&all, path.data, CLA_SOURCE_FILE, 0));
    cla_text_free(&path);
    return all;
}

/* Copies the pieces of the i-th text. */
static int64_t ids_of(const json_t *texts, size_t i, int32_t *id)
{
    const json_t *ids = json_object_get(json_array_get(texts, i), "ids");
    const size_t n = json_array_size(ids);
    cr_assert(n > 0 && n < MOST);
    for (size_t k = 0; k < n; k++) {
        id[k] = (int32_t)json_integer_value(json_array_get(ids, k));
    }
    return (int64_t)n;
}

/* ---- logits ---------------------------------------------------------------------- */

static void check_logits(const fixture *f, const char *in, const char *name)
{
    int32_t id[MOST], position[MOST];
    cla_text path = { 0 };
    cla_st_file file;
    cla_tape *tape = test_tape(f->rt, false);
    cla_tensor *logits = NULL;
    json_t *texts = json_of(f, "texts.json");
    const int n = (int)ids_of(texts, 0, id);
    for (int i = 0; i < n; i++) {
        position[i] = i;
    }
    cla_ragged *rows = test_ragged(f->rt, 1, (int[]){ n }, NULL);
    TEST_OK(cla_lm_logits(&f->t->model, tape, &logits,
                          &(lm_tokens){ n, id, position, rows, 0 }));
    path_of(f, in, &path);
    TEST_OK(cla_st_open(&file, path.data));
    const cla_st_tensor *want = cla_st_find(&file, name);
    const int64_t size = (int64_t)n * f->t->config.pieces;
    cr_assert_eq(want->size, size);
    double *wanted = calloc((size_t)size, sizeof *wanted);
    for (int64_t i = 0; i < size; i++) {
        wanted[i] = ((const float *)want->data)[i];
    }
    check_tensor("logits", logits, wanted, size, BAR);
    free(wanted);
    cla_st_close(&file);
    cla_text_free(&path);
    json_decref(texts);
    cla_ragged_free(&rows);
    cla_tape_free(&tape);
}

/* ---- pieces ---------------------------------------------------------------------- */

static int32_t likeliest(cla_tensor *logits, int pieces)
{
    float *number = calloc((size_t)pieces, sizeof *number);
    int32_t best = 0;
    TEST_OK(cla_tensor_download(logits, number));
    for (int32_t i = 1; i < pieces; i++) {
        best = number[i] > number[best] ? i : best;
    }
    free(number);
    return best;
}

/* Continues a text greedily and checks each piece. */
static void check_greedy(const fixture *f, int32_t *id, int64_t n, const json_t *want)
{
    cla_tape *tape[2] = { test_tape(f->rt, false), test_tape(f->rt, false) };
    lm_past past = { 0 };
    for (size_t i = 0; i < json_array_size(want); i++) {
        cla_tensor *logits = NULL;
        cla_tape_reset(tape[i % 2]);
        TEST_OK(cla_lm_next(&f->t->model, tape[i % 2], &logits, &past, id, n));
        const json_int_t said = json_integer_value(json_array_get(want, i));
        *id = likeliest(logits, f->t->config.pieces);
        cr_assert_eq(*id, said, "%s: piece %zu is %d, not %d", f->family, i, (int)*id,
                     (int)said);
        n = 1;
    }
    cla_tape_free(&tape[0]);
    cla_tape_free(&tape[1]);
}

static void check_pieces(const fixture *f)
{
    int32_t id[MOST];
    json_t *texts = json_of(f, "texts.json"), *greedy = json_of(f, "greedy.json");
    cr_assert_eq(json_array_size(greedy), 4);
    for (size_t i = 0; i < json_array_size(greedy); i++) {
        const int64_t n = ids_of(texts, i, id);
        check_greedy(f, id, n, json_array_get(greedy, i));
    }
    json_decref(texts);
    json_decref(greedy);
}

Test(lm_exchange, gpt2_computes_as_in_transformers)
{
    fixture f;
    make(&f, "gpt2");
    cr_assert_eq(f.t->end, f.t->start);
    check_logits(&f, "logits.safetensors", "logits");
    check_pieces(&f);
    unmake(&f);
}

/* Two heads of keys for six of queries, bfloat16 in several files, spare rows. */
Test(lm_exchange, llama_computes_as_in_transformers)
{
    fixture f;
    make(&f, "llama");
    cr_assert_eq(f.t->config.coder.kv_heads, 2);
    cr_assert_eq(f.t->start, 1);
    cr_assert_eq(f.t->end, 2);
    check_logits(&f, "logits.safetensors", "logits");
    check_pieces(&f);
    unmake(&f);
}

/* ---- round trips ----------------------------------------------------------------- */

static void same_file(const char *one, const char *other, const char *name)
{
    cla_text path[2] = { { 0 } };
    char *data = NULL;
    size_t size = 0;
    bool same = false;
    TEST_OK(cla_text_add(&path[0], "%s/%s", one, name));
    TEST_OK(cla_text_add(&path[1], "%s/%s", other, name));
    TEST_OK(cla_file_read(path[0].data, &data, &size));
    TEST_OK(cla_file_compare(path[1].data, data, size, &same));
    cr_assert(same, "%s and %s differ", path[0].data, path[1].data);
    free(data);
    cla_text_free(&path[0]);
    cla_text_free(&path[1]);
}

/* Exports the model and imports it again. */
static void check_back(const fixture *f)
{
    cla_text hf = { 0 }, again = { 0 };
    int64_t numbers = 0;
    const cla_export_options o = { .format = CLA_EXPORT_HUGGINGFACE };
    TEST_OK(cla_text_add(&hf, "%s/hf", f->folder));
    TEST_OK(cla_text_add(&again, "%s/again", f->folder));
    TEST_OK(cla_export(f->model.data, &o, hf.data, &numbers));
    TEST_OK(cla_import(hf.data, again.data, 5, NULL, NULL, &numbers));
    same_file(f->model.data, again.data, "best.ckpt.safetensors");
    same_file(f->model.data, again.data, "tokenizer.json");
    same_file(f->model.data, again.data, "config.json");
    cla_text_free(&hf);
    cla_text_free(&again);
}

/* ---- changed folders ------------------------------------------------------------- */

/* Copies a file of the family to folder/changed. */
static void copy_file(const fixture *f, const char *name)
{
    cla_text path = { 0 }, to = { 0 };
    char *data = NULL;
    size_t size = 0;
    path_of(f, name, &path);
    TEST_OK(cla_text_add(&to, "%s/changed/%s", f->folder, name));
    TEST_OK(cla_file_read(path.data, &data, &size));
    TEST_OK(cla_file_write(to.data, data, size));
    free(data);
    cla_text_free(&path);
    cla_text_free(&to);
}

/* Copies the Llama with another tokenizer or other keys in config.json (consumed), and
 * imports it. */
static void make_changed(fixture *f, const char *tokenizer, json_t *keys)
{
    static const char *const files[] = { "model-00001-of-00003.safetensors",
                                         "model-00002-of-00003.safetensors",
                                         "model-00003-of-00003.safetensors",
                                         "model.safetensors.index.json" };
    cla_text folder = { 0 }, path = { 0 };
    begin(f, "llama");
    TEST_OK(cla_text_add(&folder, "%s/changed", f->folder));
    cr_assert_eq(mkdir(folder.data, 0700), 0);
    for (int i = 0; i < 4; i++) {
        copy_file(f, files[i]);
    }
    copy_file(f, tokenizer);
    json_t *config = json_of(f, "config.json");
    cr_assert_eq(json_object_update(config, keys), 0);
    TEST_OK(cla_text_add(&path, "%s/config.json", folder.data));
    cr_assert_eq(json_dump_file(config, path.data, 0), 0);
    json_decref(config);
    json_decref(keys);
    import(f, folder.data);
    cla_text_free(&folder);
    cla_text_free(&path);
}

static void check_scaling(const char *kind, bool old)
{
    fixture f = { .family = "llama" };
    int32_t id[MOST];
    json_t *scaled = json_of(&f, "scaled.json"), *texts = json_of(&f, "texts.json");
    const json_t *made = json_object_get(scaled, kind);
    json_t *rope = json_object_get(made, "rope");
    make_changed(&f, "tokenizer.json",
                 old ? json_pack("{s:O, s:O, s:{}}", "rope_scaling", rope, "rope_theta",
                                 json_object_get(rope, "rope_theta"), "rope_parameters")
                     : json_pack("{s:O}", "rope_parameters", rope));
    check_logits(&f, "scaled.safetensors", kind);
    const int64_t n = ids_of(texts, 0, id);
    check_greedy(&f, id, n, json_object_get(made, "greedy"));
    cr_assert_eq(json_array_size(json_object_get(made, "greedy")), 100);
    check_back(&f);
    json_decref(scaled);
    json_decref(texts);
    unmake(&f);
}

/* Where the keys of a file are, old or new, does not matter. */
Test(lm_exchange, scaled_rotary_positions_compute_as_in_transformers)
{
    static const char *const kinds[] = { "linear", "llama3", "yarn" };
    for (int i = 0; i < 3; i++) {
        check_scaling(kinds[i], false);
        check_scaling(kinds[i], true);
    }
}

/* The pieces of a SentencePiece model, without a tokenizer.json. */
Test(lm_exchange, a_sentencepiece_model_is_a_tokenizer)
{
    fixture f;
    size_t i = 0;
    json_t *one = NULL;
    cla_sentencepiece *none = NULL;
    if (cla_sentencepiece_new(&none, "none", "", 0) == CLA_E_USAGE) {
        return; // built without it
    }
    make_changed(&f, "tokenizer.model", json_object());
    json_t *all = json_of(&f, "pieces.json");
    json_array_foreach(all, i, one)
    {
        const char *text = json_string_value(json_object_get(one, "text"));
        cla_ids ids = { 0 };
        int32_t want[MOST];
        const int64_t n = ids_of(all, i, want);
        TEST_OK(cla_language_encode(f.t, text, strlen(text), &ids));
        cr_assert_eq(ids.count + 1, (size_t)n, "'%s'", text);
        cr_assert_eq(want[0], f.t->start);
        for (size_t k = 0; k < ids.count; k++) {
            cr_assert_eq(ids.id[k], want[k + 1], "'%s': piece %zu", text, k);
        }
        cla_ids_free(&ids);
    }
    cr_assert_eq(i, 9);
    check_back(&f);
    json_decref(all);
    unmake(&f);
}

/* Any of several pieces ends a text; the first ends documents. */
Test(lm_exchange, several_pieces_end_a_text)
{
    fixture f;
    make_changed(&f, "tokenizer.json",
                 json_pack("{s:[i,i,i]}", "eos_token_id", 2, 300, 310));
    cr_assert_eq(f.t->end, 2);
    cr_assert_eq(f.t->stops, 2);
    for (int32_t id = 0; id < f.t->config.pieces; id++) {
        cr_assert_eq(cla_language_stops(f.t, id), id == 2 || id == 300 || id == 310);
    }
    check_back(&f);
    unmake(&f);
}

Test(lm_exchange, gpt2_comes_back)
{
    fixture f;
    make(&f, "gpt2");
    check_back(&f);
    unmake(&f);
}

Test(lm_exchange, llama_comes_back)
{
    fixture f;
    make(&f, "llama");
    check_back(&f);
    unmake(&f);
}
