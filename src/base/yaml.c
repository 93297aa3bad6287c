/* yaml.c - reads flat YAML: a mapping of strings to strings or lists of strings. */
#include "base/yaml.h"

#include <string.h>
#include <yaml.h>

typedef struct reader {
    const char *path;
    yaml_parser_t parser;
    yaml_event_t event;
    int depth;
} reader;

enum { DEEPEST = 16 }; // libyaml takes n^2 steps for n levels

static cla_status wrong(const reader *r, size_t line, const char *what)
{
    return cla_fail(CLA_E_INPUT, "%s:%zu: %s", r->path, line + 1, what);
}

static cla_status no_memory(const reader *r)
{
    return cla_fail(CLA_E_NOMEM, "%s: out of memory", r->path);
}

/* Parses the next event, which replaces the current one. */
static cla_status next(reader *r)
{
    yaml_event_delete(&r->event);
    if (!yaml_parser_parse(&r->parser, &r->event)) {
        return r->parser.error == YAML_MEMORY_ERROR
                   ? no_memory(r)
                   : wrong(r, r->parser.problem_mark.line,
                           r->parser.problem ? r->parser.problem : "bad YAML");
    }
    const yaml_event_type_t type = r->event.type;
    r->depth += type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT;
    r->depth -= type == YAML_SEQUENCE_END_EVENT || type == YAML_MAPPING_END_EVENT;
    if (r->depth > DEEPEST) {
        return wrong(r, r->event.start_mark.line, "is nested too deeply");
    }
    return type == YAML_ALIAS_EVENT
               ? wrong(r, r->event.start_mark.line, "aliases are not read")
               : CLA_OK;
}

/* Makes a string; its UTF-8 is valid, since libyaml refuses anything else. */
static json_t *scalar(const reader *r)
{
    return json_stringn((const char *)r->event.data.scalar.value,
                        r->event.data.scalar.length);
}

/* Skips the value that the current event begins. */
static cla_status skip(reader *r)
{
    int depth = 0;
    do {
        const yaml_event_type_t type = r->event.type;
        depth += type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT;
        depth -= type == YAML_SEQUENCE_END_EVENT || type == YAML_MAPPING_END_EVENT;
        CLA_TRY(depth ? next(r) : CLA_OK);
    } while (depth);
    return CLA_OK;
}

static cla_status read_list(reader *r, json_t *list)
{
    CLA_TRY(next(r));
    while (r->event.type != YAML_SEQUENCE_END_EVENT) {
        const bool text = r->event.type == YAML_SCALAR_EVENT;
        if (text && json_array_append_new(list, scalar(r))) {
            return no_memory(r);
        }
        CLA_TRY(text ? CLA_OK : skip(r));
        CLA_TRY(next(r));
    }
    return CLA_OK;
}

static cla_status read_value(reader *r, json_t *root, const char *key, size_t line)
{
    json_t *value = NULL;
    cla_status status = CLA_OK;
    if (json_object_get(root, key)) {
        return wrong(r, line, "duplicate key");
    }
    if (r->event.type == YAML_SCALAR_EVENT) {
        value = scalar(r);
    } else if (r->event.type == YAML_SEQUENCE_START_EVENT) {
        value = json_array();
        status = value ? read_list(r, value) : CLA_OK;
    } else {
        return skip(r);
    }
    if (status) {
        json_decref(value);
        return status;
    }
    return json_object_set_new(root, key, value) ? no_memory(r) : CLA_OK;
}

static cla_status read_pair(reader *r, json_t *root)
{
    char *key = NULL;
    const size_t line = r->event.start_mark.line;
    if (r->event.type != YAML_SCALAR_EVENT ||
        strlen((const char *)r->event.data.scalar.value) !=
            r->event.data.scalar.length) {
        return wrong(r, line, "a key is no text");
    }
    CLA_TRY(cla_strdup(&key, (const char *)r->event.data.scalar.value));
    cla_status status = next(r);
    status = status ? status : read_value(r, root, key, line);
    free(key);
    return status;
}

static cla_status read_mapping(reader *r, json_t *root)
{
    while (r->event.type == YAML_NO_EVENT || r->event.type == YAML_STREAM_START_EVENT ||
           r->event.type == YAML_DOCUMENT_START_EVENT) {
        CLA_TRY(next(r));
    }
    if (r->event.type != YAML_MAPPING_START_EVENT) {
        return wrong(r, r->event.start_mark.line, "is no mapping");
    }
    CLA_TRY(next(r));
    while (r->event.type != YAML_MAPPING_END_EVENT) {
        CLA_TRY(read_pair(r, root));
        CLA_TRY(next(r));
    }
    return CLA_OK;
}

cla_status cla_yaml_parse(json_t **root, const char *path, const char *text,
                          size_t size)
{
    reader r = { .path = path };
    *root = json_object();
    if (!*root || !yaml_parser_initialize(&r.parser)) {
        json_decref(*root);
        *root = NULL;
        return no_memory(&r);
    }
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, size);
    const cla_status status = read_mapping(&r, *root);
    yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
    if (status) {
        json_decref(*root);
        *root = NULL;
    }
    return status;
}
