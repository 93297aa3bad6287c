/* look.c - attention maps and logits of a language model, for inspection. */
#include <string.h>

#include "base/utf8.h"
#include "tasks/language/language.h"

enum { MOST = 1024 };

/* Appends the name of a piece: its text, or that of a special piece. A line end is
 * "\\n", a byte that is no character U+FFFD. */
static cla_status add_name(const language *t, int32_t id, cla_text *names)
{
    const bool other = t->pieces == LANGUAGE_TOKENIZER;
    const cla_vocab *v = other ? &t->tokenizer.vocab : &t->subwords.vocab;
    cla_text text = { 0 };
    char letter[5];
    CLA_TRY(cla_language_decode(t, &id, 1, &text));
    cla_status status = CLA_OK;
    for (size_t at = 0; at < text.size && !status;) {
        int32_t code = 0;
        at += (size_t)cla_utf8_step(text.data + at, text.size - at, &code);
        const int bytes = cla_utf8_put(code, letter);
        status = code == '\n' ? cla_text_append(names, "\\n", 2)
                 : code < ' ' ? cla_text_append(names, "\xef\xbf\xbd", 3)
                              : cla_text_append(names, letter, (size_t)bytes);
    }
    if (!text.size && !status) {
        const bool known = (other || id >= CLA_SPECIALS) && (size_t)id < v->count;
        status = cla_text_add(names, "%s",
                              known               ? v->tokens[id]
                              : id < CLA_SPECIALS ? cla_special_names[id]
                                                  : "?");
    }
    cla_text_free(&text);
    return status ? status : cla_text_append(names, "", 1);
}

/* Copies what the network computed of one sequence. */
static cla_status take(language *t, cla_tape *tape, const lm_tokens *tokens,
                       tagger_view *view)
{
    cla_tensor *logits = NULL, *maps[LM_LAYERS] = { NULL };
    const int layers = t->config.layers;
    const size_t room = 2 * (size_t)layers * (size_t)t->config.coder.heads;
    CLA_TRY(cla_lm_maps(&t->model, tape, &logits, tokens, maps));
    CLA_TRY(cla_alloc(&view->maps, room, sizeof *view->maps));
    CLA_TRY(cla_view_download(logits, &view->logits));
    for (int i = 0; i < layers; i++) {
        CLA_TRY(cla_view_add(view, &t->model.layer[i].self, i, maps[i],
                             (int)tokens->count));
    }
    return CLA_OK;
}

static cla_status read_text(language *t, const cla_ids *ids, tagger_view *view)
{
    const int64_t n = (int64_t)ids->count;
    int32_t *position = NULL;
    cla_ragged *rows = NULL;
    cla_tape *tape = NULL;
    CLA_TRY(cla_alloc(&position, ids->count, sizeof *position));
    for (int64_t i = 0; i < n; i++) {
        position[i] = (int32_t)i;
    }
    const int32_t offsets[] = { 0, (int32_t)n };
    cla_status status = cla_ragged_new(&rows, t->task.rt, 1, offsets);
    status = status ? status : cla_tape_new(&tape, t->task.rt, false);
    const lm_tokens tokens = { n, ids->id, position, rows, 0 };
    status = status ? status : take(t, tape, &tokens, view);
    cla_tape_free(&tape);
    cla_ragged_free(&rows);
    free(position);
    return status;
}

cla_status cla_language_look(language *t, const char *text, size_t size,
                             tagger_view *view, cla_text *names, size_t *pieces)
{
    const size_t most = t->config.context < MOST ? (size_t)t->config.context : MOST;
    cla_ids ids = { 0 };
    cla_status status = t->documents ? cla_language_encode(t, "", 1, &ids) : CLA_OK;
    status = status ? status : cla_language_encode(t, text, size, &ids);
    if (!status && (!ids.count || ids.count > most)) {
        status = cla_fail(CLA_E_INPUT, "the text has %zu pieces, must have 1 to %zu",
                          ids.count, most);
    }
    for (size_t i = 0; i < ids.count && !status; i++) {
        status = add_name(t, ids.id[i], names);
    }
    status = status ? status : read_text(t, &ids, view);
    *pieces = ids.count;
    cla_ids_free(&ids);
    return status;
}
