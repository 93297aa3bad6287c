/* serve.h - the HTTP service. A request becomes a job; worker threads process the texts
 * of jobs in batches.
 *
 *   serve_http.c     connections and responses; the only file with libmicrohttpd
 *   serve_routes.c   which requests there are, and the responses to GET
 *   serve_stream.c   the events of a response that is sent while it is written
 *   serve_request.c  turns the body of a request into a job
 *   serve_translate.c  what is special about translations
 *   serve_generate.c  what is special about prompts
 *   serve_languages.c  which translator answers a request
 *   serve_models.c   which models are in memory, and new ones in their place
 *   serve_queue.c    the bounded queue and the worker threads
 *   serve_work.c     runs a batch of texts through the model
 *   serve_metrics.c  counters in the text format of Prometheus
 */
#pragma once

#include <stdatomic.h>

#include "base/platform_thread.h"
#include "clattn/model.h"
#include "cli/cli.h"
#include "text/markup.h"

/* The task of the loaded model; each has a path of its own. */
typedef enum serve_kind {
    SERVE_TRANSLATE,
    SERVE_TAG,
    SERVE_ANSWER,
    SERVE_GENERATE,
} serve_kind;

/* How the prompts of a request are continued: serve_generate.c. */
typedef struct serve_generation serve_generation;

/* The events of a response: serve_stream.c. */
typedef struct serve_stream serve_stream;

typedef struct serve_limits {
    int batch, wait_ms;  // most texts of a batch; longest wait for more
    int queue;           // most texts that wait
    int body, max_words; // most bytes of a request; most words or pieces of a text
    int timeout;         // seconds
    int connections;     // most open at a time
    int beam;            // of translations; 0: each model's own
    double alpha;        // their length penalty; below 0: each model's own
} serve_limits;

/* A model of the service, in memory or not. What is below `source` is a translator's:
 * see cla_model_languages, cla_model_sources and cla_model_targets. */
typedef struct serve_model {
    const char *folder;
    uint64_t bytes;   // of its weights and those of its workers
    cla_model *model; // NULL: not in memory
    int holders;      // workers that use it
    int64_t held;     // when one of them last began to
    const char *source, *target;
    bool any;
    const char *const *targets;        // [target_count]
    size_t target_count, source_count; // of sources: the same, or none
    int beam;
    double alpha;   // length penalty
    cla_text names; // what the names point into
    const char **name;
} serve_model;

enum { SERVE_MODELS = 256 };

/* Where the models of a service are, and how they are loaded. */
typedef struct serve_folders {
    const char *device;
    const char *folder[SERVE_MODELS]; // [count]
    int count, workers;
    cla_model_options how;
    uint64_t memory; // most bytes of all weights in memory; 0: all models stay there
} serve_folders;

typedef struct serve_detector serve_detector;

/* The models as they were when the service began, or read them again. */
typedef struct serve_models {
    struct serve *s;
    atomic_int users; // the service, and requests
    cla_runtime *rt;
    serve_model *item; // [count]
    int count;
    serve_detector *detector; // NULL: there is none
    char no_detector[128];    // why
    cla_mutex lock;           // guards the members below, and which models there are
    cla_condition changed;
    bool making_room, loading; // a worker does
    int64_t clock;             // holds so far
    uint64_t bytes;            // of the models in memory
} serve_models;

/* A line to translate, a sentence to tag or a question to answer. */
typedef struct serve_text {
    char *text;
    size_t size;
    json_t *result; // NULL until a worker sets it
} serve_text;

/* A request. It belongs to the thread of connections until serve_push, then to the
 * workers. The worker that finishes the last text calls done. */
typedef struct serve_job {
    serve_text *text; // [count] of all entries, one after the other
    size_t count, cap;
    size_t *first; // [entries + 1] the texts of each entry of the request
    size_t entries, first_cap;
    bool list;        // the request has a list of entries
    bool detect;      // its text is not translated: the response tells its language
    json_t *detected; // {"language", "confidence"} of the texts, where it was asked for
    bool html;        // entries are documents: their texts are their parts
    cla_document *document; // [entries]
    size_t document_cap;
    char *passage;                // of questions to answer
    serve_generation *generation; // of prompts to continue
    serve_stream *stream;         // of its one prompt; NULL: the response is whole
    size_t best;          // most answers to a question, or translations of a line
    serve_models *models; // of the service when the request came
    serve_model *with;    // one of them
    const char *source, *target; // their languages; NULL: the model's
    struct serve_pivot {
        serve_model *with; // translates before; NULL: there is no pivot
        const char *source, *target;
    } pivot;
    size_t taken;           // texts taken from the queue
    atomic_size_t finished; // texts that workers have finished
    int64_t began_ns;       // arrival of the request
    atomic_int code;        // HTTP status; 0: not known yet
    char *body;             // JSON of the response, made by the setter of code
    void *connection;       // of serve_http.c
    struct serve_job *next; // next in the queue
} serve_job;

enum { SERVE_CODES = 600, SERVE_BUCKETS = 12, SERVE_SIZES = 11 };

typedef struct serve_counts {
    uint64_t requests[SERVE_CODES];          // by status
    uint64_t texts, batches, cut;            // cut: translations at the longest length
    uint64_t loads, reloads, failed_reloads; // of models; of all folders
    uint64_t size[SERVE_SIZES + 1];          // batches by texts; last: above all bounds
    uint64_t bucket[SERVE_BUCKETS + 1]; // requests by latency; last: above all bounds
    double seconds;
} serve_counts;

/* A text of a job, for a worker. */
typedef struct serve_unit {
    serve_job *job;
    serve_text *text;
} serve_unit;

/* A worker thread and its copy of each model. */
typedef struct serve_worker {
    struct serve *s;
    int number;       // of the workers of each model
    serve_unit *unit; // [batch]
    cla_thread thread;
} serve_worker;

typedef struct serve {
    serve_kind kind;
    const char *kind_name, *path; // path: of its requests
    const serve_folders *folders;
    bool whole;           // texts are not cut into sentences
    const char *origin;   // pages of this origin may ask, "*": all; "": none
    serve_worker *worker; // [workers]
    int workers;
    const serve_limits *limits;
    void (*done)(const struct serve *s,
                 serve_job *job);       // called when a job has its code and body
    void (*wake)(serve_job *job);       // resumes a connection that was suspended
    bool (*gone)(const serve_job *job); // whether its client has left; NULL: never

    cla_mutex lock;       // guards the members below
    cla_condition more;   // signals a new job, or draining
    serve_models *models; // for requests that come
    serve_job *head, **tail;
    size_t waiting; // texts
    bool draining;  // new jobs are refused
    bool failed;    // the last batch failed on the device
    serve_counts counts;
} serve;

/* ---- serve_request.c ---- */

/* Fills a job from the body of a request: JSON, or a form when the request says so
 * (application/x-www-form-urlencoded) and the body does not begin like JSON: curl says
 * so of any body. A bad request is not a failure; the
 * job gets the code 400, or 413 for more texts than the queue holds, and a body with
 * the reason. A request without texts gets its response 200 at once. Errors:
 * CLA_E_NOMEM. */
cla_status serve_read_job(const serve *s, serve_job *job, const char *body, size_t size,
                          bool form);
/* Gives a job a code and {"error": message}, unless it has a code already. */
void serve_refuse(serve_job *job, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Writes the response 200 of a job whose texts all have results, unless it was
 * refused. */
void serve_complete(const serve *s, serve_job *job);
/* Returns object (consumed) as text, which the caller frees; NULL when out of
 * memory. */
char *serve_json(json_t *object);
void serve_job_free(serve_job *job);

/* The page of src/cli/translator, in a table that tools/embed.c writes. */
typedef struct serve_page {
    const char *name;          // "page.html"; NULL ends the table
    const unsigned char *text; // NUL-terminated
} serve_page;
extern const serve_page serve_pages[];

/* ---- serve_translate.c ---- */

/* Reads the format and the number of alternatives of a request. Errors: CLA_E_INPUT. */
cla_status serve_read_translate(serve_job *job, const json_t *object);
/* Return the translation of an entry, and a list of its alternatives; NULL when out of
 * memory. */
json_t *serve_translation(const serve_job *job, size_t entry);
json_t *serve_alternatives(const serve_job *job, size_t entry);

/* ---- serve_generate.c ---- */

/* Reads how the prompts of a request are continued. Errors: CLA_E_INPUT (the key),
 * CLA_E_NOMEM. */
cla_status serve_read_generate(const serve *s, serve_job *job, const json_t *object);
void serve_generation_free(serve_generation **generation);
/* Continues n prompts, one after the other. Errors: those of cla_model_generate. */
cla_status serve_generate(const serve_worker *w, cla_model *model,
                          const serve_unit *unit, size_t n);

/* ---- serve_routes.c ---- */

typedef struct serve_route {
    const char *path; // NULL: there is no such one
    int kind;         // serve_kind of a POST, or -1: GET
    /* Appends the response to a GET of the path, or refuses the job. Errors:
     * CLA_E_NOMEM. */
    cla_status (*get)(serve *s, serve_job *job, const char *path, cla_text *out);
    const char *type;    // of the content of the response
    const char *methods; // those that it takes
} serve_route;

const serve_route *serve_route_of(const char *path);
/* Refuses a request that the service does not take. */
void serve_refuse_route(const serve *s, serve_job *job, const serve_route *route,
                        const char *method);

/* ---- serve_stream.c ---- */

/* Events are server-sent: "data: ", JSON and two line ends (HTML standard, 9.2). The
 * connection and the worker of a job share its stream. */
cla_status serve_stream_new(serve_stream **out);
void serve_stream_free(serve_stream **stream);
/* For the worker: adds an event (consumed), and wakes the connection. Errors: CLA_E_IO
 * (the client has left), CLA_E_NOMEM. */
cla_status serve_stream_add(const serve *s, serve_job *job, json_t *event);
/* For the worker, when the job is done: no more events follow. A refused job whose
 * first events are sent ends with its error. */
void serve_stream_end(const serve *s, serve_job *job);
/* For the connection: returns whether a response has begun, so that its code is 200. */
bool serve_stream_begun(serve_stream *stream);
/* Copies at most `most` bytes; returns their number, 0 when the connection must be
 * suspended until wake, -1 at the end. suspend is called under the lock. */
ptrdiff_t serve_stream_read(serve_job *job, char *to, size_t most,
                            void (*suspend)(serve_job *job));
/* Notes that the client has left. */
void serve_stream_leave(serve_stream *stream);
bool serve_stream_left(serve_stream *stream);

/* ---- serve_languages.c ---- */

/* Notes the languages and the usual options of a translator. Errors: those of
 * cla_model_targets. */
cla_status serve_read_languages(serve_model *t, cla_model *model,
                                const serve_limits *limits);
/* Reads a string that may be missing: *name is NULL then. Errors: CLA_E_INPUT. */
cla_status serve_read_name(const json_t *object, const char *key, const char **name);
/* Chooses the first translator that takes the source and the target of a request, or
 * two with a language between. The texts tell the source "auto". Errors:
 * CLA_E_INPUT. */
cla_status serve_choose(serve_job *job, const json_t *object);
/* Returns the response of /languages or /frontend/settings; NULL when out of memory. */
json_t *serve_describe(const serve_models *m, const char *path);

/* ---- serve_models.c ---- */

/* Reads the folders of s->folders. Without a limit of memory it loads all models,
 * otherwise the first.
 * Errors: CLA_E_USAGE (a model of another kind than the service, or one that is alone
 * above the limit), those of cla_model_open and cla_model_hire. */
cla_status serve_models_open(serve_models **out, serve *s);
/* Gives the models for a request, and gives them back: the last user frees them. */
serve_models *serve_models_take(serve *s);
void serve_models_leave(serve_models **models);
/* Reads the folders again. Requests that come from now on get the new models; without
 * them, as a folder is damaged, the old ones stay, and the log tells. */
void serve_reload(serve *s);
/* Gives a worker a model until serve_release. It is loaded first when it is not in
 * memory; the models that were held the longest ago go then, as many as the limit asks
 * for. Waits while other workers hold too many. Who holds one must not ask for another.
 * Errors: those of cla_model_open and cla_model_hire. */
cla_status serve_hold(serve_models *m, serve_model *t, cla_model **model);
void serve_release(serve_models *m, serve_model *t);
/* Returns the model that a job's texts go through first. */
serve_model *serve_first(const serve_job *job);
uint64_t serve_models_bytes(serve_models *m); // of the weights in memory

/* ---- serve_detect.c, or serve_detect_none.c where there is no libexttextcat ---- */

/* Opens what tells the languages that translators read. Errors: CLA_E_USAGE (built
 * without the library), CLA_E_INPUT (it knows none of them), CLA_E_IO, CLA_E_NOMEM. */
cla_status serve_detector_new(serve_detector **out, const serve_models *m);
void serve_detector_free(serve_detector **detector);
/* Returns a list of {"language", "confidence"}, likeliest first: the languages whose
 * n-grams fit about as well as the best, and 100 divided by their number. For the
 * thread of connections alone. */
json_t *serve_detect(const serve_detector *detector, const char *text, size_t size);

/* ---- serve_queue.c ---- */

/* Opens a queue, and a worker thread for each worker of the model. Errors:
 * CLA_E_NOMEM. */
cla_status serve_open(serve *s);
void serve_close(serve *s);
/* Appends a job to the queue. Returns false after giving it the response 503 when the
 * queue is full or closed. */
bool serve_push(serve *s, serve_job *job);
/* Starts the workers. Errors: CLA_E_NOMEM. */
cla_status serve_start(serve *s);
/* Closes the queue and waits until the workers have finished all jobs. */
void serve_drain(serve *s);

/* ---- serve_work.c ---- */

/* Processes the n texts that w took from the queue. Each text gets its result, or its
 * job a code. Returns CLA_OK, also for bad input, or the last failure of another
 * kind. */
cla_status serve_work(const serve_worker *w, size_t n);

/* ---- serve_metrics.c ---- */

/* Counts a response. The caller does not hold lock. */
void serve_count(serve *s, int code, int64_t began_ns);
/* Adds n to one of the counts. The caller does not hold lock. */
void serve_count_add(serve *s, uint64_t *count, uint64_t n);
/* Counts a batch of n texts. The caller holds lock. */
void serve_count_batch(serve *s, size_t n);
/* Appends all counters. Errors: CLA_E_NOMEM. */
cla_status serve_metrics(serve *s, serve_models *m, cla_text *out);
/* Logs the number of requests with each status, for CLATTN_LOG=info. */
void serve_log_counts(const serve *s);

/* ---- serve_http.c, or serve_none.c where there is no libmicrohttpd ---- */

/* Serves requests at address and port (0: any free port) until SIGINT or SIGTERM;
 * SIGHUP reads the models again.
 * Errors: CLA_E_USAGE (not an address; built without libmicrohttpd), CLA_E_IO (cannot
 * listen, start or print the address), CLA_E_NOMEM. */
cla_status serve_run(serve *s, const char *address, int port);
/* Checks for libmicrohttpd. Errors: CLA_E_USAGE (built without it). */
cla_status serve_available(void);
