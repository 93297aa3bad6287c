/* exchange.c - fuzz targets: weights of CTranslate2 and packages of Argos. */
#include <math.h>
#include <string.h>

#include "exchange/import_ctranslate2.h"
#include "fuzz.h"

/* Reads every number: a finite one, or the reader says so. */
static void read_variable(const ct2_read *r, ct2_variable *v)
{
    float *numbers = NULL;
    FUZZ_CHECK(!cla_alloc(&numbers, (size_t)v->size + 1, sizeof *numbers), "%s",
               cla_error());
    const cla_status status = cla_ct2_floats(r, v, numbers);
    const bool whole = status != CLA_E_NUMERIC && fuzz_ok(status);
    for (int64_t i = 0; i < v->size && whole; i++) {
        FUZZ_CHECK(isfinite(numbers[i]), "a number is not finite");
    }
    free(numbers);
}

/* Makes a network of the variables, if they are those of one. */
static void read_network(const ct2_read *r)
{
    marian m = { .dir = "" };
    ct2_folder f = { .m = &m, .file = *r };
    int64_t rows = 0, width = 0;
    cla_status status = cla_ct2_read_sizes(&f);
    status = status ? status : cla_ct2_shape(&f, CT2_TARGET, &rows, &width);
    m.source_pieces = m.target_pieces = (int)rows;
    if (fuzz_ok(status)) {
        status = cla_ct2_read_weights(&f);
        const bool whole = status != CLA_E_NUMERIC && fuzz_ok(status);
        FUZZ_CHECK(!whole || m.made.count, "a network has no tensors");
    }
    cla_made_free(&m.made);
}

static void read_model(const fuzz_part *part)
{
    ct2_read r;
    char *bytes = NULL;
    FUZZ_CHECK(!cla_alloc(&bytes, part->size + 1, 1), "%s", cla_error());
    if (part->size) {
        memcpy(bytes, part->data, part->size);
    }
    if (fuzz_ok(cla_ct2_open(&r, "model.bin", bytes, part->size))) {
        for (size_t i = 0; i < r.count; i++) {
            FUZZ_CHECK(cla_ct2_find(&r, r.variables[i].name) == &r.variables[i],
                       "variable %zu is lost", i);
            read_variable(&r, &r.variables[i]);
        }
        read_network(&r);
    }
    cla_ct2_close(&r);
}

static void read_tokens(const fuzz_part *part, const char *path)
{
    json_t *tokens = NULL;
    char *text = fuzz_text(part);
    if (text && fuzz_ok(cla_ct2_tokens(&tokens, path, text, part->size))) {
        const char *token = NULL;
        json_t *id = NULL;
        json_object_foreach(tokens, token, id)
        {
            const json_int_t at = json_integer_value(id);
            FUZZ_CHECK(at >= 0 && (size_t)at < json_object_size(tokens),
                       "a token has the number %lld", (long long)at);
        }
    }
    json_decref(tokens);
    free(text);
}

/* The first byte: 0 for weights, 1 for a vocabulary in JSON, 2 for one of lines. */
void fuzz_ctranslate2(const uint8_t *data, size_t size)
{
    if (!size) {
        return;
    }
    const fuzz_part rest = { (const char *)data + 1, size - 1 };
    switch (*data % 3) {
    case 0:
        read_model(&rest);
        break;
    case 1:
        read_tokens(&rest, "shared_vocabulary.json");
        break;
    default:
        read_tokens(&rest, "shared_vocabulary.txt");
        break;
    }
}

/* An archive of a package; reads each of its files. */
void fuzz_package(const uint8_t *data, size_t size)
{
    import_package p;
    cla_text path = { 0 };
    const char *file = fuzz_file("package.argosmodel", data, size);
    const cla_status status = cla_package_open(&p, file);
    if (status != CLA_E_USAGE && fuzz_ok(status)) { // built without zlib
        const size_t top = strlen(p.top);
        for (size_t i = 0; i < p.zip.count; i++) {
            const char *name = p.zip.entries[i].name;
            char *bytes = NULL;
            size_t read = 0;
            const bool inside = strncmp(name, p.top, top) == 0;
            const cla_status one =
                inside ? cla_package_read(&p, name + top, &path, &bytes, &read)
                       : CLA_OK;
            if (fuzz_ok(one) && inside) {
                FUZZ_CHECK(read == p.zip.entries[i].size, "%zu bytes", read);
            }
            free(bytes);
        }
    }
    cla_text_free(&path);
    cla_package_close(&p);
}
