/* settings.c - settings of runs for tests. */
#include "support/settings.h"

#include <stdio.h>

#include "support/support.h"

void test_settings(cla_config *settings, const char *folder, const char *const *list)
{
    char data[64];
    *settings = (cla_config){ .values = json_object(), .known = json_object() };
    TEST_OK(cla_strdup(&settings->path, "test"));
    snprintf(data, sizeof data, "data=%s", folder);
    TEST_OK(cla_config_set(settings, data));
    test_settings_add(settings, list);
}

void test_settings_add(cla_config *settings, const char *const *list)
{
    for (; list && *list; list++) {
        TEST_OK(cla_config_set(settings, *list));
    }
}
