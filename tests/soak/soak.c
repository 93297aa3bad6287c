/* soak.c - opens and closes runtimes and trains for a while: memory must not grow.
 *
 * A round does ten steps of a run that stays open, then opens a runtime of its own with
 * a model and closes it. Memory of the host and of the device must grow by less than
 * one per cent from the first half of the rounds to the second.
 *
 * Built with SOAK_NULL the second runtime trains a step, too, and the heap must grow by
 * less than 0.3 per cent. That is for the null device of the fuzz targets: PoCL 3.1
 * keeps about 3 kB for each program that was launched, even when program, context and
 * queue were released.
 *
 *   soak [--hours X | --rounds N]       by default 10 seconds, at most 200 rounds */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "runtime/runtime.h"
#include "train/step.h"

#ifdef SOAK_NULL // the heap has clattn's memory alone
#define HEAP_GROWTH 0.3
enum { LAUNCHES = 1 };
#else
#define HEAP_GROWTH 1.0
enum { LAUNCHES = 0 };
#endif

enum { ROUNDS = 200, STEPS = 10, WARM = 3 };

/* A translator of made-up sentences on a runtime. */
typedef struct training {
    cla_runtime *rt;
    cla_config settings;
    cla_task *task;
    cla_stepper stepper;
    int64_t *order, next, epoch, step;
} training;

/* Bytes after a round. A sanitizer's allocator does not report the bytes in use: 0. */
typedef struct sample {
    uint64_t resident, heap, device;
} sample;

typedef struct soak {
    char folder[32];
    training stays;
    sample *samples; // after each round
    size_t count, cap;
} soak;

/* ---- the data ------------------------------------------------------------------- */

static cla_status put(const soak *s, const char *name, const char *text)
{
    char path[64];
    snprintf(path, sizeof path, "%s/%s", s->folder, name);
    return cla_file_write(path, text, strlen(text));
}

static cla_status put_data(const soak *s)
{
    static const char *const stems[] = { "train", "dev" };
    static const char source[] = "a b c\nb a\nc a b a\nb c\nd a c\na d\nb d c a\nd b\n";
    static const char target[] = "z y x\ny z\nx z y z\ny x\nw z x\nz w\ny w x z\nw y\n";
    char name[16];
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "%s.en", stems[i]);
        CLA_TRY(put(s, name, source));
        snprintf(name, sizeof name, "%s.de", stems[i]);
        CLA_TRY(put(s, name, target));
    }
    return CLA_OK;
}

static void remove_data(const soak *s)
{
    static const char *const names[] = { "train.en", "train.de", "dev.en", "dev.de" };
    char path[64];
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", s->folder, names[i]);
        unlink(path);
    }
    rmdir(s->folder);
}

/* ---- a training ----------------------------------------------------------------- */

static cla_status settle(training *t, const char *folder)
{
    static const char *const small[] = {
        "model=translator", "source=en", "target=de", "dim=16",
        "heads=2",          "inner=32",  "layers=1",  "merges=0",
        "tokens=40",        "warmup=20", "lr=0.4",    "dropout=0.1"
    };
    char data[64];
    t->settings = (cla_config){ .values = json_object(), .known = json_object() };
    CLA_TRY(cla_strdup(&t->settings.path, "soak"));
    snprintf(data, sizeof data, "data=%s", folder);
    CLA_TRY(cla_config_set(&t->settings, data));
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        CLA_TRY(cla_config_set(&t->settings, small[i]));
    }
    return CLA_OK;
}

static cla_status training_open(training *t, const char *folder)
{
    static const cla_parallel alone = { .size = 1 };
    *t = (training){ 0 };
    CLA_TRY(cla_runtime_new(&t->rt, NULL));
    CLA_TRY(settle(t, folder));
    CLA_TRY(cla_task_open(&t->task, t->rt, &t->settings, NULL, CLA_TASK_NEW));
    CLA_TRY(cla_stepper_configure(&t->stepper, t->task->kind, &t->settings));
    CLA_TRY(cla_config_check(&t->settings));
    CLA_TRY(cla_stepper_init(&t->stepper, t->task, &alone));
    CLA_TRY(cla_alloc(&t->order, (size_t)t->task->examples, sizeof *t->order));
    t->next = t->task->examples; // an epoch begins
    return CLA_OK;
}

static void training_close(training *t)
{
    cla_stepper_fini(&t->stepper);
    cla_task_close(&t->task);
    cla_config_fini(&t->settings);
    free(t->order);
    cla_runtime_free(&t->rt);
}

static cla_status train(training *t, int steps)
{
    for (int i = 0; i < steps; i++) {
        cla_step_result result = { .stop = false };
        if (t->next >= t->task->examples) {
            t->next = 0;
            CLA_TRY(cla_stepper_order(&t->stepper, t->order, t->epoch++));
        }
        const int64_t n = cla_stepper_take(&t->stepper, t->next);
        CLA_TRY(
            cla_stepper_step(&t->stepper, t->order + t->next, n, t->step++, &result));
        t->next += n;
    }
    return CLA_OK;
}

/* ---- rounds --------------------------------------------------------------------- */

/* Returns the resident bytes of this process. */
static uint64_t resident(void)
{
    unsigned long long pages = 0, unused = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    const bool read = file && fscanf(file, "%llu %llu", &unused, &pages) == 2;
    if (file) {
        fclose(file);
    }
    return read ? pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

static cla_status one_round(soak *s)
{
    training passes;
    CLA_TRY(train(&s->stays, STEPS));
    cla_status status = training_open(&passes, s->folder);
    status = status ? status : train(&passes, LAUNCHES);
    const uint64_t device = status ? 0 : cla_runtime_peak_bytes(passes.rt);
    training_close(&passes);
    CLA_TRY(status);
    malloc_trim(0); // memory that malloc keeps is not lost
    CLA_TRY(cla_grow(&s->samples, &s->cap, s->count + 1, sizeof *s->samples));
    const struct mallinfo2 heap = mallinfo2();
    s->samples[s->count++] = (sample){
        .resident = resident(),
        .heap = heap.uordblks + heap.hblkhd - s->cap * sizeof *s->samples,
        .device = device + cla_runtime_peak_bytes(s->stays.rt),
    };
    return CLA_OK;
}

static cla_status run(soak *s, int64_t rounds, int64_t time_ns)
{
    const int64_t begin = cla_time_ns();
    CLA_TRY(put_data(s));
    CLA_TRY(training_open(&s->stays, s->folder));
    for (int i = 0; i < WARM; i++) {
        CLA_TRY(one_round(s));
    }
    s->count = 0;
    for (int64_t i = 0; i < rounds; i++) {
        CLA_TRY(one_round(s));
        if (i >= 1 && cla_time_ns() - begin > time_ns) {
            break;
        }
    }
    return CLA_OK;
}

/* Prints a row. Returns whether memory grew by less than most per cent. */
static bool report_row(const char *name, uint64_t first, uint64_t second, double most)
{
    const double growth = first ? 100 * ((double)second / (double)first - 1) : 0;
    printf("%-16s %12.3f MB  %+.3f %%\n", name, (double)second / 1e6, growth);
    return first > 0 && growth < most;
}

/* Returns the largest values of n rounds: batches differ, and so does memory in use. */
static sample largest(const sample *samples, size_t n)
{
    sample most = samples[0];
    for (size_t i = 1; i < n; i++) {
        const sample *x = &samples[i];
        most.resident = x->resident > most.resident ? x->resident : most.resident;
        most.heap = x->heap > most.heap ? x->heap : most.heap;
        most.device = x->device > most.device ? x->device : most.device;
    }
    return most;
}

static bool report(const soak *s)
{
    const size_t half = s->count / 2;
    const sample first = largest(s->samples, half);
    const sample second = largest(s->samples + half, s->count - half);
    printf("%zu runtimes, %lld steps; most in the second half, and over the first:\n",
           s->count, (long long)s->stays.step);
    const bool resident = report_row("resident", first.resident, second.resident, 1);
    const bool heap = report_row("heap", first.heap, second.heap, HEAP_GROWTH);
    const bool device = report_row("device", first.device, second.device, 1);
    return resident && heap && device;
}

static bool take_arguments(int argc, char **argv, int64_t *rounds, int64_t *time_ns)
{
    double hours = 0;
    *rounds = ROUNDS;
    *time_ns = 10 * INT64_C(1000000000);
    if (argc == 1) {
        return true;
    }
    if (argc == 3 && strcmp(argv[1], "--rounds") == 0) {
        *time_ns = INT64_MAX;
        return cla_parse_int(argv[2], rounds) && *rounds >= 2;
    }
    if (argc == 3 && strcmp(argv[1], "--hours") == 0 &&
        cla_parse_double(argv[2], &hours) && hours > 0 && hours < 1e4) {
        *rounds = INT64_MAX;
        *time_ns = (int64_t)(hours * 3600e9);
        return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    int64_t rounds = 0, time_ns = 0;
    soak s = { .folder = "/tmp/clattn-soak-XXXXXX" };
    if (!take_arguments(argc, argv, &rounds, &time_ns)) {
        fprintf(stderr, "usage: soak [--hours X | --rounds N]\n");
        return CLA_E_USAGE;
    }
    if (!mkdtemp(s.folder)) {
        fprintf(stderr, "soak: %s: %s\n", s.folder, strerror(errno));
        return CLA_E_IO;
    }
    const cla_status status = run(&s, rounds, time_ns);
    if (status) {
        fprintf(stderr, "soak: %s\n", cla_error());
    }
    const bool kept = !status && report(&s);
    training_close(&s.stays);
    remove_data(&s);
    free(s.samples);
    return status ? (int)status : !kept;
}
