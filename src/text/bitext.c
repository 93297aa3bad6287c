/* bitext.c - converts parallel lines to pieces. */
#include "text/bitext.h"

#include <string.h>

void cla_bitext_free(cla_bitext *b)
{
    if (!b->lent) {
        free(b->source);
        free(b->target);
        free(b->source_at);
        free(b->target_at);
        free(b->line);
    }
    *b = (cla_bitext){ 0 };
}

/* One side of the pairs while it grows. */
typedef struct side {
    const cla_subwords *subwords;
    const cla_lines *lines;
    bool eos;
    cla_ids ids;
    int64_t *at; // [lines+1]
} side;

static cla_status encode(side *s, size_t line, size_t *pieces)
{
    const size_t before = s->ids.count;
    const cla_line *text = &s->lines->line[line];
    CLA_TRY(cla_subwords_encode(s->subwords, text->text, text->size, &s->ids));
    *pieces = s->ids.count - before;
    return CLA_OK;
}

static cla_status end(side *s, int64_t pair)
{
    if (s->eos) {
        CLA_TRY(cla_grow(&s->ids.id, &s->ids.cap, s->ids.count + 1, sizeof *s->ids.id));
        s->ids.id[s->ids.count++] = CLA_EOS;
    }
    s->at[pair + 1] = (int64_t)s->ids.count;
    return CLA_OK;
}

/* Returns whether a line has only blanks, of which cla_split would make pieces. */
static bool blank(const cla_line *line)
{
    return line->text[strspn(line->text, " \t")] == 0;
}

static cla_status add_pair(cla_bitext *b, side *source, side *target, size_t line,
                           int64_t max_pieces)
{
    size_t from = 0, to = 0;
    if (blank(&source->lines->line[line]) || blank(&target->lines->line[line])) {
        b->empty++;
        return CLA_OK;
    }
    CLA_TRY(encode(source, line, &from));
    CLA_TRY(encode(target, line, &to));
    const bool too_long =
        max_pieces && ((int64_t)from > max_pieces || (int64_t)to > max_pieces);
    if (!from || !to || too_long) {
        source->ids.count -= from;
        target->ids.count -= to;
        b->too_long += too_long;
        b->empty += !too_long;
        return CLA_OK;
    }
    CLA_TRY(end(source, b->count));
    CLA_TRY(end(target, b->count));
    b->line[b->count++] = (int32_t)line + 1;
    return CLA_OK;
}

static cla_status make(cla_bitext *b, side *source, side *target, int64_t max_pieces)
{
    const size_t lines = source->lines->count;
    CLA_TRY(cla_lines_pair(source->lines, target->lines));
    CLA_TRY(cla_alloc(&source->at, lines + 1, sizeof *source->at));
    CLA_TRY(cla_alloc(&target->at, lines + 1, sizeof *target->at));
    CLA_TRY(cla_alloc(&b->line, lines, sizeof *b->line));
    for (size_t i = 0; i < lines; i++) {
        CLA_TRY(add_pair(b, source, target, i, max_pieces));
    }
    return b->count ? CLA_OK
                    : cla_fail(CLA_E_INPUT,
                               "%s: no pair is left: %lld with an empty side, %lld "
                               "with more than %lld pieces",
                               source->lines->path, (long long)b->empty,
                               (long long)b->too_long, (long long)max_pieces);
}

cla_status cla_bitext_make(cla_bitext *b, const cla_lines *source_lines,
                           const cla_lines *target_lines, const cla_subwords *source,
                           const cla_subwords *target,
                           const cla_bitext_options *options)
{
    side from = { .subwords = source,
                  .lines = source_lines,
                  .eos = options->source_eos };
    side to = { .subwords = target, .lines = target_lines, .eos = true };
    *b = (cla_bitext){ 0 };
    const cla_status status = make(b, &from, &to, options->max_pieces);
    b->source = from.ids.id;
    b->target = to.ids.id;
    b->source_at = from.at;
    b->target_at = to.at;
    if (status) {
        cla_bitext_free(b);
    }
    return status;
}

cla_status cla_bitext_read(cla_bitext *b, const char *source_path,
                           const char *target_path, const cla_subwords *source,
                           const cla_subwords *target,
                           const cla_bitext_options *options)
{
    cla_lines from = { 0 }, to = { 0 };
    *b = (cla_bitext){ 0 };
    cla_status status = cla_lines_read(&from, source_path);
    status = status ? status : cla_lines_read(&to, target_path);
    status = status ? status : cla_bitext_make(b, &from, &to, source, target, options);
    cla_lines_free(&from);
    cla_lines_free(&to);
    return status;
}

/* ---- prepared data ------------------------------------------------------------- */

void cla_bitext_give(const cla_bitext *b, int64_t counts[3],
                     cla_part part[CLA_BITEXT_PARTS])
{
    const size_t n = (size_t)b->count;
    counts[0] = b->count;
    counts[1] = b->empty;
    counts[2] = b->too_long;
    part[0] = (cla_part){ counts, 3 * sizeof *counts };
    part[1] = (cla_part){ b->source, (size_t)b->source_at[n] * sizeof *b->source };
    part[2] = (cla_part){ b->target, (size_t)b->target_at[n] * sizeof *b->target };
    part[3] = (cla_part){ b->source_at, (n + 1) * sizeof *b->source_at };
    part[4] = (cla_part){ b->target_at, (n + 1) * sizeof *b->target_at };
    part[5] = (cla_part){ b->line, n * sizeof *b->line };
}

/* Returns whether n pairs begin in order among ids of which none reaches `most`. */
static bool is_side(const cla_part *ids, const cla_part *at, int64_t n, size_t most)
{
    const int32_t *id = ids->data;
    const int64_t *begin = at->data;
    const size_t count = ids->size / sizeof *id;
    bool good = at->size == ((size_t)n + 1) * sizeof *begin && !begin[0];
    for (int64_t i = 0; i < n && good; i++) {
        good = begin[i] < begin[i + 1];
    }
    good = good && begin[n] == (int64_t)count && ids->size == count * sizeof *id;
    for (size_t i = 0; i < count && good; i++) {
        good = id[i] >= 0 && (size_t)id[i] < most;
    }
    return good;
}

cla_status cla_bitext_take(cla_bitext *b, const cla_part part[CLA_BITEXT_PARTS],
                           const size_t most[2])
{
    int64_t counts[3] = { 0 };
    if (part[0].size == sizeof counts) {
        memcpy(counts, part[0].data, sizeof counts);
    }
    const int64_t n = counts[0];
    if (n <= 0 || n > INT32_MAX || part[5].size != (size_t)n * sizeof *b->line ||
        !is_side(&part[1], &part[3], n, most[0]) ||
        !is_side(&part[2], &part[4], n, most[1])) {
        return cla_fail(CLA_E_INPUT, "holds no pairs of these pieces");
    }
    *b = (cla_bitext){ .source = (int32_t *)part[1].data,
                       .target = (int32_t *)part[2].data,
                       .source_at = (int64_t *)part[3].data,
                       .target_at = (int64_t *)part[4].data,
                       .line = (int32_t *)part[5].data,
                       .count = n,
                       .empty = counts[1],
                       .too_long = counts[2],
                       .lent = true };
    return CLA_OK;
}
