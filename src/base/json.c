/* json.c - parses JSON, telling lack of memory from malformed text; writes it; copies
 * objects. */
#include "base/json.h"

#include <stdio.h>
#include <string.h>

#include "base/locale.h"
#include "base/utf8.h"

static json_t *parse(const char *text, size_t size, size_t flags, json_error_t *error)
{
    void *before = cla_locale_enter();
    json_t *root = json_loadb(text, size, flags, error);
    cla_locale_leave(before);
    return root;
}

/* Returns whether Jansson can allocate about as much memory as a parsed text takes. */
static bool has_room(size_t size)
{
    enum { TIMES = 16, LEAST = 1 << 16 };
    json_malloc_t take = NULL;
    json_free_t give = NULL;
    json_get_alloc_funcs(&take, &give);
    void *room = take(TIMES * size + LEAST);
    give(room);
    return room != NULL;
}

/* Jansson reports a failed allocation inside a string as "invalid token". Therefore a
 * text that fails is parsed again, and counts as malformed only when there is memory
 * for it. */
cla_status cla_json_parse(json_t **root, const char *text, size_t size, size_t flags,
                          json_error_t *error)
{
    *root = parse(text, size, flags, error);
    if (!*root) *root = parse(text, size, flags, error);
    if (*root) return CLA_OK;
    const bool memory =
        json_error_code(error) != json_error_out_of_memory && has_room(size);
    return memory ? CLA_E_INPUT : cla_fail(CLA_E_NOMEM, "JSON: out of memory");
}

/* Writes the shortest decimal that is read back as the same number, in the notation of
 * "%.17g", with a fraction or an exponent. It takes no more room than that. */
static void write_real(char *out, size_t size, double value)
{
    char digits[32];
    int count = 1;
    do {
        snprintf(digits, sizeof digits, "%.*e", count - 1, value);
    } while (strtod(digits, NULL) != value && count++ < CLA_JSON_EXACT);
    const char *e = strchr(digits, 'e');
    const int exponent = (int)strtol(e + 1, NULL, 10);
    if (exponent < -4 || exponent >= CLA_JSON_EXACT) {
        snprintf(out, size, "%.*se%d", (int)(e - digits), digits, exponent);
    } else if (count - 1 > exponent) {
        snprintf(out, size, "%.*f", count - 1 - exponent, value);
    } else {
        snprintf(out, size, "%.0f.0", value);
    }
}

/* Returns the place behind the string that begins at `at` with its quotation mark. */
static const char *behind_string(const char *at)
{
    for (at++; *at != '"'; at++) {
        at += *at == '\\';
    }
    return at + 1;
}

/* Shortens the reals of a text in its place. */
static void shorten_reals(char *text)
{
    char *to = text;
    for (const char *at = text; *at;) {
        const char *next = *at == '"' ? behind_string(at) : at + 1;
        char real[32] = "";
        if (*at == '-' || (*at >= '0' && *at <= '9')) {
            next = at + strspn(at, "+-.0123456789eE");
            const bool is_real = strcspn(at, ".eE") < (size_t)(next - at);
            if (is_real) write_real(real, sizeof real, strtod(at, NULL));
        }
        const size_t size = *real ? strlen(real) : (size_t)(next - at);
        memmove(to, *real ? real : at, size);
        to += size;
        at = next;
    }
    *to = '\0';
}

char *cla_json_write(const json_t *value, size_t flags, int digits)
{
    void *before = cla_locale_enter();
    char *text = json_dumps(value, flags | JSON_REAL_PRECISION((size_t)digits));
    if (text && digits == CLA_JSON_EXACT) {
        shorten_reals(text);
    }
    cla_locale_leave(before);
    return text;
}

/* Positions of Jansson may be 0, for a text that ends at once. */
static size_t from_one(int position)
{
    return position > 0 ? (size_t)position : 1;
}

cla_status cla_json_text(json_t **root, const char *path, size_t line, const char *text,
                         size_t size, size_t flags)
{
    const size_t mark = cla_mark_size(text, size);
    json_error_t error = { 0 };
    const cla_status status =
        cla_json_parse(root, text + mark, size - mark, flags, &error);
    if (status == CLA_E_INPUT) {
        const size_t good = cla_utf8_check(text, size);
        if (good < size) {
            return cla_text_refuse(path, line, text + mark, good - mark);
        }
        return cla_fail(status, "%s:%zu:%zu: %s", path, line - 1 + from_one(error.line),
                        from_one(error.column), error.text);
    }
    return status ? cla_fail_within(status, "%s", path) : CLA_OK;
}

cla_status cla_json_file(json_t **root, const char *path, cla_source source,
                         size_t flags)
{
    cla_scan file = { 0 };
    *root = NULL;
    CLA_TRY(cla_scan_file(&file, path, source));
    const cla_status status =
        cla_json_text(root, file.path, 1, file.at, (size_t)(file.end - file.at), flags);
    free(file.data);
    return status;
}

bool cla_json_complete(json_t *object, json_t *more)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(more, key, value)
    {
        if (!json_object_get(object, key) && json_object_set(object, key, value)) {
            return false;
        }
    }
    return true;
}

json_t *cla_json_copy(json_t *from)
{
    json_t *copy = json_object();
    if (copy && !cla_json_complete(copy, from)) {
        json_decref(copy);
        return NULL;
    }
    return copy;
}
