/* serve.h - the HTTP service: requests become jobs, whose texts one thread or several
 * work on in batches.
 *
 *   serve_http.c     connections, routes, responses; the only file with libmicrohttpd
 *   serve_request.c  a request's body becomes a job
 *   serve_queue.c    the bounded queue and the threads that empty it
 *   serve_work.c     a batch of texts through the model
 *   serve_metrics.c  counters as Prometheus reads them
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "cli/cli.h"
#include "train/task.h"

/* What the model loaded can do: one path of the service each. */
typedef enum serve_kind { SERVE_TRANSLATE, SERVE_TAG, SERVE_ANSWER } serve_kind;

typedef struct serve_limits {
    int batch, wait_ms;  // texts worked on together; how long a batch waits for more
    int queue;           // texts that wait at most
    int body, max_words; // bytes of a request; words or pieces of a text
    int timeout;         // seconds
    int connections;     // open at a time
    int beam;            // of translations
    double alpha;        // their length penalty
} serve_limits;

/* One line to translate, sentence to tag or question to answer. */
typedef struct serve_text {
    char *text;
    size_t size;
    json_t *result; // NULL until it is worked on
} serve_text;

/* A request. Until it is handed to the queue it belongs to the thread of connections,
 * from then on to the workers, of which the one that finishes the last text calls
 * done. */
typedef struct serve_job {
    serve_text *text; // [count] texts of all entries, one after the other
    size_t count, cap;
    size_t *first; // [entries + 1] the texts of each entry of the request
    size_t entries, first_cap;
    bool list;              // the request had a list of entries
    char *passage;          // of answers
    size_t best;            // answers to a question
    size_t taken;           // texts that a batch took
    atomic_size_t finished; // texts that are worked on
    int64_t began_ns;       // when the request came
    atomic_int code;        // HTTP status; 0 until it is known
    char *body;             // JSON of the response, of whom set the code
    void *connection;       // of serve_http.c
    struct serve_job *next; // in the queue
} serve_job;

enum { SERVE_CODES = 600, SERVE_BUCKETS = 12, SERVE_SIZES = 11 };

typedef struct serve_counts {
    uint64_t requests[SERVE_CODES]; // by status
    uint64_t texts, batches;
    uint64_t size[SERVE_SIZES + 1]; // batches by their texts; the last as of bucket
    uint64_t
        bucket[SERVE_BUCKETS + 1]; // latencies; the last has those above all bounds
    double seconds;
} serve_counts;

/* A text of a job, for a worker. */
typedef struct serve_unit {
    serve_job *job;
    serve_text *text;
} serve_unit;

/* A thread and its copy of the model. */
typedef struct serve_worker {
    struct serve *s;
    cla_task *task;
    serve_unit *unit; // [batch]
    pthread_t thread;
} serve_worker;

typedef struct serve {
    serve_kind kind;
    const cla_task *task; // of the settings
    serve_worker *worker; // [workers]
    int workers;
    const serve_limits *limits;
    void (*done)(serve_job *job); // a job has its code and body

    pthread_mutex_t lock; // of what follows
    pthread_cond_t more;  // a job came, or the end
    serve_job *head, **tail;
    size_t waiting; // texts
    bool draining;  // no job is taken any more
    bool failed;    // the device failed in the last batch
    serve_counts counts;
} serve;

/* ---- serve_request.c ---- */

/* Fills a job from the body of a request. form: it is a form
 * (application/x-www-form-urlencoded) and no JSON. A bad request is no failure: the job
 * then has a code of 400 and the body that says why. A request without texts is
 * answered at once, with 200. Errors: CLA_E_NOMEM. */
cla_status serve_read_job(const serve *s, serve_job *job, const char *body, size_t size,
                          bool form);
/* Gives a job a code and {"error": message}; a second one is not taken. */
void serve_refuse(serve_job *job, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The response of a job whose texts all have results. */
void serve_complete(const serve *s, serve_job *job);
/* Object (taken) as text to be freed; NULL without memory. */
char *serve_json(json_t *object);
void serve_job_free(serve_job *job);

/* ---- serve_queue.c ---- */

/* Opens a queue and a worker for each of the workers' copies of the model. */
cla_status serve_open(serve *s, cla_task *const *task);
void serve_close(serve *s);
/* Hands a job to the workers. False: it has the response 503 instead. */
bool serve_push(serve *s, serve_job *job);
/* Starts the workers. Errors: CLA_E_NOMEM. */
cla_status serve_start(serve *s);
/* No job is taken from now on; waits until the workers have done the last one. */
void serve_drain(serve *s);

/* ---- serve_work.c ---- */

/* Works on the n texts that w took; each gets its result, or its job a code. Returns
 * the failure of a device that the service cannot mend, or CLA_OK. */
cla_status serve_work(const serve_worker *w, size_t n);

/* ---- serve_metrics.c ---- */

/* Counts a response; lock is not held. */
void serve_count(serve *s, int code, int64_t began_ns);
/* Counts a batch of n texts; lock is held. */
void serve_count_batch(serve *s, size_t n);
/* Appends all counters. Errors: CLA_E_NOMEM. */
cla_status serve_metrics(serve *s, cla_text *out);

/* ---- serve_http.c, or serve_none.c where there is no libmicrohttpd ---- */

/* Answers requests at address and port (0: any) until SIGINT or SIGTERM.
 * Errors: CLA_E_USAGE (no address; built without libmicrohttpd), CLA_E_IO (the port is
 * not to be had), CLA_E_NOMEM. */
cla_status serve_run(serve *s, const char *address, int port);
/* Errors: CLA_E_USAGE where the program was built without libmicrohttpd. */
cla_status serve_available(void);
