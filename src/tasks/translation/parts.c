/* parts.c - cuts lines into parts and joins their translations. */
#include "tasks/translation/parts.h"

#include <math.h>
#include <string.h>

#include "base/utf8.h"
#include "tasks/translation/detail.h"
#include "text/sentences.h"

/* Cuts lines into parts. */
typedef struct cutter {
    translation_parts *parts;
    const translation *t;
    cla_cuts cuts;       // of the line at hand
    size_t line, prefix; // its number, and the bytes of its ">>x<<"
    size_t most;         // pieces of a part
} cutter;

/* ---- cutting ----------------------------------------------------------------- */

/* Moves both ends of a part past blanks. */
static void trim(const char *text, size_t *from, size_t *to)
{
    size_t first = *to, last = *to;
    for (size_t at = *from; at < *to;) {
        int32_t code = 0;
        const size_t step = (size_t)cla_utf8_step(text + at, *to - at, &code);
        if (!cla_utf8_is_space(code)) {
            first = at < first ? at : first;
            last = at + step;
        }
        at += step;
    }
    *from = first;
    *to = last;
}

static cla_status pieces_of(const cutter *c, size_t from, size_t to, size_t *count)
{
    cla_ids ids = { 0 };
    const cla_status status = cla_subwords_encode(
        &c->t->source, c->parts->lines[c->line] + from, to - from, &ids);
    *count = ids.count;
    cla_ids_free(&ids);
    return status;
}

static cla_status add_part(const cutter *c, size_t from, size_t to)
{
    translation_parts *p = c->parts;
    const char *line = p->lines[c->line];
    CLA_TRY(cla_grow(&p->part, &p->cap, p->count + 1, sizeof *p->part));
    p->part[p->count++] = (translation_part){ c->line, from, to };
    CLA_TRY(cla_text_append(&p->texts, line, c->prefix));
    CLA_TRY(c->prefix ? cla_text_append(&p->texts, " ", 1) : CLA_OK);
    CLA_TRY(cla_text_append(&p->texts, line + from, to - from));
    return cla_text_append(&p->texts, "", 1);
}

/* Adds a sentence, cut in two again and again until no part has too many pieces. The
 * right halves wait. */
static cla_status add_sentence(const cutter *c, size_t from, size_t to)
{
    enum { DEEPEST = 64 };
    const char *line = c->parts->lines[c->line];
    size_t end[DEEPEST] = { to }, waiting = 1;
    while (waiting) {
        size_t stop = end[waiting - 1], count = 0, start = from;
        trim(line, &start, &stop);
        CLA_TRY(pieces_of(c, start, stop, &count));
        const size_t cut = count > c->most && waiting < DEEPEST
                               ? cla_clause_cut(line + start, stop - start)
                               : 0;
        if (cut) {
            end[waiting++] = start + cut;
            continue;
        }
        CLA_TRY(start < stop ? add_part(c, start, stop) : CLA_OK);
        from = end[--waiting];
    }
    return CLA_OK;
}

static cla_status add_line(cutter *c, size_t number)
{
    const char *line = c->parts->lines[number];
    const size_t size = strlen(line);
    c->line = number;
    c->prefix = cla_subwords_prefix(&c->t->source, line, size);
    c->cuts.count = 0;
    CLA_TRY(c->t->sentences ? cla_sentences_cut(c->t->sentences, line + c->prefix,
                                                size - c->prefix, &c->cuts)
                            : CLA_OK);
    size_t from = c->prefix;
    for (size_t i = 0; i < c->cuts.count; i++) {
        CLA_TRY(add_sentence(c, from, c->prefix + c->cuts.at[i]));
        from = c->prefix + c->cuts.at[i];
    }
    return add_sentence(c, from, size);
}

/* Returns the most pieces of a part: those of the longest sentence that the model has
 * learnt from or may write. */
static size_t most_pieces(const translation *t)
{
    enum { USUAL = 256 };
    const int learnt = t->max_pieces ? t->max_pieces : USUAL;
    const int written = t->search.most, ends = 2; // a language and the end
    const int most = written && written < learnt ? written : learnt;
    const int positions = t->config.positions == TRANSFORMER_LEARNED
                              ? t->config.max_positions - ends
                              : most;
    return (size_t)(positions < most ? positions : most);
}

cla_status cla_translation_parts_make(translation_parts *parts, translation *t,
                                      const char *const *lines, size_t n)
{
    *parts = (translation_parts){ .t = t, .lines = lines, .line_count = n };
    cutter c = { .parts = parts, .t = t, .most = most_pieces(t) };
    cla_status status = CLA_OK;
    if (cla_sentences_there()) { // kept: ICU takes 0.8 ms to read its rules
        status =
            t->sentences ? CLA_OK : cla_sentences_new(&t->sentences, t->source_name);
    } else {
        cla_log(CLA_LOG_INFO, "lines are not cut into sentences: built without ICU");
    }
    for (size_t i = 0; i < n && !status; i++) {
        status = add_line(&c, i);
    }
    cla_cuts_free(&c.cuts);
    return status ? status
                  : cla_text_strings(&parts->texts, parts->count, &parts->text);
}

void cla_translation_parts_free(translation_parts *parts)
{
    free(parts->part);
    free(parts->text);
    cla_text_free(&parts->texts);
    *parts = (translation_parts){ 0 };
}

/* ---- joining ----------------------------------------------------------------- */

/* Returns whether the code point at one end of a text is of a script without blanks. */
static bool is_wide(const char *text, size_t size, bool last)
{
    size_t at = last && size ? size - 1 : 0;
    while (last && at && ((unsigned char)text[at] & 0xC0) == 0x80) {
        at--;
    }
    int32_t code = 0;
    return size && cla_utf8_step(text + at, size - at, &code) > 0 &&
           cla_utf8_kind_of(code) == CLA_UTF8_IDEOGRAPH;
}

/* Appends what stands between two parts: the blanks between them in their line, or one
 * where there is none and one side is written with blanks; none between two that are
 * not, where there was one. */
static cla_status add_blanks(cla_text *out, const char *blanks, size_t size,
                             const char *next)
{
    const bool wide = is_wide(out->data, out->size, true) && out->size &&
                      is_wide(next, strlen(next), false);
    if (size > 1 || !*next || !out->size) {
        return cla_text_append(out, blanks, size);
    }
    return wide ? CLA_OK : cla_text_append(out, size ? blanks : " ", 1);
}

/* Returns the i-th result of a part, or its last one. */
static const translation_result *pick(const translation_result *of_part, size_t i)
{
    while (i && isinf(of_part[i].logp)) {
        i--;
    }
    return &of_part[i];
}

/* The blanks before part k: those behind the part before it, or at the start of the
 * line, where a prefix takes those behind it along. */
static cla_status add_before(const translation_parts *p, size_t k, bool first,
                             const char *next, cla_text *out)
{
    const translation_part *part = &p->part[k];
    const char *line = p->lines[part->line];
    if (!first) {
        const size_t from = p->part[k - 1].to;
        return add_blanks(out, line + from, part->from - from, next);
    }
    return cla_subwords_prefix(&p->t->source, line, strlen(line))
               ? CLA_OK
               : cla_text_append(out, line, part->from);
}

/* Counts the words of a text's first size bytes. The last one goes on where no blank is
 * behind it, and does not count then. */
static size_t words_before(const char *text, size_t size, const char *next)
{
    size_t words = 0;
    bool inside = false;
    for (size_t i = 0; i < size; i++) {
        const bool blank = text[i] && strchr(TRANSLATION_BLANKS, text[i]);
        words += !blank && !inside;
        inside = !blank;
    }
    return words - (inside && *next && !strchr(TRANSLATION_BLANKS, *next));
}

/* Adds the details of part k, whose translation goes behind what *to has. */
static cla_status add_detail(const translation_parts *p, size_t k,
                             const translation_result *r, translation_result *to)
{
    const translation_part *part = &p->part[k];
    const char *line = p->lines[part->line], *text = r->text.data ? r->text.data : "";
    const size_t prefix = cla_subwords_prefix(&p->t->source, line, strlen(line));
    if (!r->detail) {
        return CLA_OK;
    }
    const size_t source =
        words_before(line + prefix, part->from - prefix, line + part->from);
    const size_t target =
        to->text.data ? words_before(to->text.data, to->text.size, text) : 0;
    return cla_translation_detail_add(&to->detail, r->detail, source, target);
}

/* Joins the i-th results of the parts first to last, exclusive, of one line. */
static cla_status join_line(const translation_parts *p, size_t first, size_t last,
                            size_t best, size_t i, const translation_result *from,
                            translation_result *to)
{
    bool any = i == 0;
    for (size_t k = first; k < last; k++) {
        const translation_result *r = pick(from + k * best, i);
        const char *text = r->text.data ? r->text.data : "";
        any = any || r == from + k * best + i;
        CLA_TRY(add_before(p, k, k == first, text, &to->text));
        CLA_TRY(add_detail(p, k, r, to));
        CLA_TRY(cla_text_append(&to->text, text, strlen(text)));
        to->logp += r->logp;
        to->score += r->score;
        to->cut = to->cut || r->cut;
    }
    if (!any) {
        cla_translation_result_fini(to);
        *to = (translation_result){ .logp = -INFINITY, .score = -INFINITY };
    } else if (last > first) {
        const translation_part *part = &p->part[last - 1];
        const char *rest = p->lines[part->line] + part->to;
        CLA_TRY(cla_text_append(&to->text, rest, strlen(rest)));
    }
    return CLA_OK;
}

cla_status cla_translation_parts_join(const translation_parts *parts, size_t best,
                                      const translation_result *from,
                                      translation_result *to)
{
    for (size_t line = 0, first = 0, last; line < parts->line_count; line++) {
        for (last = first; last < parts->count && parts->part[last].line == line;) {
            last++;
        }
        for (size_t i = 0; i < best; i++) {
            CLA_TRY(join_line(parts, first, last, best, i, from, to + line * best + i));
        }
        first = last;
    }
    return CLA_OK;
}
