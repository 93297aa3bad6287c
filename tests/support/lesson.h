/* lesson.h - a fixture: a tiny reader and its training data. */
#pragma once

#include "support/support.h"
#include "tasks/reading/reading.h"

typedef struct lesson {
    char folder[32];
    const char *ending;
    cla_runtime *rt;
    cla_config settings;
    cla_task *task;
} lesson;

/* Opens a reader on a new folder, in which write makes the files train and dev with the
 * suffix ending. extra: more settings, up to NULL. */
void lesson_begin(lesson *s, const char *ending, void (*write)(const char *folder),
                  const char *const *extra);
void lesson_end(lesson *s);

/* Trains for some epochs. Returns the mean loss of the last one. */
double lesson_train(cla_task *task, cla_config *settings, int epochs);
