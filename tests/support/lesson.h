/* lesson.h - a tiny reader and what it is taught. */
#pragma once

#include "support/support.h"
#include "tasks/reading/reading.h"

/* A reader of a folder of its own, in which write makes train and dev with that ending;
 * with the settings extra, up to NULL, besides. */
typedef struct lesson {
    char folder[32];
    const char *ending;
    cla_runtime *rt;
    cla_config settings;
    cla_task *task;
} lesson;

void lesson_begin(lesson *s, const char *ending, void (*write)(const char *folder),
                  const char *const *extra);
void lesson_end(lesson *s);

/* Some epochs; the mean loss of the last one. */
double lesson_train(cla_task *task, cla_config *settings, int epochs);
