/* split.c - converts a file to ids and cuts it into the model's sequences. */
#include <string.h>

#include "base/utf8.h"
#include "tasks/tagging/tagging.h"

static int32_t known_or_oov(const cla_vocab *v, const char *token)
{
    const int id = cla_vocab_find(v, token);
    return id < 0 ? TAGGING_OOV : id;
}

/* Writes the first char_length letters of every distinct form, padded. */
static cla_status spell(const tagging *t, tagging_split *s)
{
    const int64_t length = t->config.char_length;
    CLA_TRY(cla_alloc(&s->letters, s->spellings.count * (size_t)length,
                      sizeof *s->letters));
    for (size_t i = 0; i < s->spellings.count; i++) {
        const char *at = s->spellings.tokens[i];
        for (int64_t k = 0; k < length && *at; k++) {
            int32_t code = 0;
            char letter[5];
            at += cla_utf8_next(at, &code);
            cla_utf8_put(code, letter);
            s->letters[(int64_t)i * length + k] = known_or_oov(&t->chars, letter);
        }
    }
    return CLA_OK;
}

static cla_status add_tokens(tagging *t, tagging_split *s)
{
    const size_t n = s->file.word_count;
    CLA_TRY(cla_alloc(&s->word, n, sizeof *s->word));
    CLA_TRY(cla_alloc(&s->spelling, n, sizeof *s->spelling));
    CLA_TRY(cla_alloc(&s->tag, n, sizeof *s->tag));
    CLA_TRY(cla_alloc(&s->form, n, sizeof *s->form));
    CLA_TRY(cla_vocab_add(&s->spellings, "PAD", 0, NULL));
    for (size_t i = 0; i < n; i++) {
        const cla_word *w = &s->file.words[i];
        CLA_TRY(cla_vocab_add(&s->spellings, w->form, 1, &s->spelling[i]));
        s->word[i] = known_or_oov(&t->words, w->form);
        s->tag[i] = known_or_oov(&t->tags, w->tag);
        s->form[i] = cla_vocab_find(&t->lexicon.forms, w->form);
        if (s->tag[i] == TAGGING_OOV && strcmp(w->tag, "_") != 0 && !t->warned) {
            t->warned = true;
            cla_log(CLA_LOG_WARN,
                    "%s:%d: tag '%s' is not in the training data; words with "
                    "such tags count as errors",
                    s->file.path, w->line, w->tag);
        }
    }
    s->tokens = (int64_t)n;
    return spell(t, s);
}

static cla_status add_chunk(tagging_split *s, chunk c)
{
    CLA_TRY(cla_grow(&s->chunks, &s->chunk_cap, s->chunk_count + 1, sizeof *s->chunks));
    s->chunks[s->chunk_count++] = c;
    return CLA_OK;
}

/* Cuts a sentence into consecutive chunks of t words, as in the paper. */
static cla_status cut(tagging_split *s, int64_t first, int64_t count, int64_t t)
{
    for (int64_t at = 0; at < count; at += t) {
        const int64_t size = count - at < t ? count - at : t;
        CLA_TRY(
            add_chunk(s, (chunk){ first + at, size, first + at, first + at + size }));
    }
    return CLA_OK;
}

/* Cuts a sentence into chunks of t words that overlap by half. A word counts in the
 * chunk where it is farther from an end. */
static cla_status cut_overlapping(tagging_split *s, int64_t first, int64_t count,
                                  int64_t t)
{
    const int64_t step = t > 1 ? t / 2 : 1;
    int64_t kept = 0;
    for (int64_t at = 0; kept < count; at += step) {
        const bool last = at + t >= count;
        const int64_t start = last && count > t ? count - t : at;
        const int64_t next =
            start + step + t >= count ? (count > t ? count - t : 0) : start + step;
        const int64_t end = last ? count : (start + t + next) / 2;
        const int64_t size = count < t ? count : t;
        CLA_TRY(
            add_chunk(s, (chunk){ first + start, size, first + kept, first + end }));
        kept = end;
    }
    return CLA_OK;
}

void cla_tagging_use_column(const tagging *t, cla_conllu *file)
{
    if (t->xpos) {
        cla_conllu_use_xpos(file);
    }
}

cla_status cla_tagging_split_build(tagging *t, tagging_split *s, cla_conllu *file)
{
    *s = (tagging_split){ .file = *file };
    *file = (cla_conllu){ 0 };
    cla_tagging_use_column(t, &s->file);
    CLA_TRY(add_tokens(t, s));
    for (size_t i = 0; i < s->file.sentence_count; i++) {
        const int64_t first = (int64_t)s->file.sentences[i].first;
        const int64_t count = (int64_t)s->file.sentences[i].count;
        if (t->preset == TAGGING_PAPER) {
            CLA_TRY(cut(s, first, count, t->config.length));
        } else {
            const bool limited = cla_tagger_tied(&t->config) || cla_tagging_padded(t);
            const int64_t limit = limited ? t->config.length : count;
            CLA_TRY(cut_overlapping(s, first, count, limit));
        }
    }
    return CLA_OK;
}

void cla_tagging_split_free(tagging_split *s)
{
    cla_conllu_free(&s->file);
    free(s->word);
    free(s->spelling);
    free(s->tag);
    free(s->form);
    cla_vocab_free(&s->spellings);
    free(s->letters);
    free(s->chunks);
    *s = (tagging_split){ 0 };
}
