/* serve_request.c - turns a request into a job, and its results into a response. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cli/serve.h"

void serve_job_free(serve_job *job)
{
    for (size_t i = 0; i < job->count; i++) {
        free(job->text[i].text);
        json_decref(job->text[i].result);
    }
    free(job->text);
    for (size_t i = 0; job->document && i < job->entries; i++) {
        cla_document_free(&job->document[i]);
    }
    free(job->document);
    free(job->first);
    free(job->passage);
    serve_generation_free(&job->generation);
    serve_stream_free(&job->stream);
    json_decref(job->detected);
    free(job->body);
    serve_models_leave(&job->models);
    *job = (serve_job){ .code = 0 };
}

char *serve_json(json_t *object)
{
    char *text = object ? cla_json_write(object, JSON_COMPACT, 9) : NULL;
    json_decref(object);
    return text;
}

void serve_refuse(serve_job *job, int code, const char *format, ...)
{
    char text[512];
    va_list values;
    int none = 0;
    if (!atomic_compare_exchange_strong(&job->code, &none, code)) {
        return;
    }
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    job->body = serve_json(json_pack("{s:o}", "error", cli_json_text(text)));
}

/* ---- responses ------------------------------------------------------------------- */

static json_t *result_of(const serve *s, const serve_job *job, size_t entry)
{
    return s->kind == SERVE_TRANSLATE
               ? serve_translation(job, entry)
               : json_incref(job->text[job->first[entry]].result);
}

/* Returns the results of all entries as a list, or that of a single text. */
static json_t *each_entry(const serve *s, const serve_job *job, bool alternatives)
{
    json_t *list = json_array();
    for (size_t i = 0; i < job->entries; i++) {
        json_t *one = alternatives ? serve_alternatives(job, i) : result_of(s, job, i);
        if (!job->list) {
            json_decref(list);
            return one;
        }
        if (json_array_append_new(list, one)) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

void serve_complete(const serve *s, serve_job *job)
{
    static const char *const keys[] = { "translatedText", "tags", "answers", "text" };
    if (job->code || job->stream) {
        return;
    }
    json_t *object = json_pack("{s:o}", keys[s->kind], each_entry(s, job, false));
    const bool more = s->kind == SERVE_TRANSLATE && job->best > 1;
    if (object && more &&
        json_object_set_new(object, "alternatives", each_entry(s, job, true))) {
        json_decref(object);
        object = NULL;
    }
    if (object && job->detected) {
        json_object_set(object, "detectedLanguage", job->detected);
    }
    if (!object) {
        serve_refuse(job, 500, "out of memory");
        return;
    }
    job->code = 200;
    job->body = serve_json(object);
}

/* ---- forms as JSON --------------------------------------------------------------- */

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Appends a part of a form with its escapes decoded. */
static cla_status unescape(const char *part, size_t size, cla_text *out)
{
    CLA_TRY(cla_text_append(out, "", 0));
    for (size_t i = 0; i < size; i++) {
        char c = part[i] == '+' ? ' ' : part[i];
        if (c == '%' && i + 2 < size && hex_digit(part[i + 1]) >= 0 &&
            hex_digit(part[i + 2]) >= 0) {
            c = (char)(hex_digit(part[i + 1]) * 16 + hex_digit(part[i + 2]));
            i += 2;
        }
        CLA_TRY(cla_text_append(out, &c, 1));
    }
    return CLA_OK;
}

/* Adds "key=value" to an object; a repeated key makes a list. */
static cla_status add_pair(json_t *object, const char *pair, size_t size)
{
    const char *equals = memchr(pair, '=', size);
    const size_t key_size = equals ? (size_t)(equals - pair) : size;
    cla_text key = { 0 }, value = { 0 };
    cla_status status = unescape(pair, key_size, &key);
    if (!status && equals) {
        status = unescape(equals + 1, size - key_size - 1, &value);
    }
    if (!status && key.size) {
        json_t *string = json_stringn(value.data ? value.data : "", value.size);
        json_t *old = json_object_get(object, key.data);
        const int failed = !string ? -1
                           : !old  ? json_object_set_new(object, key.data, string)
                           : json_is_array(old)
                               ? json_array_append_new(old, string)
                               : json_object_set_new(object, key.data,
                                                     json_pack("[O,o]", old, string));
        status = failed ? cla_fail(CLA_E_INPUT, "the form is not UTF-8") : CLA_OK;
    }
    cla_text_free(&key);
    cla_text_free(&value);
    return status;
}

static cla_status read_form(const char *body, size_t size, json_t **root)
{
    *root = json_object();
    cla_status status = *root ? CLA_OK : cla_fail(CLA_E_NOMEM, "out of memory");
    for (const char *end = body + size; body < end && !status;) {
        const char *and = memchr(body, '&', (size_t)(end - body));
        const char *stop = and? and : end;
        status = add_pair(*root, body, (size_t)(stop - body));
        body = stop + 1;
    }
    return status;
}

static cla_status read_json(const char *body, size_t size, json_t **root)
{
    const cla_status status =
        cla_json_text(root, "body", 1, body, size, JSON_REJECT_DUPLICATES);
    if (status == CLA_E_INPUT) {
        return cla_fail_within(status, "the body is not JSON");
    }
    return !status && !json_is_object(*root)
               ? cla_fail(CLA_E_INPUT, "the body is no JSON object")
               : status;
}

/* Returns whether a body begins as JSON does; no form of these keys begins so. */
static bool begins_as_json(const char *body, size_t size)
{
    static const char mark[] = "\xef\xbb\xbf", blanks[] = " \t\r\n";
    size_t at = size >= 3 && memcmp(body, mark, 3) == 0 ? 3 : 0;
    while (at < size && memchr(blanks, body[at], sizeof blanks - 1)) {
        at++;
    }
    return at < size && (body[at] == '{' || body[at] == '[');
}

/* ---- texts of a job -------------------------------------------------------------- */

static cla_status add_text(serve_job *job, const char *text, size_t size)
{
    if (memchr(text, 0, size)) {
        return cla_fail(CLA_E_INPUT, "a text holds a NUL byte");
    }
    CLA_TRY(cla_grow(&job->text, &job->cap, job->count + 1, sizeof *job->text));
    serve_text *to = &job->text[job->count];
    *to = (serve_text){ .size = size };
    CLA_TRY(cla_alloc(&to->text, size + 1, 1));
    memcpy(to->text, text, size);
    job->count++;
    return CLA_OK;
}

/* Adds each line as a text. */
static cla_status add_lines(serve_job *job, const char *text, const char *end)
{
    for (bool more = true; more;) {
        const char *line_end = memchr(text, '\n', (size_t)(end - text));
        const char *stop = line_end ? line_end : end;
        const bool carriage = line_end && stop > text && stop[-1] == '\r';
        CLA_TRY(add_text(job, text, (size_t)(stop - text) - carriage));
        more = line_end != NULL;
        text = stop + more;
    }
    return CLA_OK;
}

/* Adds each part of a document as a text. */
static cla_status add_parts(serve_job *job, const char *text, size_t size)
{
    cla_document read;
    if (memchr(text, 0, size)) {
        return cla_fail(CLA_E_INPUT, "a text holds a NUL byte");
    }
    CLA_TRY(cla_grow(&job->document, &job->document_cap, job->entries + 1,
                     sizeof *job->document));
    CLA_TRY(cla_document_read(&read, CLA_MARKUP_HTML, text, size));
    cla_status status = CLA_OK;
    for (size_t i = 0; i < read.count && !status; i++) {
        status = add_text(job, read.part[i].text, strlen(read.part[i].text));
    }
    if (status) {
        cla_document_free(&read);
    } else {
        job->document[job->entries] = read;
    }
    return status;
}

/* Adds an entry as one text; for translation, as one text for each of its lines, or of
 * its parts. */
static cla_status add_entry(const serve *s, serve_job *job, const json_t *entry,
                            const char *key)
{
    const char *text = json_string_value(entry);
    if (!text) {
        return cla_fail(CLA_E_INPUT, "\"%s\" must be a string or a list of strings",
                        key);
    }
    const size_t size = json_string_length(entry);
    CLA_TRY(
        cla_grow(&job->first, &job->first_cap, job->entries + 2, sizeof *job->first));
    CLA_TRY(job->html                    ? add_parts(job, text, size)
            : s->kind == SERVE_TRANSLATE ? add_lines(job, text, text + size)
                                         : add_text(job, text, size));
    job->first[0] = 0;
    job->first[++job->entries] = job->count;
    return CLA_OK;
}

static cla_status add_entries(const serve *s, serve_job *job, const json_t *object,
                              const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!value) {
        return cla_fail(CLA_E_INPUT, "the request has no \"%s\"", key);
    }
    job->list = json_is_array(value);
    if (!job->list) {
        return add_entry(s, job, value, key);
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        CLA_TRY(add_entry(s, job, json_array_get(value, i), key));
    }
    return CLA_OK;
}

/* ---- requests of each path ------------------------------------------------------- */

static cla_status read_answer(const serve *s, serve_job *job, const json_t *object)
{
    const json_t *passage = json_object_get(object, "passage");
    const json_t *best = json_object_get(object, "nbest");
    const char *text = json_string_value(passage);
    const json_int_t n = best ? json_integer_value(best) : 1;
    if (!text) {
        return cla_fail(CLA_E_INPUT, passage ? "\"passage\" must be a string"
                                             : "the request has no \"passage\"");
    }
    if (strlen(text) != json_string_length(passage)) {
        return cla_fail(CLA_E_INPUT, "the passage holds a NUL byte");
    }
    if (n < 1 || n > CLA_MOST_ANSWERS) {
        return cla_fail(CLA_E_INPUT, "\"nbest\" must be a whole number from 1 to %d",
                        CLA_MOST_ANSWERS);
    }
    job->best = (size_t)n;
    CLA_TRY(cla_strdup(&job->passage, text));
    return add_entries(s, job, object, "question");
}

/* Responds with the languages that a text may have. */
static cla_status read_detect(serve_job *job, const json_t *object)
{
    const serve_models *m = job->models;
    const json_t *q = json_object_get(object, "q");
    if (!json_is_string(q)) {
        return cla_fail(CLA_E_INPUT, "\"q\" must be a string");
    }
    if (!m->detector) {
        return cla_fail(CLA_E_INPUT, "/detect: %s", m->no_detector);
    }
    job->body = serve_json(
        serve_detect(m->detector, json_string_value(q), json_string_length(q)));
    job->code = 200;
    return CLA_OK;
}

static cla_status read_object(const serve *s, serve_job *job, const json_t *object)
{
    if (job->detect) {
        return read_detect(job, object);
    }
    job->with = job->models->item;
    switch (s->kind) {
    case SERVE_TRANSLATE:
        CLA_TRY(serve_read_translate(job, object));
        CLA_TRY(add_entries(s, job, object, "q"));
        return serve_choose(job, object);
    case SERVE_TAG:
        return add_entries(s, job, object, "text");
    case SERVE_ANSWER:
        return read_answer(s, job, object);
    case SERVE_GENERATE:
        CLA_TRY(serve_read_generate(s, job, object));
        CLA_TRY(add_entries(s, job, object, "prompt"));
        return job->stream && job->list
                   ? cla_fail(CLA_E_INPUT, "\"stream\" takes one prompt, no list")
                   : CLA_OK;
    }
    return CLA_OK;
}

cla_status serve_read_job(const serve *s, serve_job *job, const char *body, size_t size,
                          bool form)
{
    json_t *root = NULL;
    const bool pairs = form && !begins_as_json(body, size);
    cla_status status =
        pairs ? read_form(body, size, &root) : read_json(body, size, &root);
    status = status ? status : read_object(s, job, root);
    json_decref(root);
    if (status == CLA_E_INPUT) {
        serve_refuse(job, 400, "%s", cla_error());
        return CLA_OK;
    }
    if (!status && job->count > (size_t)s->limits->queue) {
        serve_refuse(job, 413, "%zu texts, more than the %d that may wait", job->count,
                     s->limits->queue);
    } else if (!status && !job->count && !job->code) {
        serve_complete(s, job);
    }
    return status;
}
