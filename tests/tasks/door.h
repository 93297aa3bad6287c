/* door.h - a fixture: the models of the fuzz targets, by clattn/model.h. */
#pragma once

#include "clattn/model.h"

enum { LINES = 6 };
extern const char *const lines[LINES]; // to translate

typedef struct fixture {
    cla_runtime *rt;
    cla_model *model;
} fixture;

/* Opens a model of this kind. */
fixture open_model(const char *kind, const cla_model_options *options);
void close_model(fixture *f);
