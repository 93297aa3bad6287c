/* clauses.c - where a long sentence is cut. */
#include "base/utf8.h"
#include "text/sentences.h"

/* How good a place for a cut is. */
typedef enum place {
    PLACE_CODE, // between two code points
    PLACE_WORD, // behind a blank
    PLACE_LIST, // behind the mark between the parts of a list
    PLACE_CLAUSE,
    PLACES
} place;

/* The marks of ASCII count where a blank follows: 1,000 and 10:30 stay whole. Those of
 * full width need none. */
static place mark_of(int32_t code, bool blank)
{
    switch (code) {
    case ';':
    case ':':
    case '!':
    case '?':
    case '.':
    case 0x2013: // dashes
    case 0x2014:
    case 0x61B: // Arabic semicolon
        return blank ? PLACE_CLAUSE : PLACE_CODE;
    case ',':
    case 0x60C: // Arabic comma
        return blank ? PLACE_LIST : PLACE_CODE;
    case 0x3002: // ideographic full stop, and the marks of full width
    case 0xFF01:
    case 0xFF1A:
    case 0xFF1B:
    case 0xFF1F:
        return PLACE_CLAUSE;
    case 0x3001:
    case 0xFF0C:
        return PLACE_LIST;
    default:
        return PLACE_CODE;
    }
}

static size_t distance(size_t a, size_t b)
{
    return a > b ? a - b : b - a;
}

size_t cla_clause_cut(const char *text, size_t size)
{
    size_t best[PLACES] = { 0 };
    const size_t middle = size / 2, quarter = size / 4;
    int32_t mark = 0; // the last code point that is no blank
    bool blank = false;
    for (size_t at = 0; at < size;) {
        int32_t code = 0;
        const int step = cla_utf8_step(text + at, size - at, &code);
        const bool space = cla_utf8_is_space(code);
        if (at && !space) {
            const place marked = mark_of(mark, blank);
            const place here = marked ? marked : blank ? PLACE_WORD : PLACE_CODE;
            const bool central = at >= quarter && at <= size - quarter;
            if ((central || here == PLACE_CODE) &&
                (!best[here] || distance(at, middle) < distance(best[here], middle))) {
                best[here] = at;
            }
        }
        mark = space ? mark : code;
        blank = space;
        at += (size_t)(step > 0 ? step : 1);
    }
    for (int i = PLACES - 1; i >= 0; i--) {
        if (best[i]) {
            return best[i];
        }
    }
    return 0;
}
