/* npy.c - parses an array in NumPy's file format. */
#include "base/npy.h"

#include <string.h>

enum { MAGIC = 6, HEADER = 4096 };

/* Returns the value after a key of the header, such as "'descr':", or NULL. */
static const char *find(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    return at ? at + strlen(key) + strspn(at + strlen(key), " ") : NULL;
}

static bool read_type(const char *header, cla_npy_type *type)
{
    static const struct {
        const char *name;
        cla_npy_type type;
    } types[] = { { "'<f4'", CLA_NPY_F32 },   { "'<f2'", CLA_NPY_F16 },
                  { "'|i1'", CLA_NPY_BYTES }, { "'|u1'", CLA_NPY_BYTES },
                  { "'|b1'", CLA_NPY_BYTES }, { "'<i1'", CLA_NPY_BYTES } };
    const char *at = find(header, "'descr':");
    for (size_t i = 0; at && i < sizeof types / sizeof *types; i++) {
        if (strncmp(at, types[i].name, 5) == 0) {
            *type = types[i].type;
            return true;
        }
    }
    return false;
}

/* Parses a shape: "(3, 4)", "(3,)" or "()". */
static bool read_shape(const char *header, cla_npy *array)
{
    const char *at = find(header, "'shape':");
    array->size = 1;
    if (!at || *at++ != '(') {
        return false;
    }
    for (at += strspn(at, " "); *at != ')'; at += strspn(at, ", ")) {
        char *end = NULL;
        const long long n = *at >= '0' && *at <= '9' ? strtoll(at, &end, 10) : -1;
        if (n < 0 || n > INT32_MAX || array->rank == 4 ||
            (*end != ',' && *end != ')') || (n && array->size > INT64_MAX / 8 / n)) {
            return false;
        }
        array->shape[array->rank++] = n;
        array->size *= n;
        at = end;
    }
    return true;
}

static const char *parse(cla_npy *array, const char *bytes, size_t size)
{
    static const size_t width[] = { 4, 2, 1 };
    char header[HEADER] = "";
    if (size < MAGIC + 4 || memcmp(bytes, "\x93NUMPY", MAGIC) != 0) {
        return "is no NumPy array";
    }
    const unsigned char *u = (const unsigned char *)bytes + MAGIC + 2;
    const size_t digits = bytes[MAGIC] == 1 ? 2 : 4, start = MAGIC + 2 + digits;
    if (bytes[MAGIC] < 1 || bytes[MAGIC] > 3 || size < start) {
        return "is of an unknown version";
    }
    const size_t length = u[0] | (size_t)u[1] << 8 |
                          (digits == 4 ? (size_t)u[2] << 16 | (size_t)u[3] << 24 : 0);
    if (length >= sizeof header || length > size - start) {
        return "has a header beyond its end";
    }
    memcpy(header, bytes + start, length);
    const char *order = find(header, "'fortran_order':");
    if (!read_type(header, &array->type)) {
        return "has another type than float32, float16 or bytes";
    }
    if (!order || strncmp(order, "False", 5) != 0) {
        return "is not in row-major order";
    }
    array->data = bytes + start + length;
    return read_shape(header, array) &&
                   (uint64_t)array->size * width[array->type] == size - start - length
               ? NULL
               : "has a shape that is not that of its numbers";
}

cla_status cla_npy_parse(cla_npy *array, const char *path, const char *name,
                         const char *bytes, size_t size)
{
    *array = (cla_npy){ 0 };
    const char *wrong = parse(array, bytes, size);
    return wrong ? cla_fail(CLA_E_INPUT, "%s: array '%.80s' %s", path, name, wrong)
                 : CLA_OK;
}
