/* serve_languages.c - the languages of translators: which of them answers a request,
 * and what they can do together. */
#include <string.h>

#include "cli/serve.h"

/* Copies the names, which a model takes along when it goes. */
static cla_status copy_names(serve_model *t)
{
    const size_t count = 2 + t->target_count;
    for (size_t i = 0; i < count; i++) {
        const char *name = !i ? t->source : i == 1 ? t->target : t->targets[i - 2];
        CLA_TRY(cla_text_append(&t->names, name, strlen(name) + 1));
    }
    CLA_TRY(cla_text_strings(&t->names, count, &t->name));
    t->source = t->name[0];
    t->target = t->name[1];
    t->targets = t->name + 2;
    return CLA_OK;
}

cla_status serve_read_languages(serve_model *t, cla_model *model,
                                const serve_limits *limits)
{
    cla_translate_options usual = { 0 };
    CLA_TRY(cla_model_translate_usual(model, &usual));
    t->beam = limits->beam ? limits->beam : usual.beam;
    t->alpha = limits->alpha >= 0 ? limits->alpha : usual.length_penalty;
    CLA_TRY(cla_model_languages(model, &t->source, &t->target, &t->any));
    CLA_TRY(cla_model_sources(model, &t->targets, &t->source_count));
    CLA_TRY(cla_model_targets(model, &t->targets, &t->target_count));
    return copy_names(t);
}

/* ---- the translators of a request ---- */

cla_status serve_read_name(const json_t *object, const char *key, const char **name)
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
static const char *choice(const serve_model *t, size_t count, const char *name)
{
    for (size_t i = 0; i < count && name; i++) {
        if (strcmp(name, t->targets[i]) == 0) {
            return t->targets[i];
        }
    }
    return NULL;
}

static cla_status read_source(const serve_model *t, serve_job *job, const char *name)
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
static cla_status read_target(const serve_model *t, serve_job *job, const char *name)
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

static cla_status read_both(serve_model *t, serve_job *job, const char *source,
                            const char *target)
{
    job->with = t;
    CLA_TRY(read_source(t, job, source));
    return read_target(t, job, target);
}

/* Returns the i-th language that a translator translates into, or NULL. */
static const char *target_of(const serve_model *t, size_t i)
{
    return !t->target_count ? (i ? NULL : t->target)
                            : (i < t->target_count ? t->targets[i] : NULL);
}

/* Returns whether a translator says by name that it reads a language. */
static bool reads(const serve_model *t, const char *name)
{
    return t->source_count ? choice(t, t->source_count, name) != NULL
                           : *t->source && strcmp(t->source, name) == 0;
}

/* Returns whether a translator says by name that it writes a language. */
static bool writes(const serve_model *t, const char *name)
{
    for (size_t i = 0; target_of(t, i); i++) {
        if (strcmp(target_of(t, i), name) == 0) {
            return true;
        }
    }
    return false;
}

/* Returns the first language that `from` writes and `to` reads, or NULL. */
static const char *between(const serve_model *from, const serve_model *to)
{
    for (size_t i = 0; target_of(from, i); i++) {
        if (reads(to, target_of(from, i))) {
            return target_of(from, i);
        }
    }
    return NULL;
}

/* Chooses two translators with a language between them. */
static bool read_pivot(serve_job *job, const char *source, const char *target)
{
    const serve_models *m = job->models;
    for (int i = 0; i < m->count && source && target; i++) {
        serve_model *first = &m->item[i];
        for (int k = 0; k < m->count && reads(first, source); k++) {
            serve_model *second = &m->item[k];
            const char *pivot = writes(second, target) ? between(first, second) : NULL;
            if (k != i && pivot && !read_both(first, job, source, pivot)) {
                job->pivot = (struct serve_pivot){ first, job->source, job->target };
                return !read_both(second, job, pivot, target);
            }
        }
    }
    return false;
}

static cla_status choose_pair(serve_job *job, const char *source, const char *target)
{
    const serve_models *m = job->models;
    cla_status status = CLA_OK;
    for (int i = 0; i < m->count; i++) {
        status = read_both(&m->item[i], job, source, target);
        if (!status) {
            return CLA_OK;
        }
    }
    if (read_pivot(job, source, target)) {
        return CLA_OK;
    }
    return m->count == 1
               ? status
               : cla_fail(CLA_E_INPUT,
                          "none of %d models translates from %.40s to %.40s: see "
                          "/languages",
                          m->count, source ? source : "auto",
                          target ? target : "its target");
}

/* Returns the likeliest language of a job's texts, which the job keeps, or NULL. */
static const char *detect(serve_job *job)
{
    cla_text all = { 0 };
    cla_status status = CLA_OK;
    for (size_t i = 0; i < job->count && !status && all.size < 4096; i++) {
        status = cla_text_add(&all, "%s\n", job->text[i].text);
    }
    json_t *list = !status && all.size
                       ? serve_detect(job->models->detector, all.data, all.size)
                       : NULL;
    job->detected = json_incref(json_array_get(list, 0));
    json_decref(list);
    cla_text_free(&all);
    return json_string_value(json_object_get(job->detected, "language"));
}

cla_status serve_choose(serve_job *job, const json_t *object)
{
    const char *source = NULL, *target = NULL;
    CLA_TRY(serve_read_name(object, "source", &source));
    CLA_TRY(serve_read_name(object, "target", &target));
    if (source && strcmp(source, "auto") == 0 && job->models->detector) {
        const char *found = detect(job);
        if (found && !choose_pair(job, found, target)) {
            return CLA_OK;
        }
    }
    return choose_pair(job, source, target);
}

/* ---- languages ------------------------------------------------------------------- */

static json_t *language(const char *code, json_t *targets)
{
    return json_pack("{s:s,s:s,s:o}", "code", code, "name", code, "targets", targets);
}

/* Returns the names of all targets. */
static json_t *list_targets(const serve_model *t)
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
static bool add_languages(json_t *list, const serve_model *t)
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

/* Returns the names of all targets but one. */
static json_t *list_others(const serve_model *t, const char *but)
{
    json_t *list = json_array();
    for (size_t i = 0; target_of(t, i); i++) {
        if (strcmp(target_of(t, i), but) != 0) {
            json_array_append_new(list, json_string(target_of(t, i)));
        }
    }
    return list;
}

/* Adds what a translator reaches through another one. */
static bool add_pivots(json_t *list, const serve_model *from, const serve_model *to)
{
    const size_t n = from->source_count ? from->source_count : 1;
    bool added = true;
    for (size_t i = 0; i < n && from != to && between(from, to); i++) {
        const char *source = from->source_count ? from->targets[i] : from->source;
        added = add_language(list, source, list_others(to, source)) && added;
    }
    return added;
}

static json_t *list_languages(const serve_models *m)
{
    json_t *list = json_array();
    bool added = list != NULL;
    for (int i = 0; i < m->count && added; i++) {
        added = add_languages(list, &m->item[i]);
    }
    for (int i = 0; i < m->count; i++) {
        for (int k = 0; k < m->count && added; k++) {
            added = add_pivots(list, &m->item[i], &m->item[k]);
        }
    }
    if (!added) {
        json_decref(list);
        return NULL;
    }
    return list;
}

static json_t *list_settings(const serve_models *m)
{
    const serve_model *t = m->item;
    const char *own = choice(t, t->target_count, t->target);
    const char *target = own || !t->target_count ? t->target : t->targets[0];
    return json_pack("{s:b,s:i,s:b,s:i,s:b,s:{s:{s:s,s:s},s:{s:s,s:s}},s:b,s:[]}",
                     "apiKeys", 0, "charLimit", -1, "filesTranslation", 0,
                     "frontendTimeout", 500, "keyRequired", 0, "language", "source",
                     "code", t->source, "name", t->source, "target", "code", target,
                     "name", target, "suggestions", 0, "supportedFilesFormat");
}

json_t *serve_describe(const serve_models *m, const char *path)
{
    return strcmp(path, "/languages") == 0 ? list_languages(m) : list_settings(m);
}
