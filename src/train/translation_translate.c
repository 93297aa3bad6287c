/* translation_translate.c - lines of text to their translations. */
#include <string.h>

#include "train/translation.h"

/* Lines as packed pieces, those that have some. */
typedef struct pack {
    cla_ids ids;
    int32_t *position, *offsets;
    size_t *line; // of each sentence
    int64_t sentences;
} pack;

static bool blank(const cla_line *line)
{
    return line->text[strspn(line->text, " \t")] == 0;
}

static cla_status add_line(const translation *t, pack *p, const cla_line *line,
                           size_t number)
{
    const size_t before = p->ids.count;
    if (blank(line)) {
        return CLA_OK;
    }
    CLA_TRY(cla_subwords_encode(&t->source, line->text, line->size, &p->ids));
    if (p->ids.count == before) {
        return CLA_OK;
    }
    CLA_TRY(cla_grow(&p->ids.id, &p->ids.cap, p->ids.count + 1, sizeof *p->ids.id));
    p->ids.id[p->ids.count++] = CLA_EOS;
    p->line[p->sentences++] = number;
    p->offsets[p->sentences] = (int32_t)p->ids.count;
    return CLA_OK;
}

static cla_status fill(const translation *t, pack *p, const cla_line *lines, size_t n)
{
    CLA_TRY(cla_alloc(&p->offsets, n + 1, sizeof *p->offsets));
    CLA_TRY(cla_alloc(&p->line, n + 1, sizeof *p->line));
    for (size_t i = 0; i < n; i++) {
        CLA_TRY(add_line(t, p, &lines[i], i));
    }
    CLA_TRY(cla_alloc(&p->position, p->ids.count + 1, sizeof *p->position));
    for (int64_t s = 0; s < p->sentences; s++) {
        for (int32_t i = p->offsets[s]; i < p->offsets[s + 1]; i++) {
            p->position[i] = i - p->offsets[s];
        }
    }
    return CLA_OK;
}

static void pack_free(pack *p)
{
    cla_ids_free(&p->ids);
    free(p->position);
    free(p->offsets);
    free(p->line);
}

static cla_status write_all(const translation *t, const pack *p,
                            const search_result *results, cla_text *out)
{
    for (int64_t s = 0; s < p->sentences; s++) {
        CLA_TRY(cla_subwords_decode(&t->target, results[s].id, (size_t)results[s].count,
                                    &out[p->line[s]]));
    }
    return CLA_OK;
}

static cla_status translate(translation *t, const pack *p,
                            const search_options *options, cla_text *out)
{
    cla_ragged *rows = NULL;
    search_result *results = NULL;
    CLA_TRY(cla_alloc(&results, (size_t)p->sentences + 1, sizeof *results));
    cla_status status = cla_ragged_new(&rows, t->task.rt, p->sentences, p->offsets);
    if (!status) {
        const transformer_tokens source = { (int64_t)p->ids.count, p->ids.id,
                                            p->position, rows, 0 };
        status = transformer_search(&t->model, t->task.rt, &source, options, results);
    }
    status = status ? status : write_all(t, p, results, out);
    for (int64_t s = 0; s < p->sentences; s++) {
        free(results[s].id);
    }
    free(results);
    cla_ragged_free(&rows);
    return status;
}

cla_status translation_translate(translation *t, const cla_line *lines, size_t n,
                                 const search_options *options, cla_text *out)
{
    pack p = { 0 };
    cla_status status = fill(t, &p, lines, n);
    if (!status && p.sentences) {
        status = translate(t, &p, options, out);
    }
    pack_free(&p);
    return status;
}
