/* serve_routes.c - which requests there are, and the responses to GET: health, metrics,
 * and what only a translator has. */
#include <string.h>

#include "cli/serve.h"

#define JSON_TYPE "application/json"
#define GETS      "GET, HEAD"

/* ---- GET ------------------------------------------------------------------------- */

static cla_status take_json(cla_text *out, json_t *object)
{
    char *text = serve_json(object);
    const cla_status status =
        text ? cla_text_add(out, "%s", text) : cla_fail(CLA_E_NOMEM, "out of memory");
    free(text);
    return status;
}

static cla_status get_health(serve *s, serve_job *job, const char *path, cla_text *out)
{
    (void)path;
    cla_mutex_lock(&s->lock);
    const bool failed = s->failed, draining = s->draining;
    cla_mutex_unlock(&s->lock);
    if (failed || draining) {
        serve_refuse(job, 503,
                     failed ? "the device failed" : "the service is shutting down");
        return CLA_OK;
    }
    return take_json(out,
                     json_pack("{s:s,s:s}", "status", "ok", "model", s->kind_name));
}

static cla_status get_translator(serve *s, serve_job *job, const char *path,
                                 cla_text *out)
{
    if (s->kind != SERVE_TRANSLATE) {
        serve_refuse(job, 404, "%s: the model is a %s, no translator", path,
                     s->kind_name);
        return CLA_OK;
    }
    return path[1] ? take_json(out, serve_describe(job->models, path))
                   : cla_text_add(out, "%s", (const char *)serve_pages[0].text);
}

static cla_status get_metrics(serve *s, serve_job *job, const char *path, cla_text *out)
{
    (void)path;
    return serve_metrics(s, job->models, out);
}

/* ---- routes ---------------------------------------------------------------------- */

static const serve_route routes[] = {
    { "/health", -1, get_health, JSON_TYPE, GETS },
    { "/metrics", -1, get_metrics, "text/plain; version=0.0.4; charset=utf-8", GETS },
    { "/", -1, get_translator, "text/html; charset=utf-8", GETS },
    { "/languages", -1, get_translator, JSON_TYPE, GETS ", POST" }, // Argos posts
    { "/frontend/settings", -1, get_translator, JSON_TYPE, GETS },
    { "/translate", SERVE_TRANSLATE, NULL, JSON_TYPE, "POST" },
    { "/detect", SERVE_TRANSLATE, NULL, JSON_TYPE, "POST" },
    { "/tag", SERVE_TAG, NULL, JSON_TYPE, "POST" },
    { "/answer", SERVE_ANSWER, NULL, JSON_TYPE, "POST" },
    { "/generate", SERVE_GENERATE, NULL, JSON_TYPE, "POST" },
    { NULL, -1, NULL, JSON_TYPE, "" },
};

const serve_route *serve_route_of(const char *path)
{
    const serve_route *r = routes;
    while (r->path && strcmp(r->path, path) != 0) {
        r++;
    }
    return r;
}

static bool takes(const serve_route *to, const char *method)
{
    const size_t size = strlen(method);
    const char *at = size ? strstr(to->methods, method) : NULL;
    return at && (at == to->methods || at[-1] == ' ') && (at[size] == ',' || !at[size]);
}

void serve_refuse_route(const serve *s, serve_job *job, const serve_route *route,
                        const char *method)
{
    if (route->path && *s->origin && strcmp(method, "OPTIONS") == 0) {
        job->code = 204; // a browser asks before a page of another server may
        job->body = strdup("");
        return;
    }
    if (!route->path) {
        serve_refuse(job, 404,
                     "no such path; there are %s, /health, /metrics and /languages",
                     s->path);
    } else if (!takes(route, method)) {
        serve_refuse(job, 405, "%s takes %s", route->path, route->methods);
    } else if (route->kind >= 0 && route->kind != (int)s->kind) {
        serve_refuse(job, 404, "%s: the model is a %s, which has %s", route->path,
                     s->kind_name, s->path);
    }
}
