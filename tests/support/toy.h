/* toy.h - a fixture: a tiny translator and a made-up corpus in which each word has one
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

/* Writes the corpus to a new folder, the same for each split, and opens a runtime. */
void toy_make(toy *f);
void toy_unmake(toy *f);

/* Sets the settings of a small model with hard attention. extra: more settings, up to
 * NULL, or NULL. */
void toy_settle(toy *f, const char *const *extra);

/* Calls toy_settle and opens the translator, ready for training steps. */
void toy_open(toy *f, const char *const *extra);
void toy_close(toy *f);

/* Trains on all pairs for some epochs. */
void toy_train(toy *f, int epochs);
