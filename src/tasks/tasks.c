/* tasks.c - the tasks that a config can name as its "model". */
#include "tasks/poetry/poetry.h"
#include "tasks/reading/reading.h"
#include "tasks/tagging/tagging.h"
#include "tasks/translation/translation.h"

const cla_task_kind *const cla_tasks[] = { &tagging_kind, &translation_kind,
                                           &reading_kind, &poetry_kind, NULL };
