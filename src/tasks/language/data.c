/* data.c - texts as streams of pieces, kept as numbers. */
#include <string.h>

#include "base/file.h"
#include "base/input.h"
#include "base/platform.h"
#include "base/seal.h"
#include "base/utf8.h"
#include "tasks/language/language.h"

/* ---- texts ---------------------------------------------------------------------- */

/* Appends the lines of a text, of which the last may lack its end. Where documents are
 * apart, a NUL stands for each run of blank lines, before the first document and after
 * the last. */
static cla_status add_lines(cla_text *out, cla_scan *scan, bool documents)
{
    char *line = NULL;
    size_t size = 0;
    bool between = true; // no line of a document yet
    CLA_TRY(documents ? cla_text_append(out, "", 1) : CLA_OK);
    for (;;) {
        CLA_TRY(cla_scan_line(scan, &line, &size));
        if (!line) {
            break;
        }
        if (documents && cla_line_is_blank(line, size)) {
            CLA_TRY(between ? CLA_OK : cla_text_append(out, "", 1));
            between = true;
            continue;
        }
        CLA_TRY(documents && !between ? cla_text_append(out, "\n", 1) : CLA_OK);
        CLA_TRY(cla_text_append(out, line, size));
        CLA_TRY(documents ? CLA_OK : cla_text_append(out, "\n", 1));
        between = false;
    }
    return documents && !between ? cla_text_append(out, "", 1) : CLA_OK;
}

static cla_status read_text(cla_text *out, const char *path, bool documents)
{
    cla_scan scan = { 0 };
    cla_status status = cla_scan_file(&scan, path, CLA_SOURCE_PIPE);
    status = status ? status : cla_text_append(out, "", 0);
    status = status ? status : add_lines(out, &scan, documents);
    free(scan.data);
    return status;
}

/* Returns where the held-out part begins: behind that share of the characters and,
 * where documents are apart, at the start of a document. */
static size_t cut_at(const language *t, const cla_text *text)
{
    const int64_t all = cla_utf8_count(text->data, text->size);
    const int64_t kept = (int64_t)((double)all * (1 - t->hold_out));
    size_t at = 0;
    for (int64_t i = 0; i < kept; i++) {
        int32_t code = 0;
        at += (size_t)cla_utf8_next(text->data + at, &code);
    }
    while (t->documents && at < text->size && text->data[at]) {
        at++;
    }
    return at;
}

/* Reads a file; held_out: its held-out part, else what comes before that. */
static cla_status read_part(const language *t, const char *path, bool held_out,
                            cla_text *text)
{
    CLA_TRY(read_text(text, path, t->documents));
    if (t->hold_out <= 0) {
        return CLA_OK;
    }
    const size_t at = cut_at(t, text);
    if (held_out) {
        text->size -= at;
        memmove(text->data, text->data + at, text->size);
    } else { // the NUL at the cut ends the last document
        text->size = at + (t->documents && at < text->size);
    }
    return CLA_OK;
}

/* ---- splits --------------------------------------------------------------------- */

/* Gives the bytes of a text from its second piece on. An unknown first piece stands for
 * a character, not for its own name. */
static cla_status bytes_of(const language *t, const cla_text *read, const cla_ids *ids,
                           double *bytes)
{
    cla_text first = { 0 };
    int32_t code = 0;
    CLA_TRY(cla_language_decode(t, ids->id, 1, &first));
    const bool unknown = t->pieces != LANGUAGE_TOKENIZER && ids->id[0] == CLA_UNK;
    const bool blank =
        t->tokenizer.front && first.size && *first.data == ' ' && *read->data != ' ';
    const size_t size = unknown ? (size_t)cla_utf8_step(read->data, read->size, &code)
                                : first.size - blank;
    cla_text_free(&first);
    *bytes = (double)read->size - (double)(size < read->size ? size : read->size);
    for (size_t i = 0; i<read->size && * bytes> 0; i++) {
        *bytes -= !read->data[i];
    }
    return CLA_OK;
}

/* Makes the ids of a text of a file. */
static cla_status number(const language *t, const cla_text *read, const char *path,
                         language_text *text)
{
    CLA_TRY(cla_language_encode(t, read->data, read->size, &text->ids));
    return text->ids.count < 2
               ? cla_fail(CLA_E_INPUT, "%s: has less than two pieces", path)
               : bytes_of(t, read, &text->ids, &text->bytes);
}

/* Gives the path of a split of the folder data, and whether it is the held-out part of
 * that file. data may be a file itself. */
static cla_status find(const language *t, const char *data, const char *split,
                       cla_text *path, bool *held_out)
{
    cla_os_info info;
    const bool file = cla_os_info_of(data, &info) && info.kind != CLA_OS_FOLDER;
    const bool dev = strcmp(split, "dev") == 0;
    const char *name = strcmp(split, "train") == 0  ? t->train_name
                       : strcmp(split, "test") == 0 ? t->test_name
                       : dev                        ? t->dev_name
                                                    : split;
    *held_out = dev && t->hold_out > 0;
    name = *held_out ? t->train_name : name;
    return file ? cla_text_add(path, "%s", data)
                : cla_text_add(path, "%s/%s", data, name);
}

/* ---- numbers that were kept ------------------------------------------------------ */

void cla_language_text_free(language_text *text)
{
    if (!text->prepared.found) {
        cla_ids_free(&text->ids);
    }
    cla_prepared_close(&text->prepared);
    *text = (language_text){ 0 };
}

/* The parts of prepared data: bytes, ids and, of the training text, codes and
 * vocabulary. */
enum { BYTES, IDS, CODES, VOCAB, PARTS };

/* Which part of a text is read. */
typedef enum share { ALL, KEPT, HELD_OUT } share;

/* Appends what else decides about the numbers: that of texts other than the one for
 * training are cut by its pieces. */
static cla_status add_pieces(const language *t, cla_text *settings)
{
    cla_text vocab = { 0 };
    char hash[2][CLA_HASH_TEXT] = { "", "" };
    CLA_TRY(cla_vocab_text(&t->subwords.vocab, &vocab));
    cla_hash_text(hash[0], t->subwords.codes.data, t->subwords.codes.size);
    cla_hash_text(hash[1], vocab.data, vocab.size);
    cla_text_free(&vocab);
    return cla_text_add(settings, " %s %s", hash[0], hash[1]);
}

static cla_status open_prepared(const language *t, const char *path, share which,
                                bool training, cla_prepared *prepared)
{
    const bool model = t->pieces == LANGUAGE_MODEL;
    const bool other = model || t->pieces == LANGUAGE_TOKENIZER;
    const char *const texts[] = { path, model ? t->sentencepiece : t->tokenizer_path };
    cla_text settings = { 0 };
    cla_status status =
        cla_text_add(&settings, "text %d %d %d %d %.17g %d %d", t->pieces, t->merges,
                     t->split, t->documents, t->hold_out, (int)which, training);
    status = status ? status : cla_text_add(&settings, " %s", t->end_token);
    status = status || training ? status : add_pieces(t, &settings);
    const cla_prepared_of of = { path, settings.data, texts, 1 + (training && other),
                                 training ? PARTS : CODES };
    status = status ? status : cla_prepared_open(prepared, &of);
    cla_text_free(&settings);
    return status;
}

static cla_status take_ids(const language *t, language_text *text)
{
    const cla_part *part = text->prepared.part;
    const int32_t *id = part[IDS].data;
    const size_t count = part[IDS].size / sizeof *id;
    bool good = part[BYTES].size == sizeof text->bytes &&
                part[IDS].size == count * sizeof *id && count >= 2;
    for (size_t i = 0; i < count && good; i++) {
        good = id[i] >= 0 && id[i] < cla_language_count(t);
    }
    if (!good) {
        return cla_fail(CLA_E_INPUT, "holds no text of these pieces");
    }
    memcpy(&text->bytes, part[BYTES].data, sizeof text->bytes);
    text->ids = (cla_ids){ .id = (int32_t *)id, .count = count };
    return CLA_OK;
}

/* Takes the pieces of the training text. */
static cla_status take_pieces(language *t)
{
    const cla_part *part = t->train.prepared.part;
    const char *path = t->train.prepared.path.data;
    if (t->pieces == LANGUAGE_BYTES) {
        return CLA_OK;
    }
    if (t->pieces == LANGUAGE_CHARACTERS) {
        return cla_vocab_parse(&t->subwords.vocab, path, part[VOCAB].data,
                               part[VOCAB].size, CLA_SPECIALS);
    }
    if (t->pieces == LANGUAGE_TOKENIZER) {
        return cla_language_use_tokenizer(t, path, part[CODES].data, part[CODES].size);
    }
    CLA_TRY(
        cla_subwords_parse(&t->subwords, cla_language_kind_of(t), path, part + CODES));
    return cla_language_find_end(t, path);
}

static cla_status keep(const language *t, language_text *text)
{
    cla_text vocab = { 0 };
    CLA_TRY(cla_vocab_text(&t->subwords.vocab, &vocab));
    const cla_part part[PARTS] = {
        { &text->bytes, sizeof text->bytes },
        { text->ids.id, text->ids.count * sizeof *text->ids.id },
        { t->subwords.codes.data, t->subwords.codes.size },
        { vocab.data, vocab.size },
    };
    const cla_status status = cla_prepared_keep(&text->prepared, part);
    cla_text_free(&vocab);
    return status;
}

/* ---- splits ---------------------------------------------------------------------- */

static cla_status read_share(const language *t, const char *path, share which,
                             cla_text *read)
{
    return which == ALL ? read_text(read, path, t->documents)
                        : read_part(t, path, which == HELD_OUT, read);
}

/* Reads a split as text and makes numbers of it. */
static cla_status split_text(const language *t, const char *path, share which,
                             language_text *text)
{
    cla_text read = { 0 };
    cla_status status = read_share(t, path, which, &read);
    status = status ? status : number(t, &read, path, text);
    status = status ? status : keep(t, text);
    cla_text_free(&read);
    return status;
}

static cla_status read_split(const language *t, const char *path, share which,
                             language_text *text)
{
    CLA_TRY(open_prepared(t, path, which, false, &text->prepared));
    if (text->prepared.found) {
        const cla_status status = take_ids(t, text);
        CLA_TRY(status == CLA_E_INPUT ? cla_prepared_refuse(&text->prepared) : status);
    }
    return text->prepared.found ? CLA_OK : split_text(t, path, which, text);
}

cla_status cla_language_read_split(const language *t, const char *data,
                                   const char *split, language_text *text)
{
    cla_text path = { 0 };
    bool held_out = false;
    cla_status status = find(t, data, split, &path, &held_out);
    status =
        status ? status : read_split(t, path.data, held_out ? HELD_OUT : ALL, text);
    cla_text_free(&path);
    return status;
}

/* Fails if the dev split cannot be read: a run would stop at its first evaluation. */
static cla_status check_dev(const language *t)
{
    language_text text = { 0 };
    const cla_status status = cla_language_read_split(t, t->data, "dev", &text);
    cla_language_text_free(&text);
    return status;
}

/* Reads the training text, learns its pieces and makes numbers of it. */
static cla_status learn(language *t, const char *path, share which)
{
    cla_text read = { 0 };
    cla_status status = read_share(t, path, which, &read);
    status = status ? status : cla_language_learn(t, &read, path);
    status = status ? status : number(t, &read, path, &t->train);
    status = status ? status : keep(t, &t->train);
    cla_text_free(&read);
    return status;
}

/* Takes the training text as numbers where they are kept, and refuses those that are
 * none. */
static cla_status find_training(language *t, const char *path, share which)
{
    CLA_TRY(open_prepared(t, path, which, true, &t->train.prepared));
    cla_status status = t->train.prepared.found ? take_pieces(t) : CLA_OK;
    status = status || !t->train.prepared.found ? status : take_ids(t, &t->train);
    if (status != CLA_E_INPUT) {
        return status;
    }
    cla_subwords_free(&t->subwords);
    cla_codec_free(&t->tokenizer);
    return cla_prepared_refuse(&t->train.prepared);
}

cla_status cla_language_read_training(language *t, const char *dir, cla_task_mode mode)
{
    cla_text path = { 0 };
    bool held_out = false;
    const share which = t->hold_out > 0 ? KEPT : ALL;
    cla_status status = find(t, t->data, "train", &path, &held_out);
    status = status ? status : find_training(t, path.data, which);
    if (!status && !t->train.prepared.found) {
        status = learn(t, path.data, which);
    }
    if (!status && dir) {
        status = cla_language_keep(t, dir, mode == CLA_TASK_RESUMED);
    }
    status = status || !dir ? status : check_dev(t);
    cla_text_free(&path);
    return status;
}
