/* serve_http.c - connections, routes and responses, with libmicrohttpd. Its thread runs
 * all callbacks except done() and wake(). */
#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>

#include "base/platform.h"
#include "base/platform_socket.h"
#include "cli/serve.h"
#include "cli/signals.h"

/* A request of a connection. */
typedef struct request {
    serve_job job;      // first: done() and wake() find the request by it
    atomic_int holders; // the connection, and the worker of a stream
    const serve_route *route;
    cla_text body;
    int64_t received; // bytes of the body, including dropped ones
    bool form, pushed;
    bool events; // the response is a stream
} request;

/* The number of requests whose responses are not yet sent. */
static atomic_size_t open_requests;

/* ---- responses ------------------------------------------------------------------- */

/* Lets pages of other servers ask: the standard of Fetch, 3.2 (CORS). */
static void add_cors_headers(const serve *s, struct MHD_Response *response)
{
    MHD_add_response_header(response, "Access-Control-Allow-Origin", s->origin);
    MHD_add_response_header(response, "Access-Control-Allow-Methods",
                            "GET, HEAD, POST, OPTIONS");
    MHD_add_response_header(response, "Access-Control-Allow-Headers", "Content-Type");
    MHD_add_response_header(response, "Access-Control-Max-Age", "600");
}

static bool is_draining(serve *s)
{
    cla_mutex_lock(&s->lock);
    const bool draining = s->draining;
    cla_mutex_unlock(&s->lock);
    return draining;
}

static void add_headers(serve *s, const request *r, struct MHD_Response *response)
{
    const char *type = r->events            ? "text/event-stream"
                       : r->job.code == 200 ? r->route->type
                                            : "application/json";
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    if (r->events) {
        MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
    }
    if (r->job.code == 503) {
        char seconds[16];
        snprintf(seconds, sizeof seconds, "%d", 1 + s->limits->wait_ms / 1000);
        MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, seconds);
    }
    if (r->job.code == 405) {
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, r->route->methods);
    }
    if (is_draining(s)) {
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    }
    if (*s->origin) {
        add_cors_headers(s, response);
    }
}

static enum MHD_Result respond(serve *s, request *r, struct MHD_Connection *connection)
{
    static const char no_memory[] = "{\"error\":\"out of memory\"}";
    struct MHD_Response *response =
        r->job.body
            ? MHD_create_response_from_buffer(strlen(r->job.body), r->job.body,
                                              MHD_RESPMEM_MUST_FREE)
            : MHD_create_response_from_buffer(sizeof no_memory - 1, (void *)no_memory,
                                              MHD_RESPMEM_PERSISTENT);
    r->job.code = r->job.body ? r->job.code : 500;
    if (!response) {
        return MHD_NO;
    }
    r->job.body = NULL; // the response owns it
    add_headers(s, r, response);
    serve_count(s, r->job.code, r->job.began_ns);
    const enum MHD_Result result =
        MHD_queue_response(connection, (unsigned)r->job.code, response);
    MHD_destroy_response(response);
    return result;
}

static void suspend(serve_job *job)
{
    MHD_suspend_connection(job->connection);
}

static ptrdiff_t read_events(void *of, uint64_t at, char *to, size_t most)
{
    request *r = of;
    (void)at;
    const ptrdiff_t n = serve_stream_read(&r->job, to, most, suspend);
    return n < 0 ? MHD_CONTENT_READER_END_OF_STREAM : n;
}

/* Responds with events, some of which are there. */
static enum MHD_Result respond_events(serve *s, request *r,
                                      struct MHD_Connection *connection)
{
    enum { BLOCK = 4096 };
    r->events = true;
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, BLOCK, read_events, r, NULL);
    if (!response) {
        return MHD_NO;
    }
    add_headers(s, r, response);
    const enum MHD_Result result = MHD_queue_response(connection, 200, response);
    MHD_destroy_response(response);
    return result;
}

/* Responds to a GET. */
static enum MHD_Result respond_get(serve *s, request *r,
                                   struct MHD_Connection *connection)
{
    cla_text out = { 0 };
    if (r->route->get(s, &r->job, r->route->path, &out)) {
        serve_refuse(&r->job, 500, "%s", cla_error());
    }
    if (r->job.code) {
        cla_text_free(&out);
    } else {
        r->job.code = 200;
        r->job.body = out.data;
    }
    return respond(s, r, connection);
}

/* Frees a request that neither its connection nor a worker holds. */
static void release(request *r)
{
    if (atomic_fetch_sub(&r->holders, 1) > 1) {
        return;
    }
    serve_job_free(&r->job);
    cla_text_free(&r->body);
    free(r);
    atomic_fetch_sub(&open_requests, 1);
}

static void wake(serve_job *job)
{
    MHD_resume_connection(job->connection);
}

/* Resumes the connection of a job; called by the worker that finished it. */
static void done(const serve *s, serve_job *job)
{
    if (!job->stream) {
        wake(job);
        return;
    }
    serve_stream_end(s, job);
    release((request *)job);
}

/* Returns whether the client of a job has closed its connection, or its end of it. */
static bool gone(const serve_job *job)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(job->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info && cla_os_ended(info->connect_fd);
}

/* ---- requests -------------------------------------------------------------------- */

static const char *header(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* Returns the most bytes of a body to read. A client that sends too long a body gets
 * the response only when all of it is read; bytes above the limit are dropped. */
static int64_t most_read(const serve *s)
{
    return (int64_t)s->limits->body * 8;
}

/* Refuses a body without a Content-Length or above the limit. Returns false when it is
 * far too long: it is not even read, and the connection ends. */
static bool check_body(const serve *s, request *r, struct MHD_Connection *connection)
{
    const char *length = header(connection, MHD_HTTP_HEADER_CONTENT_LENGTH);
    int64_t size = 0;
    if (header(connection, MHD_HTTP_HEADER_TRANSFER_ENCODING)) {
        serve_refuse(&r->job, 411, "a body needs a Content-Length");
    } else if (length && (!cla_parse_int(length, &size) || size > s->limits->body)) {
        serve_refuse(&r->job, 413, "the body has more than %d bytes", s->limits->body);
        return size && size <= most_read(s);
    }
    return true;
}

/* Handles the head of a request. */
static enum MHD_Result begin(serve *s, request *r, struct MHD_Connection *connection,
                             const char *method)
{
    const char *type = header(connection, MHD_HTTP_HEADER_CONTENT_TYPE);
    r->form = type && cla_starts_nocase(type, "application/x-www-form-urlencoded");
    r->job.detect = r->route->path && strcmp(r->route->path, "/detect") == 0;
    r->job.connection = connection;
    if (!check_body(s, r, connection)) {
        return respond(s, r, connection);
    }
    serve_refuse_route(s, &r->job, r->route, method);
    return MHD_YES;
}

/* Handles a part of a body. The body of a refused request is read and dropped. */
static enum MHD_Result take_part(const serve *s, request *r, const char *data,
                                 size_t size)
{
    const double seconds = (double)(cla_time_ns() - r->job.began_ns) * 1e-9;
    r->received += (int64_t)size;
    if (seconds > s->limits->timeout || r->received > most_read(s)) {
        return MHD_NO;
    }
    return !r->job.code && cla_text_append(&r->body, data, size) ? MHD_NO : MHD_YES;
}

/* Handles the end of a request. */
static enum MHD_Result end(serve *s, request *r, struct MHD_Connection *connection)
{
    if (r->route->get) {
        return respond_get(s, r, connection);
    }
    if (serve_read_job(s, &r->job, r->body.data ? r->body.data : "", r->body.size,
                       r->form)) {
        serve_refuse(&r->job, 500, "%s", cla_error());
    }
    cla_text_free(&r->body);
    if (r->job.code) {
        return respond(s, r, connection);
    }
    MHD_suspend_connection(connection); // first, since done() may be called at once
    atomic_fetch_add(&r->holders, r->job.stream != NULL);
    r->pushed = serve_push(s, &r->job);
    if (!r->pushed) {
        atomic_fetch_sub(&r->holders, r->job.stream != NULL);
        MHD_resume_connection(connection); // handle() is called again and responds
    }
    return MHD_YES;
}

static enum MHD_Result handle(void *service, struct MHD_Connection *connection,
                              const char *url, const char *method, const char *version,
                              const char *data, size_t *size, void **own)
{
    (void)version;
    request *r = *own;
    if (!r) {
        if (cla_alloc(&r, 1, sizeof *r)) {
            return MHD_NO;
        }
        *own = r;
        atomic_fetch_add(&open_requests, 1);
        atomic_store(&r->holders, 1);
        r->job.began_ns = cla_time_ns();
        r->job.models = serve_models_take(service);
        r->route = serve_route_of(url);
        return begin(service, r, connection, method);
    }
    if (*size) {
        const size_t taken = *size;
        *size = 0;
        return take_part(service, r, data, taken);
    }
    if (r->pushed && r->job.stream && serve_stream_begun(r->job.stream)) {
        return respond_events(service, r, connection);
    }
    return r->job.code ? respond(service, r, connection) : end(service, r, connection);
}

static void forget(void *service, struct MHD_Connection *connection, void **own,
                   enum MHD_RequestTerminationCode why)
{
    (void)connection;
    request *r = *own;
    *own = NULL;
    if (!r) return;
    if (r->pushed && r->job.stream && serve_stream_begun(r->job.stream)) {
        const bool left = serve_stream_left(r->job.stream) ||
                          why != MHD_REQUEST_TERMINATED_COMPLETED_OK;
        serve_count(service, left ? 499 : 200, r->job.began_ns);
    }
    if (r->job.stream) {
        serve_stream_leave(r->job.stream);
    }
    release(r);
}

/* ---- the service ----------------------------------------------------------------- */

static struct MHD_Daemon *start(serve *s, int fd)
{
    return MHD_start_daemon(
        MHD_USE_AUTO_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle,
        s, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_NOTIFY_COMPLETED, forget, s,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)s->limits->timeout,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)s->limits->connections, MHD_OPTION_END);
}

/* Waits until every response is sent; a client that does not read has until the
 * timeout. */
static void send_all(const serve *s)
{
    const int64_t until = cla_time_ns() + (int64_t)s->limits->timeout * 1000000000;
    while (atomic_load(&open_requests) && cla_time_ns() < until) {
        cla_os_sleep_ns(5000000);
    }
}

/* Prints the address and serves until a signal arrives. */
static cla_status serve_until_signal(serve *s, struct MHD_Daemon *daemon,
                                     const char *address, int port)
{
    CLA_TRY(serve_start(s));
    const bool six = strchr(address, ':') != NULL;
    printf("http://%s%s%s:%d\n", six ? "[" : "", address, six ? "]" : "", port);
    const bool printed = fflush(stdout) == 0;
    while (printed && !cli_await_signal()) {
        serve_reload(s);
    }
    const int listening = MHD_quiesce_daemon(daemon);
    serve_drain(s);
    send_all(s);
    if (listening >= 0) {
        cla_os_close(listening);
    }
    return printed ? CLA_OK
                   : cla_fail(CLA_E_IO, "standard output: %s", strerror(errno));
}

cla_status serve_available(void)
{
    return CLA_OK;
}

static cla_status listen_at(int *fd, int *port, const char *address)
{
    const char *why = NULL;
    if (cla_os_listen(fd, port, address, &why)) {
        return CLA_OK;
    }
    return why ? cla_fail(CLA_E_USAGE, "--host is '%.80s': %s", address, why)
               : cla_fail(CLA_E_IO, "port %d of %s: %s", *port, address,
                          strerror(errno));
}

cla_status serve_run(serve *s, const char *address, int port)
{
    int fd = -1;
    s->done = done;
    s->wake = wake;
    s->gone = gone;
    CLA_TRY(listen_at(&fd, &port, address));
    cli_catch_signals();
    cli_catch_reload();
    struct MHD_Daemon *daemon = start(s, fd);
    if (!daemon) {
        cla_os_close(fd);
        return cla_fail(CLA_E_IO, "libmicrohttpd does not start");
    }
    const cla_status status = serve_until_signal(s, daemon, address, port);
    MHD_stop_daemon(daemon);
    return status;
}
