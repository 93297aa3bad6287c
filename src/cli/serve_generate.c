/* serve_generate.c - POST /generate: continues prompts with a language model. */
#include <math.h>
#include <string.h>

#include "cli/serve.h"

enum { STOPS = 16 };

/* How the prompts of a request are continued. */
struct serve_generation {
    cla_generate_options options;
    const char *stop[STOPS];
    json_t *kept; // the strings of stop
};

void serve_generation_free(serve_generation **g)
{
    if (*g) {
        json_decref((*g)->kept);
    }
    free(*g);
    *g = NULL;
}

/* ---- requests -------------------------------------------------------------------- */

/* Reads a whole number that may be missing. */
static cla_status read_whole(const json_t *object, const char *key, int64_t low,
                             int64_t high, int64_t *value)
{
    const json_t *given = json_object_get(object, key);
    if (!given) {
        return CLA_OK;
    }
    *value = json_is_integer(given) ? json_integer_value(given) : low - 1;
    return *value >= low && *value <= high
               ? CLA_OK
               : cla_fail(CLA_E_INPUT,
                          "\"%s\" must be a whole number from %lld to %lld", key,
                          (long long)low, (long long)high);
}

/* Reads a number of 0 or more that may be missing. */
static cla_status read_number(const json_t *object, const char *key, double high,
                              double *value)
{
    const json_t *given = json_object_get(object, key);
    if (!given) {
        return CLA_OK;
    }
    *value = json_is_number(given) ? json_number_value(given) : -1;
    return *value >= 0 && *value <= high
               ? CLA_OK
               : cla_fail(CLA_E_INPUT, "\"%s\" must be a number from 0 to %g", key,
                          high);
}

static cla_status read_flag(const json_t *object, const char *key, bool *value)
{
    const json_t *given = json_object_get(object, key);
    *value = json_is_true(given);
    return !given || json_is_boolean(given)
               ? CLA_OK
               : cla_fail(CLA_E_INPUT, "\"%s\" must be true or false", key);
}

static cla_status add_stop(serve_generation *g, const json_t *text)
{
    const char *stop = json_string_value(text);
    if (!stop || !*stop || strlen(stop) != json_string_length(text)) {
        return cla_fail(CLA_E_INPUT,
                        "\"stop\" must be a string or a list of strings, none empty");
    }
    if (g->options.stop_count == STOPS) {
        return cla_fail(CLA_E_INPUT, "\"stop\" has more than %d strings", STOPS);
    }
    g->stop[g->options.stop_count++] = stop;
    return CLA_OK;
}

static cla_status read_stops(serve_generation *g, json_t *stops)
{
    g->kept = json_incref(stops);
    g->options.stop = g->stop;
    if (!stops || !json_is_array(stops)) {
        return stops ? add_stop(g, stops) : CLA_OK;
    }
    for (size_t i = 0; i < json_array_size(stops); i++) {
        CLA_TRY(add_stop(g, json_array_get(stops, i)));
    }
    return CLA_OK;
}

cla_status serve_read_generate(const serve *s, serve_job *job, const json_t *object)
{
    enum { USUAL = 200 };
    bool greedy = false, events = false;
    const int most = s->limits->max_words;
    int64_t pieces = most < USUAL ? most : USUAL, top_k = 0, seed = 42;
    double temperature = 1, top_p = 0;
    CLA_TRY(cla_alloc(&job->generation, 1, sizeof *job->generation));
    CLA_TRY(read_whole(object, "pieces", 1, most, &pieces));
    CLA_TRY(read_whole(object, "top_k", 0, INT32_MAX, &top_k));
    CLA_TRY(read_whole(object, "seed", 0, UINT32_MAX, &seed));
    CLA_TRY(read_number(object, "temperature", 100, &temperature));
    CLA_TRY(read_number(object, "top_p", 1, &top_p));
    CLA_TRY(read_flag(object, "greedy", &greedy));
    CLA_TRY(read_flag(object, "stream", &events));
    CLA_TRY(events ? serve_stream_new(&job->stream) : CLA_OK);
    cla_generate_options *o = &job->generation->options;
    *o = (cla_generate_options){
        .pieces = (int)pieces,
        .greedy = greedy || temperature <= 0,
        .temperature = temperature,
        .top_k = (int)top_k,
        .top_p = top_p,
        .seed = (uint32_t)seed,
    };
    return read_stops(job->generation, json_object_get(object, "stop"));
}

/* ---- work ------------------------------------------------------------------------ */

/* A job whose text is sent while it is written. */
typedef struct listener {
    const serve *s;
    serve_job *job;
} listener;

static cla_status send_part(void *to, const char *text, size_t size)
{
    const listener *l = to;
    (void)size;
    return serve_stream_add(l->s, l->job,
                            json_pack("{s:o}", "text", cli_json_text(text)));
}

/* Sends a text part by part, then why it ended. It ends where its client has left. */
static cla_status stream(const serve *s, cla_model *model, const serve_unit *unit)
{
    static const char *const ends[] = { "length", "stop", "end" };
    listener l = { s, unit->job };
    cla_text_end end = CLA_TEXT_LENGTH;
    cla_generate_options o = unit->job->generation->options;
    const char *text = NULL;
    o.take = send_part;
    o.to = &l;
    o.end = &end;
    cla_status status = cla_model_generate(model, &text, unit->text->text, &o);
    status = status ? status
                    : serve_stream_add(s, unit->job,
                                       json_pack("{s:s,s:s}", "text", "",
                                                 "finish_reason", ends[end]));
    if (serve_stream_left(unit->job->stream)) {
        serve_refuse(unit->job, 499, "the client has left");
        return CLA_OK;
    }
    return status;
}

static cla_status answer(cla_model *model, const serve_unit *unit)
{
    const char *text = NULL;
    CLA_TRY(cla_model_generate(model, &text, unit->text->text,
                               &unit->job->generation->options));
    json_decref(unit->text->result);
    unit->text->result = cli_json_text(text);
    return unit->text->result ? CLA_OK : cla_fail(CLA_E_NOMEM, "out of memory");
}

cla_status serve_generate(const serve_worker *w, cla_model *model,
                          const serve_unit *unit, size_t n)
{
    cla_model *own = cla_model_worker(model, w->number);
    for (size_t i = 0; i < n; i++) {
        CLA_TRY(unit[i].job->stream ? stream(w->s, own, &unit[i])
                                    : answer(own, &unit[i]));
    }
    return CLA_OK;
}
