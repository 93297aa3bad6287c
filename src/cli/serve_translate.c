/* serve_translate.c - requests and responses of translations, as LibreTranslate has
 * them. */
#include <stdio.h>
#include <string.h>

#include "cli/serve.h"

enum { MOST_ALTERNATIVES = 15 };

cla_status serve_read_languages(serve_translator *t, const serve_limits *limits)
{
    cla_translate_options usual = { 0 };
    CLA_TRY(cla_model_translate_usual(t->model, &usual));
    t->beam = limits->beam ? limits->beam : usual.beam;
    t->alpha = limits->alpha >= 0 ? limits->alpha : usual.length_penalty;
    CLA_TRY(cla_model_languages(t->model, &t->source, &t->target, &t->any));
    CLA_TRY(cla_model_sources(t->model, &t->targets, &t->source_count));
    return cla_model_targets(t->model, &t->targets, &t->target_count);
}

/* ---- requests -------------------------------------------------------------------- */

static cla_status read_name(const json_t *object, const char *key, const char **name)
{
    const json_t *value = json_object_get(object, key);
    *name = json_string_value(value);
    return value && !*name ? cla_fail(CLA_E_INPUT, "\"%s\" must be a string", key)
                           : CLA_OK;
}

/* Refuses a language that is not the model's own. A model that does not know its own
 * accepts every language. */
static cla_status check_language(const char *name, const char *key, const char *own)
{
    const bool other = name && *own && strcmp(own, key) != 0 && strcmp(name, own) != 0;
    return other ? cla_fail(CLA_E_INPUT, "\"%s\" is %.40s, this model has %s", key,
                            name, own)
                 : CLA_OK;
}

/* Returns the model's own text of a language that can be chosen, or NULL. */
static const char *choice(const serve_translator *t, size_t count, const char *name)
{
    for (size_t i = 0; i < count && name; i++) {
        if (strcmp(name, t->targets[i]) == 0) {
            return t->targets[i];
        }
    }
    return NULL;
}

static cla_status read_source(const serve_translator *t, serve_job *job,
                              const char *name)
{
    job->source = choice(t, t->source_count, name);
    if (job->source) {
        return CLA_OK;
    }
    return name && strcmp(name, "auto") == 0
               ? CLA_OK
               : check_language(name, "source", t->source);
}

/* A model with several targets takes each of them. Without one, and with the name that
 * the folder gives, a text begins with its ">>x<<". */
static cla_status read_target(const serve_translator *t, serve_job *job,
                              const char *name)
{
    job->target = choice(t, t->target_count, name);
    if (job->target) {
        return CLA_OK;
    }
    if (name && t->target_count && strcmp(name, t->target) != 0) {
        return cla_fail(CLA_E_INPUT,
                        "\"target\" is %.40s, this model has %s and %zu others: see "
                        "/languages",
                        name, t->targets[0], t->target_count - 1);
    }
    return t->any ? CLA_OK : check_language(name, "target", t->target);
}

/* Chooses the first translator that takes the languages of a request. */
static cla_status read_pair(const serve *s, serve_job *job, const json_t *object)
{
    const char *source = NULL, *target = NULL;
    CLA_TRY(read_name(object, "source", &source));
    CLA_TRY(read_name(object, "target", &target));
    cla_status status = CLA_OK;
    for (int i = 0; i < s->translators; i++) {
        job->with = &s->translator[i];
        status = read_source(job->with, job, source);
        status = status ? status : read_target(job->with, job, target);
        if (!status) {
            return CLA_OK;
        }
    }
    return s->translators == 1
               ? status
               : cla_fail(CLA_E_INPUT,
                          "none of %d models translates from %.40s to %.40s: see "
                          "/languages",
                          s->translators, source ? source : "auto",
                          target ? target : "its target");
}

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

cla_status serve_read_translate(const serve *s, serve_job *job, const json_t *object)
{
    const char *format = NULL;
    CLA_TRY(read_name(object, "format", &format));
    job->html = format && strcmp(format, "html") == 0;
    if (format && !job->html && strcmp(format, "text") != 0) {
        return cla_fail(CLA_E_INPUT, "\"format\" must be \"text\" or \"html\"");
    }
    if (job->html && !cla_markup_there()) {
        return cla_fail(CLA_E_INPUT, "\"format\": clattn was built without Gumbo");
    }
    CLA_TRY(read_pair(s, job, object));
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

/* ---- languages ------------------------------------------------------------------- */

static json_t *language(const char *code, json_t *targets)
{
    return json_pack("{s:s,s:s,s:o}", "code", code, "name", code, "targets", targets);
}

/* Returns the names of all targets. */
static json_t *list_targets(const serve_translator *t)
{
    json_t *list = t->target_count ? json_array() : json_pack("[s]", t->target);
    for (size_t i = 0; i < t->target_count; i++) {
        json_array_append_new(list, json_string(t->targets[i]));
    }
    return list;
}

static bool has_text(const json_t *list, const char *text)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (strcmp(json_string_value(json_array_get(list, i)), text) == 0) {
            return true;
        }
    }
    return false;
}

/* Adds a language and its targets (consumed) to a list, or the targets alone where the
 * list has it. Returns false when out of memory. */
static bool add_language(json_t *list, const char *code, json_t *targets)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *at = json_array_get(list, i);
        if (strcmp(json_string_value(json_object_get(at, "code")), code) == 0) {
            json_t *has = json_object_get(at, "targets");
            bool added = targets != NULL;
            for (size_t k = 0; k < json_array_size(targets); k++) {
                json_t *name = json_array_get(targets, k);
                const bool old = has_text(has, json_string_value(name));
                added = added && (old || !json_array_append(has, name));
            }
            json_decref(targets);
            return added;
        }
    }
    return !json_array_append_new(list, language(code, targets));
}

/* Adds the sources of a translator, then its targets, which may be no sources. */
static bool add_languages(json_t *list, const serve_translator *t)
{
    const size_t n = t->target_count ? t->target_count : 1;
    bool added = t->source_count || add_language(list, t->source, list_targets(t));
    for (size_t i = 0; i < n; i++) {
        const char *name = t->target_count ? t->targets[i] : t->target;
        json_t *targets = t->source_count ? list_targets(t) : json_array();
        added = add_language(list, name, targets) && added;
    }
    return added;
}

static json_t *list_languages(const serve *s)
{
    json_t *list = json_array();
    bool added = list != NULL;
    for (int i = 0; i < s->translators && added; i++) {
        added = add_languages(list, &s->translator[i]);
    }
    if (!added) {
        json_decref(list);
        return NULL;
    }
    return list;
}

static json_t *list_settings(const serve *s)
{
    const serve_translator *t = s->translator;
    const char *own = choice(t, t->target_count, t->target);
    const char *target = own || !t->target_count ? t->target : t->targets[0];
    return json_pack("{s:b,s:i,s:b,s:i,s:b,s:{s:{s:s,s:s},s:{s:s,s:s}},s:b,s:[]}",
                     "apiKeys", 0, "charLimit", -1, "filesTranslation", 0,
                     "frontendTimeout", 500, "keyRequired", 0, "language", "source",
                     "code", t->source, "name", t->source, "target", "code", target,
                     "name", target, "suggestions", 0, "supportedFilesFormat");
}

json_t *serve_describe(const serve *s, const char *path)
{
    return strcmp(path, "/languages") == 0 ? list_languages(s) : list_settings(s);
}
