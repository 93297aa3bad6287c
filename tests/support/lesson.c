/* lesson.c - a fixture: a tiny reader and its training data. */
#include "support/lesson.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/waits.h"
#include "train/step.h"

static cla_task *open_reader(cla_runtime *rt, cla_config *settings, const char *folder,
                             const char *const *extra)
{
    static const char *const small[] = { "model=reader",   "word_dim=12", "trait_dim=4",
                                         "hidden=12",      "min_count=1", "batch=8",
                                         "optimiser=adam", "lr=0.02" };
    cla_task *task = NULL;
    char data[256];
    *settings = (cla_config){ .values = json_object(), .known = json_object() };
    TEST_OK(cla_strdup(&settings->path, "test"));
    snprintf(data, sizeof data, "data=%s", folder);
    TEST_OK(cla_config_set(settings, data));
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        TEST_OK(cla_config_set(settings, small[i]));
    }
    for (; *extra; extra++) {
        TEST_OK(cla_config_set(settings, *extra));
    }
    TEST_OK(cla_task_open(&task, rt, settings, NULL, CLA_TASK_NEW));
    return task;
}

double lesson_train(cla_task *task, cla_config *settings, int epochs)
{
    cla_stepper s;
    cla_parallel parallel = { .size = 1 };
    const int64_t questions = task->examples;
    int64_t *order = calloc((size_t)questions + 1, sizeof *order), step = 0;
    double sum = 0;
    TEST_OK(cla_stepper_configure(&s, task->kind, settings));
    TEST_OK(cla_stepper_init(&s, task, &parallel));
    for (int e = 0; e < epochs; e++) {
        sum = 0;
        TEST_OK(cla_stepper_order(&s, order, e));
        for (int64_t at = 0, n = 0; at < questions; at += n) {
            cla_step_result result = { .stop = false };
            n = cla_stepper_take(&s, at);
            waits_begin(task->rt);
            TEST_OK(cla_stepper_step(&s, order + at, n, step++, &result));
            waits_end(task->rt, 1);
            sum += result.loss * (double)n / (double)questions;
        }
    }
    cla_stepper_fini(&s);
    free(order);
    return sum;
}

void lesson_begin(lesson *s, const char *ending, void (*write)(const char *folder),
                  const char *const *extra)
{
    *s = (lesson){ .folder = "/tmp/clattn-lesson-XXXXXX", .ending = ending };
    cr_assert_not_null(mkdtemp(s->folder));
    write(s->folder);
    TEST_OK(cla_runtime_new(&s->rt, NULL));
    s->task = open_reader(s->rt, &s->settings, s->folder, extra);
}

void lesson_end(lesson *s)
{
    char path[64];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s%s", s->folder, i ? "dev" : "train",
                 s->ending);
        unlink(path);
    }
    rmdir(s->folder);
    cla_task_close(&s->task);
    cla_config_fini(&s->settings);
    cla_runtime_free(&s->rt);
}
