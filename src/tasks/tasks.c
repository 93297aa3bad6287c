/* tasks.c - the tasks that a config can name as its "model". */
#include "tasks/language/language.h"
#include "tasks/poetry/poetry.h"
#include "tasks/reading/reading.h"
#include "tasks/tagging/tagging.h"
#include "tasks/translation/translation.h"

const cla_task_kind *const cla_tasks[] = { &cla_tagging_kind,  &cla_translation_kind,
                                           &cla_reading_kind,  &cla_poetry_kind,
                                           &cla_language_kind, NULL };
