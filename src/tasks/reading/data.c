/* data.c - the vocabularies of a run, and the ids and traits of a text's words. */
#include <string.h>

#include "base/file.h"
#include "base/utf8.h"
#include "tasks/reading/reading.h"

/* ---- vocabulary ------------------------------------------------------------------ */

static cla_status count_words(reading *t, const cla_reading *text)
{
    return cla_reading_vocab(text, t->min_count, t->lower, (size_t)t->limit, &t->words);
}

/* ---- files of the model folder --------------------------------------------------- */

const char cla_reading_chars_file[] = "chars.txt";

/* Loads, saves or compares a vocabulary and its file. */
typedef cla_status use_vocab(cla_vocab *v, const char *path);

static cla_status save(cla_vocab *v, const char *path)
{
    return cla_vocab_save(v, path);
}

static cla_status compare(cla_vocab *v, const char *path)
{
    cla_text text = { 0 };
    bool same = false;
    cla_status status = cla_vocab_text(v, &text);
    status = status ? status : cla_file_compare(path, text.data, text.size, &same);
    cla_text_free(&text);
    return status || same ? status
                          : cla_fail(CLA_E_INPUT,
                                     "%s: the data gives another vocabulary; is it "
                                     "that of the run?",
                                     path);
}

static cla_status load(cla_vocab *v, const char *path)
{
    CLA_TRY(cla_vocab_load(v, path, CLA_SPECIALS));
    return v->count < CLA_SPECIALS
               ? cla_fail(CLA_E_INPUT, "%s: too few words or characters", path)
               : CLA_OK;
}

/* Applies use to the vocabulary of words and, if the network uses it, of characters. */
static cla_status use_vocabs(reading *t, const char *dir, use_vocab *use)
{
    static const char *const names[] = { "words.txt", cla_reading_chars_file };
    cla_vocab *const vocabs[] = { &t->words, &t->chars };
    for (int i = 0; i < (t->config.char_dim ? 2 : 1); i++) {
        cla_text path = { 0 };
        cla_status status = cla_text_add(&path, "%s/%s", dir, names[i]);
        status = status ? status : use(vocabs[i], path.data);
        cla_text_free(&path);
        CLA_TRY(status);
    }
    return CLA_OK;
}

cla_status cla_reading_load_words(reading *t, const char *dir)
{
    return use_vocabs(t, dir, load);
}

cla_status cla_reading_open_training(reading *t, const char *dir, cla_task_mode mode)
{
    CLA_TRY(cla_reading_read_split(t, NULL, "train", &t->train.text));
    CLA_TRY(dir ? cla_reading_check_split(t, "dev") : CLA_OK); // before any step
    CLA_TRY(count_words(t, &t->train.text));
    if (t->config.char_dim) {
        CLA_TRY(cla_reading_count_chars(t, &t->train.text));
    }
    if (dir) {
        CLA_TRY(use_vocabs(t, dir, mode == CLA_TASK_RESUMED ? compare : save));
    }
    return cla_reading_split_build(t, &t->train, NULL);
}

/* ---- ids and traits of words ----------------------------------------------------- */

static int shape_of(const char *word)
{
    enum { LOWER, FIRST, LARGE, DIGITS, OTHER };
    int letters = 0, large = 0, digits = 0, at = 0;
    bool first = false;
    for (; *word; at++) {
        int32_t code = 0;
        word += cla_utf8_step(word, strlen(word), &code);
        const bool upper = cla_utf8_lower(code) != code;
        digits += code >= '0' && code <= '9';
        letters += cla_utf8_is_letter(code);
        large += upper;
        first = first || (at == 0 && upper);
    }
    return digits      ? DIGITS
           : !letters  ? OTHER
           : large > 1 ? LARGE
           : first     ? FIRST
                       : LOWER;
}

static int rank_of(int32_t id)
{
    enum { COMMON = 100, USUAL = 1000 };
    return id == CLA_UNK                ? READER_RANKS - 1
           : id < COMMON + CLA_SPECIALS ? 0
           : id < USUAL + CLA_SPECIALS  ? 1
                                        : 2;
}

/* State while the words of a file get their numbers. */
typedef struct numbering {
    const reading *t;
    reading_split *s;
    cla_vocab forms, roots;
    cla_text form;
} numbering;

static cla_status number_word(numbering *n, const char *text, size_t word)
{
    enum { ROOT = 5 }; // bytes
    reading_split *s = n->s;
    int form = 0, root = 0;
    const cla_span *span = &s->text.words.word[word];
    n->form.size = 0;
    CLA_TRY(cla_words_form(text, span, false, &n->form));
    s->look[word] = shape_of(n->form.data) * READER_RANKS + rank_of(s->id[word]);
    n->form.size = 0;
    CLA_TRY(cla_words_form(text, span, true, &n->form));
    CLA_TRY(cla_vocab_add(&n->forms, n->form.data, 1, &form));
    n->form.data[n->form.size < ROOT ? n->form.size : ROOT] = 0;
    CLA_TRY(cla_vocab_add(&n->roots, n->form.data, 1, &root));
    s->form[word] = form;
    s->root[word] = root;
    return CLA_OK;
}

static cla_status number_text(numbering *n, const cla_reading_text *text)
{
    for (size_t i = text->first; i < text->first + text->count; i++) {
        CLA_TRY(number_word(n, n->s->text.bytes.data + text->at, i));
    }
    return CLA_OK;
}

static cla_status number_words(numbering *n)
{
    reading_split *s = n->s;
    for (size_t i = 0; i < s->text.passage_count; i++) {
        CLA_TRY(number_text(n, &s->text.passages[i]));
    }
    for (size_t i = 0; i < s->text.question_count; i++) {
        CLA_TRY(number_text(n, &s->text.questions[i].text));
    }
    s->forms = n->forms.count;
    return cla_alloc(&s->shared, n->forms.count + n->roots.count + 1, 1);
}

cla_status cla_reading_split_build(const reading *t, reading_split *s,
                                   cla_reading *text)
{
    if (text) {
        s->text = *text;
        *text = (cla_reading){ 0 };
    }
    const size_t words = s->text.words.count;
    numbering n = { .t = t, .s = s };
    CLA_TRY(cla_alloc(&s->id, 4 * words + 1, sizeof *s->id));
    s->form = s->id + words;
    s->root = s->form + words;
    s->look = s->root + words;
    CLA_TRY(cla_reading_ids(&s->text, &t->words, t->lower, s->id));
    const cla_status status = number_words(&n);
    cla_vocab_free(&n.forms);
    cla_vocab_free(&n.roots);
    cla_text_free(&n.form);
    CLA_TRY(status);
    return t->config.char_dim ? cla_reading_spell(t, s) : CLA_OK;
}

void cla_reading_split_free(reading_split *s)
{
    cla_reading_free(&s->text);
    free(s->id);
    free(s->shared);
    cla_reading_spellings_free(&s->spellings);
    *s = (reading_split){ 0 };
}

int64_t cla_reading_length(const reading_split *s, int64_t question)
{
    const cla_reading_question *q = &s->text.questions[question];
    int64_t words = 0;
    for (int32_t k = 0; k < q->passages; k++) {
        words += (int64_t)s->text.passages[q->passage + k].count;
    }
    return words;
}
