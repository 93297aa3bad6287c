/* rules.h - a text rewritten by a list of regular expressions, one after the other. */
#pragma once

#include "base/text.h"

/* What PCRE2 replaces, everywhere and from the left, and what by ($1 is a group). */
typedef struct cla_rule {
    const char *pattern, *replacement;
} cla_rule;

typedef struct cla_rules cla_rules;

/* Compiles rules up to the one without a pattern; classes and word boundaries are
 * Unicode's. Errors: CLA_E_USAGE (a pattern that is none), CLA_E_NOMEM. */
cla_status cla_rules_new(cla_rules **out, const cla_rule *rules);
void cla_rules_free(cla_rules **rules);

/* Rewrites text (UTF-8) in place. Errors: CLA_E_INPUT (not UTF-8), CLA_E_NOMEM. */
cla_status cla_rules_apply(const cla_rules *rules, cla_text *text);
