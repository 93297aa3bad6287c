/* toy.h - a tiny translator of made-up sentences, each word of which has one
 * translation. */
#pragma once

#include "tasks/translation/translation.h"
#include "train/loop.h"

enum { TOY_PAIRS = 32 };

typedef struct toy {
    char folder[32];
    cla_runtime *rt;
    cla_config settings;
    cla_task *task;
    translation *t;
    cla_stepper stepper;
} toy;

/* A folder with the sentences, the same for each split, and a runtime. */
void toy_make(toy *f);
void toy_unmake(toy *f);

/* The settings of a small model with a hard layer; extra: more of them, up to NULL. */
void toy_settle(toy *f, const char *const *extra);

/* The same, and the translator ready for steps. */
void toy_open(toy *f, const char *const *extra);
void toy_close(toy *f);

/* Steps on all pairs, epochs times. */
void toy_train(toy *f, int epochs);
