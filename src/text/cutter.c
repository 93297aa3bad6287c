/* cutter.c - cuts a text by a regular expression, with PCRE2. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/cutter.h"

#include <pcre2.h>

struct cla_cutter {
    pcre2_code *code;
    pcre2_match_data *found;
    const char *text;  // of the last call
    size_t begin, end; // the match that was found behind its piece; end 0: none
};

static cla_status fail_pcre(const char *who, int error)
{
    PCRE2_UCHAR reason[128] = "";
    pcre2_get_error_message(error, reason, sizeof reason);
    return cla_fail(error == PCRE2_ERROR_NOMEMORY ? CLA_E_NOMEM : CLA_E_INPUT, "%s: %s",
                    who, (const char *)reason);
}

cla_status cla_cutter_new(cla_cutter **out, const char *path, const char *pattern)
{
    int error = 0;
    PCRE2_SIZE at = 0;
    CLA_TRY(cla_alloc(out, 1, sizeof **out));
    (*out)->code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                                 PCRE2_UTF | PCRE2_UCP, &error, &at, NULL);
    if (!(*out)->code) {
        cla_text who = { 0 };
        cla_cutter_free(out);
        CLA_TRY(
            cla_text_add(&who, "%s: pattern '%.200s': byte %zu", path, pattern, at));
        const cla_status status = fail_pcre(who.data, error);
        cla_text_free(&who);
        return status;
    }
    (*out)->found = pcre2_match_data_create_from_pattern((*out)->code, NULL);
    if (!(*out)->found) {
        cla_cutter_free(out);
        return cla_fail(CLA_E_NOMEM, "%s: out of memory", path);
    }
    pcre2_jit_compile((*out)->code, PCRE2_JIT_COMPLETE); // else it is interpreted
    return CLA_OK;
}

void cla_cutter_free(cla_cutter **cutter)
{
    if (*cutter) {
        pcre2_match_data_free((*cutter)->found);
        pcre2_code_free((*cutter)->code);
    }
    free(*cutter);
    *cutter = NULL;
}

/* Finds the next match, of at least a byte, from a byte on; none: at the end. */
static cla_status find(cla_cutter *c, const char *text, size_t size, size_t from)
{
    const PCRE2_SIZE *at = pcre2_get_ovector_pointer(c->found);
    const uint32_t checked = from ? PCRE2_NO_UTF_CHECK : 0;
    const int n = pcre2_match(c->code, (PCRE2_SPTR)text, size, from,
                              checked | PCRE2_NOTEMPTY, c->found, NULL);
    if (n < 0 && n != PCRE2_ERROR_NOMATCH) {
        return fail_pcre("tokenizer: its pattern", n);
    }
    c->text = text;
    c->begin = n < 0 ? size : at[0];
    c->end = n < 0 ? size : at[1];
    return CLA_OK;
}

cla_status cla_cutter_next(cla_cutter *c, const char *text, size_t size, size_t from,
                           size_t *end)
{
    const bool known = c->text == text && from && c->begin == from && c->end > from;
    CLA_TRY(known ? CLA_OK : find(c, text, size, from));
    const bool here = c->begin <= from; // \K and lookbehind may begin before
    *end = here ? c->end : c->begin;
    return CLA_OK;
}
