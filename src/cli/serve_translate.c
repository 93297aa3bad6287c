/* serve_translate.c - requests and responses of translations, as LibreTranslate has
 * them. */
#include <stdio.h>
#include <string.h>

#include "cli/serve.h"

enum { MOST_ALTERNATIVES = 15 };

/* ---- requests -------------------------------------------------------------------- */

/* A form has its numbers as text. */
static cla_status read_alternatives(serve_job *job, const json_t *object)
{
    const json_t *value = json_object_get(object, "alternatives");
    const char *text = json_string_value(value);
    int64_t n = json_is_integer(value) ? json_integer_value(value) : value ? -1 : 0;
    if (text && !cla_parse_int(text, &n)) {
        n = -1;
    }
    if (n < 0 || n > MOST_ALTERNATIVES) {
        return cla_fail(CLA_E_INPUT,
                        "\"alternatives\" must be a whole number from 0 to %d",
                        MOST_ALTERNATIVES);
    }
    job->best = 1 + (size_t)n;
    return CLA_OK;
}

cla_status serve_read_translate(serve_job *job, const json_t *object)
{
    const char *format = NULL;
    CLA_TRY(serve_read_name(object, "format", &format));
    job->html = format && strcmp(format, "html") == 0;
    if (format && !job->html && strcmp(format, "text") != 0) {
        return cla_fail(CLA_E_INPUT, "\"format\" must be \"text\" or \"html\"");
    }
    if (job->html && !cla_markup_there()) {
        return cla_fail(CLA_E_INPUT, "\"format\": clattn was built without Gumbo");
    }
    return read_alternatives(job, object);
}

/* ---- responses ------------------------------------------------------------------- */

/* Returns the i-th translation of a line, or its best one where it has fewer; sets *any
 * if it has it. */
static const json_t *nth(const serve_text *line, size_t i, bool *any)
{
    const json_t *text = json_array_get(line->result, i);
    *any = *any || (json_string_length(text) > 0);
    return json_string_length(text) ? text : json_array_get(line->result, 0);
}

/* Joins the i-th translations of an entry's lines. Returns NULL when out of memory;
 * *any: some line has that many. */
static json_t *join_lines(const serve_text *line, size_t n, size_t i, bool *any)
{
    cla_text all = { 0 };
    cla_status status = cla_text_append(&all, "", 0);
    for (size_t k = 0; k < n && !status; k++) {
        const json_t *text = nth(&line[k], i, any);
        status = k ? cla_text_append(&all, "\n", 1) : CLA_OK;
        status = status ? status
                        : cla_text_append(&all, json_string_value(text),
                                          json_string_length(text));
    }
    json_t *joined = status ? NULL : json_stringn(all.data, all.size);
    cla_text_free(&all);
    return joined;
}

/* Puts the i-th translations of an entry's texts into the places of their parts. */
static json_t *write_parts(const serve_job *job, size_t entry, size_t i, bool *any)
{
    const serve_text *part = job->text + job->first[entry];
    const size_t n = job->first[entry + 1] - job->first[entry];
    const char **text = NULL;
    cla_text all = { 0 };
    cla_status status = cla_alloc(&text, n + 1, sizeof *text);
    for (size_t k = 0; k < n && !status; k++) {
        text[k] = json_string_value(nth(&part[k], i, any));
    }
    status = status ? status : cla_document_write(&job->document[entry], text, &all);
    json_t *joined = status ? NULL : json_stringn(all.data, all.size);
    cla_text_free(&all);
    free(text);
    return joined;
}

/* Returns the i-th translation of an entry, as join_lines does. */
static json_t *join(const serve_job *job, size_t entry, size_t i, bool *any)
{
    const size_t first = job->first[entry], n = job->first[entry + 1] - first;
    return job->html ? write_parts(job, entry, i, any)
                     : join_lines(job->text + first, n, i, any);
}

json_t *serve_translation(const serve_job *job, size_t entry)
{
    bool any = false;
    return join(job, entry, 0, &any);
}

json_t *serve_alternatives(const serve_job *job, size_t entry)
{
    json_t *list = json_array();
    for (size_t i = 1; i < job->best; i++) {
        bool any = false;
        json_t *text = join(job, entry, i, &any);
        if (!any) {
            json_decref(text);
            break;
        }
        if (json_array_append_new(list, text)) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}
