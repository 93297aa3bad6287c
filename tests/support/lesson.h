/* lesson.h - a tiny reader and what it is taught. */
#pragma once

#include "support/support.h"
#include "train/reading.h"

/* A reader of a folder's questions, with the settings extra, up to NULL, besides. */
cla_task *lesson_open(cla_runtime *rt, cla_config *settings, const char *folder,
                      const char *const *extra);

/* Some epochs; the mean loss of the last one. */
double lesson_train(cla_task *task, cla_config *settings, int epochs);
