/* rules.c - rewrites text by regular expressions; with PCRE2. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "metrics/rules.h"

#include <pcre2.h>
#include <string.h>

enum { MAX_RULES = 16 };

struct cla_rules {
    const cla_rule *rule;
    pcre2_code *code[MAX_RULES];
    int count;
};

static cla_status fail_pcre(const char *what, int error)
{
    PCRE2_UCHAR reason[128] = "";
    pcre2_get_error_message(error, reason, sizeof reason);
    return cla_fail(error == PCRE2_ERROR_NOMEMORY ? CLA_E_NOMEM : CLA_E_INPUT,
                    "pattern '%s': %s", what, (const char *)reason);
}

static cla_status compile(cla_rules *r)
{
    for (; r->rule[r->count].pattern; r->count++) {
        const char *pattern = r->rule[r->count].pattern;
        int error = 0;
        PCRE2_SIZE at = 0;
        if (r->count == MAX_RULES) {
            return cla_fail(CLA_E_USAGE, "more than %d patterns", MAX_RULES);
        }
        r->code[r->count] = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                                          PCRE2_UTF | PCRE2_UCP, &error, &at, NULL);
        if (!r->code[r->count]) {
            return cla_fail(CLA_E_USAGE, "pattern '%s': error %d at byte %zu", pattern,
                            error, at);
        }
    }
    return CLA_OK;
}

cla_status cla_rules_new(cla_rules **out, const cla_rule *rules)
{
    CLA_TRY(cla_alloc(out, 1, sizeof **out));
    (*out)->rule = rules;
    const cla_status status = compile(*out);
    if (status) {
        cla_rules_free(out);
    }
    return status;
}

void cla_rules_free(cla_rules **rules)
{
    for (int i = 0; *rules && i < (*rules)->count; i++) {
        pcre2_code_free((*rules)->code[i]);
    }
    free(*rules);
    *rules = NULL;
}

/* Applies one rule to text and writes the result to out, which grows as needed. */
static cla_status substitute(const pcre2_code *code, const cla_rule *rule,
                             const cla_text *text, cla_text *out)
{
    PCRE2_SIZE size = 2 * text->size + 64;
    for (;;) {
        CLA_TRY(cla_grow(&out->data, &out->cap, size + 1, 1));
        size = out->cap;
        const int n =
            pcre2_substitute(code, (PCRE2_SPTR)text->data, text->size, 0,
                             PCRE2_SUBSTITUTE_GLOBAL | PCRE2_SUBSTITUTE_OVERFLOW_LENGTH,
                             NULL, NULL, (PCRE2_SPTR)rule->replacement,
                             PCRE2_ZERO_TERMINATED, (PCRE2_UCHAR *)out->data, &size);
        if (n >= 0) {
            out->size = size;
            return CLA_OK;
        }
        if (n != PCRE2_ERROR_NOMEMORY || size <= out->cap) {
            return fail_pcre(rule->pattern, n);
        }
    }
}

cla_status cla_rules_apply(const cla_rules *r, cla_text *text)
{
    cla_text other = { 0 };
    cla_status status = cla_text_append(text, "", 0);
    for (int i = 0; i < r->count && !status; i++) {
        status = substitute(r->code[i], &r->rule[i], text, &other);
        if (!status) {
            const cla_text kept = *text;
            *text = other;
            other = kept;
        }
    }
    cla_text_free(&other);
    return status;
}
