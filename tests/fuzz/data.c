/* data.c - fuzz targets: tensors, settings, pieces and vectors. */
#include <math.h>
#include <string.h>

#include "base/config.h"
#include "base/safetensors.h"
#include "fuzz.h"
#include "text/bpe.h"
#include "text/lines.h"
#include "text/sentencepiece.h"
#include "text/vectors.h"

/* ---- tensors --------------------------------------------------------------------- */

/* Reads every number, so that sanitizers see one outside the file. */
static void read_numbers(const cla_st_tensor *t)
{
    static const size_t width[CLA_ST_DTYPES] = { [CLA_ST_F32] = 4,
                                                 [CLA_ST_I32] = 4,
                                                 [CLA_ST_F16] = 2,
                                                 [CLA_ST_I8] = 1,
                                                 [CLA_ST_BF16] = 2 };
    unsigned char sum = 0;
    float *numbers = NULL;
    const unsigned char *bytes = t->data;
    for (size_t i = 0; i < (size_t)t->size * width[t->dtype]; i++) {
        sum ^= bytes[i];
    }
    *(volatile unsigned char *)&sum = sum;
    if (t->dtype != CLA_ST_I32) {
        FUZZ_CHECK(!cla_alloc(&numbers, (size_t)t->size + 1, sizeof *numbers), "%s",
                   cla_error());
        cla_st_floats(t, numbers);
        free(numbers);
    }
}

/* Saves the tensors and checks that they are read again. */
static void save_again(const cla_st_file *file)
{
    cla_st_file again;
    const char *path = fuzz_path("again.safetensors");
    const cla_status status =
        cla_st_save(path, file->tensors, file->count, file->metadata);
    if (!fuzz_ok(status)) {
        return;
    }
    FUZZ_CHECK(!cla_st_open(&again, path), "a file as saved: %s", cla_error());
    FUZZ_CHECK(again.count == file->count, "%zu tensors became %zu", file->count,
               again.count);
    for (size_t i = 0; i < file->count; i++) {
        const cla_st_tensor *t = &file->tensors[i], *u = cla_st_find(&again, t->name);
        FUZZ_CHECK(u && u->size == t->size && u->rank == t->rank &&
                       u->dtype == t->dtype,
                   "tensor '%s' changed", t->name);
    }
    cla_st_close(&again);
}

void fuzz_safetensors(const uint8_t *data, size_t size)
{
    cla_st_file file;
    if (fuzz_ok(cla_st_open(&file, fuzz_file("x.safetensors", data, size)))) {
        for (size_t i = 0; i < file.count; i++) {
            read_numbers(&file.tensors[i]);
            FUZZ_CHECK(cla_st_find(&file, file.tensors[i].name) != NULL,
                       "tensor '%s' is lost", file.tensors[i].name);
        }
        save_again(&file);
    }
    cla_st_close(&file);
}

/* ---- settings -------------------------------------------------------------------- */

static cla_status ask(cla_config *config)
{
    static const char *const names[] = { "tagger", "reader", NULL };
    static const char *const ignored[] = { "note", NULL };
    int model = 0, seed = 42;
    double rate = 0.1;
    bool split = true;
    const char *data = NULL;
    CLA_TRY(cla_config_choice(config, "model", names, &model));
    CLA_TRY(cla_config_int(config, "seed", &seed, 0, INT32_MAX));
    CLA_TRY(cla_config_double(config, "optimizer.rate", &rate, 0, 10));
    CLA_TRY(cla_config_bool(config, "split", &split));
    CLA_TRY(cla_config_text(config, "data", &data));
    CLA_TRY(cla_config_know(config, ignored));
    FUZZ_CHECK(seed >= 0 && rate >= 0 && rate <= 10 && data,
               "a value out of its range");
    return cla_config_check(config);
}

void fuzz_config(const uint8_t *data, size_t size)
{
    fuzz_part part[2];
    cla_config config = { 0 }, again = { 0 };
    fuzz_cut(data, size, part, 2);
    cla_status status =
        cla_config_read(&config, fuzz_file("config.json", part[0].data, part[0].size));
    char *set = fuzz_text(&part[1]);
    if (fuzz_ok(status) && set && *set) {
        status = cla_config_set(&config, set);
        // usage: an error of the command line
        status = status == CLA_E_USAGE ? CLA_OK : status;
        fuzz_ok(status);
    }
    if (!status && fuzz_ok(ask(&config))) {
        const char *path = fuzz_path("saved.json");
        FUZZ_CHECK(!cla_config_save(&config, path), "%s", cla_error());
        FUZZ_CHECK(!cla_config_read(&again, path), "settings as saved: %s",
                   cla_error());
        FUZZ_CHECK(json_equal(config.values, again.values), "settings changed");
    }
    free(set);
    cla_config_fini(&config);
    cla_config_fini(&again);
}

/* ---- pieces ---------------------------------------------------------------------- */

/* Checks that codes learnt from lines can be read. */
static void learn(const fuzz_part *part)
{
    cla_lines lines = { 0 };
    cla_vocab words = { 0 };
    cla_text codes = { 0 };
    cla_bpe bpe = { .count = 0 };
    const char *path = fuzz_file("lines", part->data, part->size);
    if (fuzz_ok(cla_lines_read(&lines, path))) {
        for (size_t i = 0; i < lines.count; i++) {
            FUZZ_CHECK(!cla_bpe_count(&words, lines.line[i].text, lines.line[i].size),
                       "%s", cla_error());
        }
        FUZZ_CHECK(!cla_bpe_learn(&words, 32, 1, &codes), "%s", cla_error());
        path = fuzz_file("learnt", codes.data ? codes.data : "", codes.size);
        FUZZ_CHECK(!cla_bpe_load(&bpe, path), "codes as learnt: %s", cla_error());
    }
    cla_bpe_free(&bpe);
    cla_text_free(&codes);
    cla_vocab_free(&words);
    cla_lines_free(&lines);
}

/* The input has codes, then lines that they are applied to. */
void fuzz_bpe(const uint8_t *data, size_t size)
{
    fuzz_part part[2];
    cla_bpe bpe = { .count = 0 };
    cla_text pieces = { 0 }, back = { 0 };
    fuzz_cut(data, size, part, 2);
    char *text = fuzz_text(&part[1]);
    if (fuzz_ok(cla_bpe_load(&bpe, fuzz_file("codes", part[0].data, part[0].size))) &&
        text) {
        FUZZ_CHECK(!cla_bpe_apply(&bpe, text, strlen(text), &pieces), "%s",
                   cla_error());
        FUZZ_CHECK(!cla_bpe_undo(pieces.data ? pieces.data : "", pieces.size, &back),
                   "%s", cla_error());
    }
    learn(&part[1]);
    free(text);
    cla_text_free(&pieces);
    cla_text_free(&back);
    cla_bpe_free(&bpe);
}

/* The input has a line, then a model. */
void fuzz_sentencepiece(const uint8_t *data, size_t size)
{
    fuzz_part part[2];
    cla_sentencepiece *model = NULL;
    cla_text pieces = { 0 }, back = { 0 }, all = { 0 };
    fuzz_cut(data, size, part, 2);
    char *text = fuzz_text(&part[0]);
    const cla_status status =
        cla_sentencepiece_new(&model, "model", part[1].data, part[1].size);
    // usage: built without SentencePiece
    if (status != CLA_E_USAGE && fuzz_ok(status) && text) {
        if (fuzz_ok(cla_sentencepiece_apply(model, text, strlen(text), &pieces)) &&
            pieces.data) {
            fuzz_ok(cla_sentencepiece_undo(model, pieces.data, pieces.size, &back));
        }
        fuzz_ok(cla_sentencepiece_all(model, &all));
    }
    free(text);
    cla_text_free(&pieces);
    cla_text_free(&back);
    cla_text_free(&all);
    cla_sentencepiece_free(&model);
}

/* ---- vectors of words ------------------------------------------------------------ */

static void use_vectors(const cla_vectors *v)
{
    cla_vectors again = { .dim = 0 };
    cla_neighbour near[4];
    size_t found = 0;
    const int except[] = { 0 };
    const char *path = fuzz_path("again.vec");
    FUZZ_CHECK(v->dim > 0 && v->words.count > 0, "vectors without a number");
    FUZZ_CHECK(!cla_vectors_nearest(v, v->value, except, 1, 4, near, &found), "%s",
               cla_error());
    for (size_t i = 0; i < found; i++) {
        FUZZ_CHECK(near[i].word > 0 && (size_t)near[i].word < v->words.count,
                   "neighbour %d of %zu words", near[i].word, v->words.count);
    }
    FUZZ_CHECK(!cla_vectors_write(v, path), "%s", cla_error());
    FUZZ_CHECK(!cla_vectors_read(&again, path, NULL, v->dim), "vectors as written: %s",
               cla_error());
    FUZZ_CHECK(again.words.count == v->words.count, "%zu words became %zu",
               v->words.count, again.words.count);
    FUZZ_CHECK(memcmp(again.value, v->value,
                      v->words.count * (size_t)v->dim * sizeof *v->value) == 0,
               "numbers changed");
    cla_vectors_free(&again);
}

/* The first byte has the required dimension, 0 to 7 (0: any), and whether to read only
 * some words. */
void fuzz_vectors(const uint8_t *data, size_t size)
{
    const int how = size ? data[0] : 0;
    cla_vectors v = { .dim = 0 };
    cla_vocab only = { 0 };
    FUZZ_CHECK(!cla_vocab_add(&only, "a", 1, NULL), "%s", cla_error());
    const char *path = fuzz_file("words.vec", data + (size > 0), size - (size > 0));
    if (fuzz_ok(cla_vectors_read(&v, path, how & 8 ? &only : NULL, how & 7)) &&
        v.words.count) {
        use_vectors(&v);
    }
    cla_vectors_free(&v);
    cla_vocab_free(&only);
}
