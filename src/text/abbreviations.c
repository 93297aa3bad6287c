/* abbreviations.c - words whose full stop ends no sentence, and lists of cuts. */
#include <string.h>

#include "base/utf8.h"
#include "text/sentences.h"

/* Words in lower case that stand before a name, an example or a comparison. ICU's
 * locale data has words that end an enumeration and the like, but few of these. Words
 * that stand without a full stop, too, are not here ("mag", "es"). */
static const char *const before_any[] = {
    // titles: English, German, French, Spanish, Portuguese, Italian, Dutch, Polish
    "mr",
    "mrs",
    "ms",
    "dr",
    "drs",
    "prof",
    "rev",
    "hon",
    "st",
    "gen",
    "col",
    "capt",
    "lt",
    "sgt",
    "sen",
    "rep",
    "gov",
    "messrs",
    "hr",
    "fr",
    "frl",
    "dipl",
    "ing",
    "mme",
    "mlle",
    "mgr",
    "sr",
    "sra",
    "srta",
    "dra",
    "dott",
    "sig",
    "avv",
    "dhr",
    "mevr",
    "inż",
    // examples and comparisons
    "vs",
    "viz",
    "cf",
    "approx",
    "ca",
    "bzw",
    "vgl",
    "bspw",
    "evtl",
    "ggf",
    "inkl",
    "exkl",
    "insb",
    "sog",
    "zzgl",
    "ej",
    "np",
    "tzn",
    "bv",
};

/* Words that are short before a number only: "no. 5", but "He said no." */
static const char *const before_number[] = {
    "no",  "nos",  "nr",  "nrn",  "núm", "art", "abs",  "abb", "bd",
    "vol", "vols", "fig", "figs", "sec", "ch",  "chap", "kap", "p",
    "pp",  "par",  "pág", "pag",  "tab", "eq",  "eqs",  "ref", "refs",
};

static bool listed(const char *const *words, size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(word, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Returns whether a word, in lower case, is short before what follows. */
static bool is_short(const char *word, bool number)
{
    enum { ANY = sizeof before_any / sizeof *before_any };
    enum { NUMBER = sizeof before_number / sizeof *before_number };
    return listed(before_any, ANY, word) ||
           (number && listed(before_number, NUMBER, word));
}

/* Returns whether a digit follows the full stop at `end`, after blanks. */
static bool number_follows(const char *text, size_t size, size_t end)
{
    size_t at = end + 1;
    while (at < size && strchr(" \t", text[at])) {
        at++;
    }
    return at < size && text[at] >= '0' && text[at] <= '9';
}

/* Returns where the word before `end` begins: letters, and full stops between them. */
static size_t word_start(const char *text, size_t end)
{
    size_t at = end, start = end;
    while (at) {
        do {
            at--;
        } while (at && ((unsigned char)text[at] & 0xC0) == 0x80);
        int32_t code = 0;
        cla_utf8_step(text + at, end - at, &code);
        if (code != '.' && !cla_utf8_is_letter(code)) {
            break;
        }
        start = at;
    }
    return start;
}

/* Returns whether the last letter of a word stands alone: "J", or "B" of "z.B". */
static bool one_letter(const char *word, size_t size)
{
    size_t from = size;
    while (from && word[from - 1] != '.') {
        from--;
    }
    int32_t code = 0;
    const int step = from < size ? cla_utf8_step(word + from, size - from, &code) : 0;
    return step > 0 && (size_t)step == size - from && cla_utf8_is_letter(code) &&
           !(code >= '0' && code <= '9') && cla_utf8_kind_of(code) == CLA_UTF8_WORD;
}

bool cla_is_abbreviation(const char *text, size_t size, size_t end)
{
    enum { LONGEST = 16 };
    const size_t start = word_start(text, end), length = end - start;
    if (one_letter(text + start, length)) {
        return true;
    }
    cla_text lower = { 0 };
    const bool found = length && length <= LONGEST &&
                       !cla_utf8_lower_text(text + start, length, &lower) &&
                       is_short(lower.data, number_follows(text, size, end));
    cla_text_free(&lower);
    return found;
}

void cla_cuts_free(cla_cuts *cuts)
{
    free(cuts->at);
    *cuts = (cla_cuts){ 0 };
}

cla_status cla_cuts_add(cla_cuts *cuts, size_t at)
{
    CLA_TRY(cla_grow(&cuts->at, &cuts->cap, cuts->count + 1, sizeof *cuts->at));
    cuts->at[cuts->count++] = at;
    return CLA_OK;
}
