/* platform_pattern.c - extended regular expressions, of the C library or of PCRE2. */
#include <stdlib.h>

#ifdef _WIN32
#include <pcre2posix.h>
#else
#include <regex.h>
#endif

#include "base/platform.h"

struct cla_pattern {
    regex_t compiled;
};

cla_pattern *cla_pattern_new(const char *text, char *error, size_t size)
{
    cla_pattern *pattern = malloc(sizeof *pattern);
    if (!pattern) {
        snprintf(error, size, "out of memory");
        return NULL;
    }
    const int code = regcomp(&pattern->compiled, text, REG_EXTENDED | REG_NOSUB);
    if (code) {
        regerror(code, &pattern->compiled, error, size);
        free(pattern);
        return NULL;
    }
    return pattern;
}

bool cla_pattern_matches(const cla_pattern *pattern, const char *text)
{
    return regexec(&pattern->compiled, text, 0, NULL, 0) == 0;
}

void cla_pattern_free(cla_pattern **pattern)
{
    if (!*pattern) return;
    regfree(&(*pattern)->compiled);
    free(*pattern);
    *pattern = NULL;
}
