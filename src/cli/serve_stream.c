/* serve_stream.c - a response of server-sent events, which a worker writes while its
 * connection sends them. */
#include <string.h>

#include "cli/serve.h"

struct serve_stream {
    cla_mutex lock;  // guards the members below
    cla_text events; // all of them
    size_t sent;     // bytes
    bool asleep;     // the connection is suspended: it waits for events
    bool begun;      // it sends them, or is about to
    bool ended;      // no more come
    bool left;       // the client has left
};

cla_status serve_stream_new(serve_stream **out)
{
    CLA_TRY(cla_alloc(out, 1, sizeof **out));
    (*out)->asleep = true; // until the first event
    if (cla_mutex_init(&(*out)->lock)) {
        return CLA_OK;
    }
    free(*out);
    *out = NULL;
    return cla_fail(CLA_E_NOMEM, "serve: no memory for a lock");
}

void serve_stream_free(serve_stream **stream)
{
    if (*stream) {
        cla_mutex_fini(&(*stream)->lock);
        cla_text_free(&(*stream)->events);
    }
    free(*stream);
    *stream = NULL;
}

/* ---- the worker ------------------------------------------------------------------ */

/* Wakes a connection that sleeps. Only such a one is sure to be there. */
static void wake(const serve *s, serve_job *job)
{
    if (job->stream->asleep) {
        job->stream->asleep = false;
        s->wake(job);
    }
}

static cla_status add(const serve *s, serve_job *job, const char *event)
{
    serve_stream *to = job->stream;
    to->left = to->left || (to->asleep && s->gone && s->gone(job));
    if (to->left) {
        return cla_fail(CLA_E_IO, "the client has left");
    }
    CLA_TRY(cla_text_add(&to->events, "data: %s\n\n", event));
    to->begun = true;
    wake(s, job);
    return CLA_OK;
}

cla_status serve_stream_add(const serve *s, serve_job *job, json_t *event)
{
    char *text = serve_json(event);
    if (!text) {
        return cla_fail(CLA_E_NOMEM, "out of memory");
    }
    cla_mutex_lock(&job->stream->lock);
    const cla_status status = add(s, job, text);
    cla_mutex_unlock(&job->stream->lock);
    free(text);
    return status;
}

void serve_stream_end(const serve *s, serve_job *job)
{
    serve_stream *to = job->stream;
    cla_mutex_lock(&to->lock);
    if (to->begun && job->body) {
        add(s, job, job->body); // without memory the response ends without its reason
    }
    to->ended = true;
    wake(s, job);
    cla_mutex_unlock(&to->lock);
}

/* ---- the connection -------------------------------------------------------------- */

bool serve_stream_begun(serve_stream *from)
{
    cla_mutex_lock(&from->lock);
    const bool begun = from->begun;
    cla_mutex_unlock(&from->lock);
    return begun;
}

ptrdiff_t serve_stream_read(serve_job *job, char *to, size_t most,
                            void (*suspend)(serve_job *job))
{
    serve_stream *from = job->stream;
    cla_mutex_lock(&from->lock);
    const size_t left = from->events.size - from->sent, n = left < most ? left : most;
    const bool ended = from->ended;
    if (n) {
        memcpy(to, from->events.data + from->sent, n);
        from->sent += n;
    } else if (!ended) {
        from->asleep = true;
        suspend(job);
    }
    cla_mutex_unlock(&from->lock);
    return n ? (ptrdiff_t)n : ended ? -1 : 0;
}

void serve_stream_leave(serve_stream *stream)
{
    cla_mutex_lock(&stream->lock);
    stream->left = true;
    cla_mutex_unlock(&stream->lock);
}

bool serve_stream_left(serve_stream *stream)
{
    cla_mutex_lock(&stream->lock);
    const bool left = stream->left;
    cla_mutex_unlock(&stream->lock);
    return left;
}
