/* json.c - parses JSON, telling lack of memory from malformed text; copies objects. */
#include "base/json.h"

#include "base/locale.h"

static json_t *parse(const char *text, size_t size, size_t flags, json_error_t *error)
{
    const locale_t before = cla_locale_enter();
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
