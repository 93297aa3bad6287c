/* safetensors.c - reads a safetensors file and checks every claim of its header. */
#include "base/safetensors.h"

#include <string.h>

#include "base/file.h"
#include "base/half.h"
#include "base/json.h"
#include "base/platform.h"
#include "base/seal.h"

enum { PREFIX_BYTES = 8, MAX_RANK = 8, ALIGNMENT = 8 };

/* A real header is far smaller. The limit keeps a false size from costing memory. */
static const uint64_t max_header_bytes = 100000000;

/* A file being read. */
typedef struct reader {
    const char *path;
    cla_st_file *file;
    const char *data; // after the header
    uint64_t data_bytes;
    cla_seal_watch *watch;
    size_t scanned;    // bytes searched for special numbers
    uint32_t specials; // not 0: a 32-bit word may be infinity or NaN
} reader;

/* ---- one tensor -------------------------------------------------------------- */

static cla_status fail_tensor(const reader *r, const char *name, const char *what)
{
    return cla_fail(CLA_E_INPUT, "%s: tensor '%s': %s", r->path, name, what);
}

static cla_status read_dtype(const reader *r, cla_st_tensor *t, const json_t *value)
{
    const char *word = json_string_value(value);
    if (!word) return fail_tensor(r, t->name, "dtype is missing or no string");
    for (int i = CLA_ST_F32; i < CLA_ST_DTYPES; i++) {
        if (strcmp(word, cla_st_dtypes[i].name) == 0) {
            t->dtype = (cla_st_dtype)i;
            return CLA_OK;
        }
    }
    return cla_fail(CLA_E_INPUT,
                    "%s: tensor '%s': dtype %s, but only F32, F16, BF16, I32 and I8 "
                    "are read",
                    r->path, t->name, word);
}

static cla_status read_shape(const reader *r, cla_st_tensor *t, const json_t *value)
{
    if (!json_is_array(value)) return fail_tensor(r, t->name, "shape is no list");
    const size_t rank = json_array_size(value);
    if (rank > MAX_RANK) {
        return cla_fail(CLA_E_INPUT, "%s: tensor '%s': rank %zu, the limit is %d",
                        r->path, t->name, rank, MAX_RANK);
    }
    t->rank = (int)rank;
    t->size = 1;
    for (size_t i = 0; i < rank; i++) {
        const json_t *item = json_array_get(value, i);
        if (!json_is_integer(item) || json_integer_value(item) < 0) {
            return fail_tensor(r, t->name, "a size in the shape is no number >= 0");
        }
        t->shape[i] = json_integer_value(item);
        if (__builtin_mul_overflow(t->size, t->shape[i], &t->size)) {
            return fail_tensor(r, t->name,
                               "the shape has more elements than 64 bits count");
        }
    }
    return CLA_OK;
}

static cla_status read_range(const reader *r, cla_st_tensor *t, const json_t *value)
{
    const json_t *first = json_array_get(value, 0), *last = json_array_get(value, 1);
    if (json_array_size(value) != 2 || !json_is_integer(first) ||
        !json_is_integer(last)) {
        return fail_tensor(r, t->name, "data_offsets are not two numbers");
    }
    const int64_t begin = json_integer_value(first), end = json_integer_value(last);
    if (begin < 0 || end < begin || (uint64_t)end > r->data_bytes) {
        return cla_fail(CLA_E_INPUT,
                        "%s: tensor '%s': data_offsets %lld to %lld do not lie in the "
                        "file's %llu bytes of data",
                        r->path, t->name, (long long)begin, (long long)end,
                        (unsigned long long)r->data_bytes);
    }
    // begin and end fit: compare without overflow
    const int64_t width = cla_st_dtypes[t->dtype].bytes;
    if ((end - begin) % width || (end - begin) / width != t->size) {
        return cla_fail(
            CLA_E_INPUT,
            "%s: tensor '%s': data_offsets hold %lld bytes, the shape needs "
            "%lld elements of %lld",
            r->path, t->name, (long long)(end - begin), (long long)t->size,
            (long long)width);
    }
    if (begin % width) { // after an odd number of halves, for example
        return fail_tensor(r, t->name, "its numbers are not aligned");
    }
    t->data = r->data + begin;
    return CLA_OK;
}

static cla_status read_tensor(const reader *r, cla_st_tensor *t, const char *name,
                              const json_t *value)
{
    t->name = name;
    if (!json_is_object(value)) return fail_tensor(r, name, "its entry is no object");
    CLA_TRY(read_dtype(r, t, json_object_get(value, "dtype")));
    CLA_TRY(read_shape(r, t, json_object_get(value, "shape")));
    return read_range(r, t, json_object_get(value, "data_offsets"));
}

/* ---- the whole file ---------------------------------------------------------- */

static cla_status read_metadata(const reader *r, json_t *value)
{
    const char *key;
    json_t *text;
    if (!json_is_object(value)) {
        return cla_fail(CLA_E_INPUT, "%s: __metadata__ is no object", r->path);
    }
    json_object_foreach(value, key, text)
    {
        if (!json_is_string(text)) {
            return cla_fail(CLA_E_INPUT, "%s: __metadata__ '%s' is no string", r->path,
                            key);
        }
    }
    r->file->metadata = value;
    return CLA_OK;
}

static const char *end_of(const cla_st_tensor *t)
{
    return (const char *)t->data + t->size * cla_st_dtypes[t->dtype].bytes;
}

static int compare_places(const void *a, const void *b)
{
    const cla_st_tensor *x = a, *y = b;
    if (x->data != y->data) return x->data < y->data ? -1 : 1;
    if (x->size != y->size) return x->size < y->size ? -1 : 1; // empty ones first
    return strcmp(x->name, y->name);
}

/* Checks that the tensors fill the data from first to last byte, without gaps and
 * overlaps. Anything else is damage or hidden content. */
static cla_status check_places(const reader *r)
{
    const cla_st_file *file = r->file;
    const char *at = r->data;
    for (size_t i = 0; i < file->count; i++) {
        const cla_st_tensor *t = &file->tensors[i];
        const char *begin = t->data;
        if (begin != at) {
            return cla_fail(CLA_E_INPUT,
                            "%s: tensor '%s' begins at byte %lld of the data, the one "
                            "before ends at %lld",
                            r->path, t->name, (long long)(begin - r->data),
                            (long long)(at - r->data));
        }
        at = end_of(t);
    }
    if ((uint64_t)(at - r->data) != r->data_bytes) {
        return cla_fail(CLA_E_INPUT, "%s: tensors end at byte %lld, the data at %llu",
                        r->path, (long long)(at - r->data),
                        (unsigned long long)r->data_bytes);
    }
    return CLA_OK;
}

static cla_status read_tensors(const reader *r)
{
    cla_st_file *file = r->file;
    const char *name;
    json_t *value;
    CLA_TRY(cla_alloc(&file->tensors, json_object_size(file->header),
                      sizeof *file->tensors));
    file->finite = !r->specials;
    json_object_foreach(file->header, name, value)
    {
        if (strcmp(name, "__metadata__") == 0) {
            CLA_TRY(read_metadata(r, value));
            continue;
        }
        cla_st_tensor *t = &file->tensors[file->count++];
        CLA_TRY(read_tensor(r, t, name, value));
        file->finite &= cla_st_dtypes[t->dtype].bytes == sizeof(uint32_t);
    }
    qsort(file->tensors, file->count, sizeof *file->tensors, compare_places);
    return check_places(r);
}

static uint64_t load_u64(const char *bytes)
{
    uint64_t value = 0;
    for (int i = PREFIX_BYTES - 1; i >= 0; i--) {
        value = value << 8 | (unsigned char)bytes[i];
    }
    return value;
}

/* Returns 1 when a word has an exponent of all ones (infinity or NaN), else 0. */
static uint32_t find_specials(const uint32_t *words, size_t count)
{
    const uint32_t exponent = 0x7f800000;
    uint32_t found = 0;
    for (size_t i = 0; i < count; i++) {
        found |= (words[i] & exponent) == exponent;
    }
    return found;
}

/* Hashes a file and searches it for special numbers while it is read, from the moment
 * the header is complete. */
static void see_piece(void *to, char *bytes, size_t size)
{
    reader *r = to;
    const uint64_t header = size < PREFIX_BYTES ? 0 : load_u64(bytes);
    if (size < PREFIX_BYTES || header > size - PREFIX_BYTES) {
        return;
    }
    cla_seal_see(r->watch, bytes, size, PREFIX_BYTES + header);
    const size_t word = sizeof(uint32_t);
    const size_t from = r->scanned ? r->scanned : PREFIX_BYTES + header;
    const void *words = bytes + from;
    const bool aligned = from % word == 0; // else unknown
    r->specials |= aligned ? find_specials(words, (size - from) / word) : 1;
    r->scanned = from + (size - from) / word * word;
}

static cla_status check_seal(const reader *r)
{
    const cla_seal seal = cla_seal_end(r->watch);
    r->file->sealed = seal == CLA_SEAL_GOOD;
    return seal != CLA_SEAL_BROKEN
               ? CLA_OK
               : cla_fail(CLA_E_INPUT,
                          "%s: damaged: its bytes do not have the hash that was "
                          "written with them",
                          r->path);
}

static cla_status parse_header(const reader *r, const char *text, size_t size)
{
    json_error_t error = { 0 };
    const cla_status status =
        cla_json_parse(&r->file->header, text, size, JSON_REJECT_DUPLICATES, &error);
    if (status == CLA_E_INPUT) {
        return cla_fail(status, "%s: header, byte %d: %s", r->path, error.position,
                        error.text);
    }
    if (status) return cla_fail_within(status, "%s", r->path);
    return json_is_object(r->file->header)
               ? CLA_OK
               : cla_fail(CLA_E_INPUT, "%s: the header is no JSON object", r->path);
}

static cla_status read_header(reader *r, char *bytes, size_t size)
{
    if (size < PREFIX_BYTES) {
        return cla_fail(CLA_E_INPUT,
                        "%s: %zu bytes are too short for a safetensors file", r->path,
                        size);
    }
    const uint64_t header = load_u64(bytes), rest = size - PREFIX_BYTES;
    if (header > rest || header > max_header_bytes) {
        return cla_fail(CLA_E_INPUT,
                        "%s: header of %llu bytes claimed, %llu follow (limit %llu)",
                        r->path, (unsigned long long)header, (unsigned long long)rest,
                        (unsigned long long)max_header_bytes);
    }
    CLA_TRY(check_seal(r));
    CLA_TRY(parse_header(r, bytes + PREFIX_BYTES, header));
    r->data_bytes = rest - header;
    r->data = bytes + PREFIX_BYTES + header;
    if (header % ALIGNMENT) { // move the data to the aligned start of the buffer
        memmove(bytes, r->data, r->data_bytes);
        r->data = bytes;
    }
    return CLA_OK;
}

static cla_status open_file(cla_st_file *file, const char *path)
{
    cla_seal_watch watch = { 0 };
    reader r = { .path = path, .file = file, .watch = &watch };
    size_t size;
    CLA_TRY(cla_file_watch(path, &file->bytes, &size, see_piece, &r));
    CLA_TRY(read_header(&r, file->bytes, size));
    return read_tensors(&r);
}

cla_status cla_st_open(cla_st_file *file, const char *path)
{
    *file = (cla_st_file){ 0 };
    const cla_status status = open_file(file, path);
    if (status) cla_st_close(file);
    return status;
}

void cla_st_close(cla_st_file *file)
{
    if (!file) return;
    json_decref(file->header);
    free(file->tensors);
    free(file->bytes);
    free(file->unpacked);
    *file = (cla_st_file){ 0 };
}

void cla_st_release(const cla_st_tensor *t)
{
    enum { WORTH = 1 << 18 }; // bytes: small ones are not worth a call
    const size_t bytes = (size_t)(t->size * cla_st_dtypes[t->dtype].bytes);
    if (bytes >= WORTH) {
        cla_os_discard((void *)t->data, bytes);
    }
}

const cla_st_tensor *cla_st_find(const cla_st_file *file, const char *name)
{
    for (size_t i = 0; i < file->count; i++) {
        if (strcmp(file->tensors[i].name, name) == 0) return &file->tensors[i];
    }
    return NULL;
}

static float brain_to_float(uint16_t upper)
{
    const uint32_t bits = (uint32_t)upper << 16;
    float x = 0;
    memcpy(&x, &bits, sizeof x);
    return x;
}

void cla_st_floats(const cla_st_tensor *t, float *out)
{
    const uint16_t *half = t->data;
    const int8_t *byte = t->data;
    if (t->dtype == CLA_ST_F32) {
        memcpy(out, t->data, (size_t)t->size * sizeof *out);
        return;
    }
    for (int64_t i = 0; i < t->size; i++) {
        out[i] = t->dtype == CLA_ST_F16    ? cla_half_to_float(half[i])
                 : t->dtype == CLA_ST_BF16 ? brain_to_float(half[i])
                                           : (float)byte[i];
    }
}

bool cla_st_finite(const cla_st_tensor *t)
{
    uint32_t bad = 0;
    if (t->dtype == CLA_ST_F32) {
        bad = find_specials(t->data, (size_t)t->size);
    } else if (t->dtype == CLA_ST_F16 || t->dtype == CLA_ST_BF16) {
        const uint16_t *bits = t->data;
        const uint16_t exponent = t->dtype == CLA_ST_F16 ? 0x7c00 : 0x7f80;
        for (int64_t i = 0; i < t->size; i++) {
            bad |= (bits[i] & exponent) == exponent;
        }
    }
    return !bad;
}

const char *cla_st_meta(const cla_st_file *file, const char *key)
{
    return json_string_value(json_object_get(file->metadata, key));
}
