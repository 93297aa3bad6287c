/* config_path.c - resolves paths in a config that are relative to its folder. */
#include <string.h>

#include "base/config.h"
#include "base/platform.h"

/* Removes "." and "name/.." parts from a path, ignoring symbolic links. */
static void shorten(char *path)
{
    char *kept[256];
    size_t count = 0;
    char *to = path + (*path == '/');
    for (char *part = to; *part;) {
        size_t size = strcspn(part, "/");
        const bool end = !part[size], up = size == 2 && !memcmp(part, "..", 2);
        const bool skip = size == 0 || (size == 1 && *part == '.');
        char *next = part + size + !end;
        if (up && count && strncmp(kept[count - 1], "../", 3) != 0) {
            to = kept[--count];
        } else if (!skip && count < sizeof kept / sizeof *kept) {
            kept[count++] = to;
            memmove(to, part, size);
            to[size] = '/';
            to += size + 1;
        }
        part = next;
    }
    to -= count > 0; // the last slash
    *to = '\0';
}

static bool same_file(const char *a, const char *b)
{
    char *real_a = cla_os_real_path(a), *real_b = cla_os_real_path(b);
    const bool same = real_a && real_b && strcmp(real_a, real_b) == 0;
    free(real_a);
    free(real_b);
    return same;
}

/* Gives the path of value beside the config file, shortened where the short form names
 * the same file. Gives no text when value is empty, absolute or names no file there, or
 * the config file has no folder in its path. */
static cla_status beside(const cla_config *config, const char *value, cla_text *path)
{
    const char *slash = cla_os_last_slash(config->path);
    if (!slash || !*value || cla_os_is_absolute(value)) {
        return CLA_OK;
    }
    CLA_TRY(cla_text_add(path, "%.*s/%s", (int)(slash - config->path), config->path,
                         value));
    if (!cla_os_may(path->data, CLA_MAY_BE)) {
        cla_text_free(path);
        return CLA_OK;
    }
    char *brief = NULL;
    CLA_TRY(cla_strdup(&brief, path->data));
    shorten(brief);
    if (*brief && same_file(brief, path->data)) {
        memcpy(path->data, brief, strlen(brief) + 1); // no longer than it was
    }
    free(brief);
    return CLA_OK;
}

cla_status cla_config_find_files(cla_config *config, const char *const *keys)
{
    for (; *keys; keys++) {
        const char *value = json_string_value(json_object_get(config->values, *keys));
        cla_text path = { 0 };
        cla_status status = value && !json_object_get(config->assigned, *keys)
                                ? beside(config, value, &path)
                                : CLA_OK;
        if (!status && path.data &&
            json_object_set_new(config->values, *keys, json_string(path.data))) {
            status = cla_fail(CLA_E_NOMEM, "config: out of memory");
        }
        cla_text_free(&path);
        CLA_TRY(status);
    }
    return CLA_OK;
}
