/* sentences.c - sentences by ICU's break iterator. */
#include "text/sentences.h"

#include <string.h>
#include <unicode/ubrk.h>
#include <unicode/utext.h>

#include "base/utf8.h"

struct cla_sentences {
    UBreakIterator *breaks;
    bool ordinals; // the language writes a full stop behind them
};

/* Languages that do; by the rules of each one's orthography. */
static const char *const with_ordinals[] = {
    "cs", "da", "de", "et", "fi", "hr", "hu", "is", "lv",
    "nb", "nn", "no", "pl", "sk", "sl", "sr", "tr",
};

/* Returns whether a code such as "de-AT" begins with one of these languages. */
static bool has_ordinals(const char *language)
{
    for (size_t i = 0; i < sizeof with_ordinals / sizeof *with_ordinals; i++) {
        if (strncmp(language, with_ordinals[i], 2) == 0 &&
            (!language[2] || strchr("-_", language[2]))) {
            return true;
        }
    }
    return false;
}

static cla_status fault(UErrorCode code)
{
    return cla_fail(code == U_MEMORY_ALLOCATION_ERROR ? CLA_E_NOMEM : CLA_E_INPUT,
                    "icu: %s", u_errorName(code));
}

bool cla_sentences_there(void)
{
    return true;
}

cla_status cla_sentences_new(cla_sentences **out, const char *language)
{
    UErrorCode code = U_ZERO_ERROR;
    cla_text locale = { 0 };
    *out = NULL;
    CLA_TRY(cla_text_add(&locale, "%.20s@ss=standard", language));
    cla_sentences *made = NULL;
    cla_status status = cla_alloc(&made, 1, sizeof *made);
    if (!status) {
        made->ordinals = has_ordinals(language);
        made->breaks = ubrk_open(UBRK_SENTENCE, locale.data, NULL, 0, &code);
        status = U_FAILURE(code) ? fault(code) : CLA_OK;
    }
    cla_text_free(&locale);
    if (status) {
        free(made);
        return status;
    }
    *out = made;
    return CLA_OK;
}

void cla_sentences_free(cla_sentences **sentences)
{
    if (*sentences) {
        ubrk_close((*sentences)->breaks);
        free(*sentences);
        *sentences = NULL;
    }
}

/* Returns the end of the text in front of a cut, without its blanks and what closes. */
static size_t last_mark(const char *text, size_t at)
{
    while (at && strchr(" \t\r\n\"')]", text[at - 1])) {
        at--;
    }
    return at;
}

/* Returns whether a number before a full stop may be an ordinal: "3. Mai". */
static bool is_ordinal(const cla_sentences *s, const char *text, size_t end)
{
    size_t at = end;
    while (at && text[at - 1] >= '0' && text[at - 1] <= '9') {
        at--;
    }
    return s->ordinals && end > at && end - at <= 2;
}

/* Returns whether the text behind a cut begins with a small letter. */
static bool begins_small(const char *text, size_t size)
{
    int32_t code = 0;
    return size && cla_utf8_step(text, size, &code) > 0 && cla_utf8_is_small(code);
}

/* Returns whether the sentence before a cut goes on: the full stop is that of a word or
 * of an ordinal. */
static bool goes_on(const cla_sentences *s, const char *text, size_t size, size_t cut)
{
    const size_t end = last_mark(text, cut);
    return !end || (text[end - 1] == '.' && (cla_is_abbreviation(text, size, end - 1) ||
                                             is_ordinal(s, text, end - 1)));
}

/* Returns whether a quotation ended inside of a sentence: "Really?" she asked. */
static bool is_quotation(const char *text, size_t size, size_t cut)
{
    const size_t end = last_mark(text, cut);
    return end < cut && strchr("\"')]", text[end]) &&
           begins_small(text + cut, size - cut);
}

static cla_status add(const cla_sentences *s, const char *text, size_t size, size_t cut,
                      cla_cuts *cuts)
{
    return cut < size && !goes_on(s, text, size, cut) ? cla_cuts_add(cuts, cut)
                                                      : CLA_OK;
}

/* Cuts text without capitals at each mark with a blank behind it: by Unicode's rules no
 * sentence begins with a small letter after a full stop. */
static cla_status cut_small(const cla_sentences *s, const char *text, size_t size,
                            cla_cuts *cuts)
{
    for (size_t at = 1; at < size; at++) {
        const bool blank = strchr(" \t", text[at - 1]) && !strchr(" \t", text[at]);
        const size_t end = blank ? last_mark(text, at) : 0;
        if (end && strchr(".!?", text[end - 1])) {
            CLA_TRY(add(s, text, size, at, cuts));
        }
    }
    return CLA_OK;
}

static cla_status cut_usual(cla_sentences *s, const char *text, size_t size,
                            cla_cuts *cuts)
{
    UErrorCode code = U_ZERO_ERROR;
    UText view = UTEXT_INITIALIZER;
    utext_openUTF8(&view, text, (int64_t)size, &code);
    ubrk_setUText(s->breaks, &view, &code);
    cla_status status = U_FAILURE(code) ? fault(code) : CLA_OK;
    for (int32_t at; !status && (at = ubrk_next(s->breaks)) != UBRK_DONE;) {
        status = is_quotation(text, size, (size_t)at)
                     ? CLA_OK
                     : add(s, text, size, (size_t)at, cuts);
    }
    utext_close(&view);
    return status;
}

/* Returns whether a text has small letters and no capital. */
static bool is_small(const char *text, size_t size)
{
    bool small = false;
    for (size_t at = 0; at < size;) {
        int32_t code = 0;
        at += (size_t)cla_utf8_step(text + at, size - at, &code);
        if (cla_utf8_is_capital(code)) {
            return false;
        }
        small = small || cla_utf8_is_small(code);
    }
    return small;
}

cla_status cla_sentences_cut(cla_sentences *s, const char *text, size_t size,
                             cla_cuts *cuts)
{
    return is_small(text, size) ? cut_small(s, text, size, cuts)
                                : cut_usual(s, text, size, cuts);
}
