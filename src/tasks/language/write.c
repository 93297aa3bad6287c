/* write.c - continues a text, a piece at a time. */
#include <math.h>
#include <string.h>

#include "base/utf8.h"
#include "tasks/language/language.h"

typedef struct writer {
    language *t;
    const language_writing *how;
    cla_tape *turn[2]; // pieces alternate between them
    lm_past past;
    cla_ids ids;   // of prompt and text
    int64_t fresh; // the last of them, which the network has not read
    size_t line;   // the first of them whose bytes the next one may change
    size_t prompt; // bytes of the prompt in that line
    cla_text said; // the bytes of the text
    bool blank;    // the blank in front of the first word is not of the text
    size_t kept;   // of them, bytes before that line
    size_t sure;   // bytes that no further piece has changed
    size_t given;  // bytes in out
    cla_text *out;
    float *logits;       // [V]
    sample_piece *scrap; // [V]
} writer;

/* Moves `line` behind the last piece after which bytes are certain, and decodes the
 * pieces from there on. */
static cla_status decode_line(writer *w, cla_text *bytes)
{
    for (size_t i = w->line; i < w->ids.count; i++) {
        w->line = cla_language_ends(w->t, w->ids.id[i]) ? i + 1 : w->line;
    }
    return cla_language_decode(w->t, w->ids.id + w->line, w->ids.count - w->line,
                               bytes);
}

/* Writes the prompt's ids. A text begins as a document does or, where documents are not
 * apart, with a new line. */
static cla_status begin(writer *w, const char *prompt, size_t size)
{
    const size_t pieces = (size_t)w->t->config.pieces;
    const bool documents = w->t->documents;
    CLA_TRY(cla_tape_new(&w->turn[0], w->t->task.rt, false));
    CLA_TRY(cla_tape_new(&w->turn[1], w->t->task.rt, false));
    CLA_TRY(cla_alloc(&w->logits, pieces, sizeof *w->logits));
    CLA_TRY(cla_alloc(&w->scrap, pieces, sizeof *w->scrap));
    CLA_TRY(documents ? cla_language_encode(w->t, "", 1, &w->ids) : CLA_OK);
    CLA_TRY(cla_language_encode(w->t, prompt, size, &w->ids));
    CLA_TRY(w->ids.count ? CLA_OK : cla_language_encode(w->t, "\n", 1, &w->ids));
    const int64_t T = w->t->config.context, all = (int64_t)w->ids.count;
    w->fresh = all < T ? all : T;
    cla_text bytes = { 0 };
    CLA_TRY(decode_line(w, &bytes));
    w->prompt = bytes.size;
    w->blank = !size && w->t->tokenizer.front;
    cla_text_free(&bytes);
    return CLA_OK;
}

/* Adds a piece. The bytes of subwords depend on those behind them in their line, which
 * is decoded again. */
static cla_status add(writer *w, int32_t id)
{
    const size_t line = w->line, before = w->said.size;
    cla_text bytes = { 0 };
    CLA_TRY(cla_grow(&w->ids.id, &w->ids.cap, w->ids.count + 1, sizeof id));
    w->ids.id[w->ids.count++] = id;
    cla_status status =
        cla_language_decode(w->t, w->ids.id + line, w->ids.count - line, &bytes);
    const size_t skip = bytes.size < w->prompt ? bytes.size : w->prompt;
    const bool blank = w->blank && bytes.size && *bytes.data == ' ';
    const char *now = bytes.data + skip + blank;
    const size_t size = bytes.size - skip - blank;
    w->sure = w->kept;
    while (w->sure < before && w->sure - w->kept < size &&
           w->said.data[w->sure] == now[w->sure - w->kept]) {
        w->sure++;
    }
    w->blank = false;
    w->said.size = w->kept;
    status = status ? status : cla_text_append(&w->said, now, size);
    cla_text_free(&bytes);
    if (cla_language_ends(w->t, id)) {
        w->line = w->ids.count;
        w->sure = w->kept = w->said.size;
        w->prompt = 0;
    }
    return status;
}

/* Draws the next piece. A network that has read T pieces begins again with the last
 * half of them. Pieces that no text has are not drawn, but those of a
 * tokenizer, as other programs do. */
static cla_status draw(writer *w, int k, int32_t *id)
{
    cla_tape *tape = w->turn[k % 2];
    const int64_t T = w->t->config.context;
    cla_tensor *logits = NULL;
    if (w->past.count + w->fresh > T) {
        w->past = (lm_past){ 0 };
        w->fresh = (T + 1) / 2;
    }
    cla_tape_reset(tape);
    const int32_t *from = w->ids.id + w->ids.count - w->fresh;
    CLA_TRY(cla_lm_next(&w->t->model, tape, &logits, &w->past, from, w->fresh));
    CLA_TRY(cla_tensor_download(logits, w->logits));
    w->fresh = 1;
    for (int i = 0; i < CLA_SPECIALS && w->t->pieces != LANGUAGE_TOKENIZER; i++) {
        const bool end = i == CLA_EOS && w->t->documents;
        w->logits[i] = end ? w->logits[i] : -INFINITY;
    }
    return cla_sample(&w->how->sample, (uint32_t)k, w->logits, w->t->config.pieces,
                      w->scrap, id);
}

/* Cuts the text at the first stop in it, of which nothing was given. Returns whether
 * there is one. */
static bool stops(writer *w)
{
    size_t end = w->said.size;
    for (size_t i = 0; i < w->how->stops; i++) {
        const char *stop = w->how->stop[i];
        const size_t size = strlen(stop);
        for (size_t at = w->given; at + size <= end; at++) {
            end = memcmp(w->said.data + at, stop, size) == 0 ? at : end;
        }
    }
    const bool found = end < w->said.size;
    w->said.size = end;
    return found;
}

/* Returns how many bytes of the text can be given: not those that may begin a stop, nor
 * the start of a character whose end is not there. */
static size_t safe_size(const writer *w)
{
    size_t held = 0, size = w->sure > w->given ? w->sure : w->given;
    for (size_t i = 0; i < w->how->stops; i++) {
        const size_t more = strlen(w->how->stop[i]) - 1;
        held = more > held ? more : held;
    }
    size = size > held + w->given ? size - held : w->given;
    for (size_t back = 1; back <= 3 && back <= size - w->given; back++) {
        const unsigned char byte = (unsigned char)w->said.data[size - back];
        const size_t whole = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
        if (byte >= 0xc0) {
            return whole > back ? size - back : size;
        }
    }
    return size;
}

/* Gives the text up to a byte. */
static cla_status give(writer *w, size_t to)
{
    const size_t before = w->out->size;
    char letter[5];
    while (w->given < to) {
        int32_t code = 0;
        w->given +=
            (size_t)cla_utf8_step(w->said.data + w->given, to - w->given, &code);
        const int bytes = cla_utf8_put(code, letter);
        CLA_TRY(cla_text_append(w->out, letter, (size_t)bytes));
    }
    const size_t size = w->out->size - before;
    return w->how->take && size ? w->how->take(w->how->to, w->out->data + before, size)
                                : CLA_OK;
}

static cla_status go(writer *w)
{
    bool ended = false;
    cla_text_end end = CLA_TEXT_LENGTH;
    for (int k = 0; k < w->how->pieces && !ended; k++) {
        int32_t id = 0;
        CLA_TRY(draw(w, k, &id));
        CLA_TRY(add(w, id));
        end = stops(w)                       ? CLA_TEXT_STOP
              : cla_language_stops(w->t, id) ? CLA_TEXT_END
                                             : CLA_TEXT_LENGTH;
        ended = end != CLA_TEXT_LENGTH;
        CLA_TRY(give(w, ended ? w->said.size : safe_size(w)));
        CLA_TRY(cla_task_tell(&w->t->task, (size_t)k + 1, (size_t)w->how->pieces));
    }
    if (w->how->end) {
        *w->how->end = end;
    }
    return give(w, w->said.size);
}

cla_status cla_language_write(language *t, const char *prompt, size_t size,
                              const language_writing *how, cla_text *out)
{
    writer w = { .t = t, .how = how, .out = out };
    cla_status status = cla_text_append(out, "", 0);
    status = status ? status : begin(&w, prompt, size);
    status = status ? status : go(&w);
    cla_tape_free(&w.turn[0]);
    cla_tape_free(&w.turn[1]);
    cla_ids_free(&w.ids);
    cla_text_free(&w.said);
    free(w.logits);
    free(w.scrap);
    return status;
}
