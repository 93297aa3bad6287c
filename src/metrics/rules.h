/* rules.h - rewrites a text by a list of regular expressions, one after the other. */
#pragma once

#include "base/text.h"

/* A PCRE2 pattern, of which all matches are replaced, and its replacement ($1: group
 * 1). */
typedef struct cla_rule {
    const char *pattern, *replacement;
} cla_rule;

typedef struct cla_rules cla_rules;

/* Compiles rules, which end with a NULL pattern and must outlive *out. Character
 * classes and word boundaries follow Unicode. Errors: CLA_E_USAGE (a malformed pattern,
 * more than 16 rules), CLA_E_NOMEM. */
cla_status cla_rules_new(cla_rules **out, const cla_rule *rules);
void cla_rules_free(cla_rules **rules);

/* Rewrites text (UTF-8) in place. Errors: CLA_E_INPUT (not UTF-8), CLA_E_NOMEM. */
cla_status cla_rules_apply(const cla_rules *rules, cla_text *text);
