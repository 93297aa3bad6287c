/* settings.h - settings of runs for tests. */
#pragma once

#include "base/config.h"

/* Makes settings: data=FOLDER, and KEY=VALUE of a list up to NULL. */
void test_settings(cla_config *settings, const char *folder, const char *const *list);

/* Adds those of a list up to NULL, or none. */
void test_settings_add(cla_config *settings, const char *const *list);
