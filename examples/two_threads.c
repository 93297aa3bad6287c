/* two_threads.c - separate runtimes in separate threads; run under ThreadSanitizer.
 *
 * A plain program: a test framework that forks would hide the threads from it.
 *
 *   two_threads [THREADS [ROUNDS]]      by default 2 threads of 3 rounds */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clattn/clattn.h"

enum { MOST = 64, B = 2, H = 3, T = 7, SIZE = B * H * T * T };

typedef struct job {
    int rounds;
    float y[SIZE], dx[SIZE];
    char error[256]; // "" when all went well
} job;

static cla_status step(cla_runtime *rt, cla_tensor *x, const cla_tensor *dy, job *j)
{
    cla_tape *tape;
    cla_status status = cla_tape_new(&tape, rt, true);
    cla_tensor *y = NULL;
    status = status ? status : cla_masked_softmax(tape, &y, x, NULL, NULL, true);
    status = status ? status : cla_tape_seed(tape, y, dy);
    status = status ? status : cla_tape_backward(tape);
    status = status ? status : cla_tensor_download(y, j->y);
    status = status ? status : cla_tensor_download(cla_tensor_grad(x), j->dx);
    cla_tensor_clear_grad(x);
    cla_tape_free(&tape);
    return status;
}

static cla_status work(cla_runtime *rt, cla_tensor **x, cla_tensor **dy, job *j)
{
    const int64_t shape[] = { B, H, T, T };
    float host[SIZE];
    for (int i = 0; i < SIZE; i++) {
        host[i] = sinf(0.37f * (float)i);
    }
    cla_status status = cla_tensor_new(x, rt, CLA_F32, 4, shape);
    status = status ? status : cla_tensor_new(dy, rt, CLA_F32, 4, shape);
    status = status ? status : cla_tensor_upload(*x, host);
    status = status ? status : cla_tensor_upload(*dy, host);
    if (status) return status;

    cla_tensor_want_grad(*x, true);
    for (int round = 0; round < j->rounds && !status; round++) {
        status = step(rt, *x, *dy, j);
    }
    return status;
}

static void *run(void *argument)
{
    job *j = argument;
    cla_runtime *rt = NULL;
    cla_tensor *x = NULL, *dy = NULL;
    cla_status status = cla_runtime_new(&rt, NULL);
    status = status ? status : work(rt, &x, &dy, j);
    if (status) snprintf(j->error, sizeof j->error, "%s", cla_error());

    cla_tensor_free(&dy);
    cla_tensor_free(&x);
    cla_runtime_free(&rt);
    return NULL;
}

/* Says which threads failed or computed other bits than the first. */
static int compare(const job *jobs, int threads)
{
    int bad = 0;
    for (int i = 0; i < threads; i++) {
        const bool same = !memcmp(jobs[i].y, jobs[0].y, sizeof jobs[0].y) &&
                          !memcmp(jobs[i].dx, jobs[0].dx, sizeof jobs[0].dx);
        const char *error = jobs[i].error[0] ? jobs[i].error : "other bits";
        if (jobs[i].error[0] || !same) {
            printf("thread %d: %s\n", i, error);
            bad = 1;
        }
    }
    if (!bad) printf("%d threads, the same bits\n", threads);
    return bad;
}

/* A number of the command line, or a negative one for no number. */
static int number(const char *text)
{
    char *end;
    const long value = strtol(text, &end, 10);
    return *end || end == text || value > 1000000 ? -1 : (int)value;
}

int main(int argc, char **argv)
{
    static job jobs[MOST];
    pthread_t ids[MOST];
    const int threads = argc > 1 ? number(argv[1]) : 2;
    const int rounds = argc > 2 ? number(argv[2]) : 3;
    if (argc > 3 || threads < 1 || threads > MOST || rounds < 1) {
        fprintf(stderr, "usage: two_threads [THREADS [ROUNDS]], up to %d\n", MOST);
        return 2;
    }
    for (int i = 0; i < threads; i++) {
        jobs[i].rounds = rounds;
        if (pthread_create(&ids[i], NULL, run, &jobs[i])) return 1;
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
    }
    return compare(jobs, threads);
}
