/* data.c - texts as streams of bytes or characters. */
#include <string.h>

#include "base/file.h"
#include "base/input.h"
#include "base/platform.h"
#include "base/utf8.h"
#include "tasks/language/language.h"

const char cla_language_characters_file[] = "characters.txt";

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

/* ---- pieces --------------------------------------------------------------------- */

int cla_language_count(const language *t)
{
    enum { BYTES = 256 };
    return t->pieces == LANGUAGE_BYTES ? CLA_SPECIALS + BYTES
                                       : (int)t->characters.count;
}

cla_status cla_language_encode(const language *t, const char *text, size_t size,
                               cla_ids *ids)
{
    char letter[5];
    CLA_TRY(cla_grow(&ids->id, &ids->cap, ids->count + size, sizeof *ids->id));
    for (size_t at = 0; at < size;) {
        int32_t code = 0;
        int bytes = 1, id = CLA_SPECIALS + (unsigned char)text[at];
        if (!text[at]) {
            id = CLA_EOS;
        } else if (t->pieces == LANGUAGE_CHARACTERS) {
            bytes = cla_utf8_next(text + at, &code);
            cla_utf8_put(code, letter);
            id = cla_vocab_number(&t->characters, letter);
        }
        ids->id[ids->count++] = id;
        at += (size_t)bytes;
    }
    return CLA_OK;
}

cla_status cla_language_decode(const language *t, int32_t id, cla_text *out)
{
    if (id < CLA_SPECIALS) {
        return CLA_OK;
    }
    if (t->pieces == LANGUAGE_CHARACTERS) {
        return cla_text_add(out, "%s", t->characters.tokens[id]);
    }
    const char byte = (char)(id - CLA_SPECIALS);
    return cla_text_append(out, &byte, 1);
}

/* Makes the vocabulary of a text's characters, the most frequent first. */
static cla_status count_characters(language *t, const cla_text *text)
{
    cla_vocab counts = { 0 };
    char letter[5];
    cla_status status = CLA_OK;
    for (size_t at = 0; at < text->size && !status;) {
        int32_t code = 0;
        int id = 0;
        at += (size_t)cla_utf8_next(text->data + at, &code);
        cla_utf8_put(code, letter);
        status = code ? cla_vocab_add(&counts, letter, 1, &id) : CLA_OK;
    }
    status = status ? status : cla_vocab_take(&t->characters, &counts, 1, 0);
    cla_vocab_free(&counts);
    return status;
}

/* Writes the characters to dir, or compares them with those that a resumed run has. */
static cla_status keep_characters(const language *t, const char *dir, bool resumed)
{
    cla_text path = { 0 }, text = { 0 };
    bool same = true;
    cla_status status = cla_text_add(&path, "%s/%s", dir, cla_language_characters_file);
    if (!status && !resumed) {
        status = cla_vocab_save(&t->characters, path.data);
    } else if (!status) {
        status = cla_vocab_text(&t->characters, &text);
        status =
            status ? status : cla_file_compare(path.data, text.data, text.size, &same);
    }
    if (!status && !same) {
        status = cla_fail(CLA_E_INPUT,
                          "%s: the data has other characters; is it that of the run?",
                          path.data);
    }
    cla_text_free(&path);
    cla_text_free(&text);
    return status;
}

cla_status cla_language_load(language *t, const char *dir)
{
    cla_text path = { 0 };
    if (t->pieces != LANGUAGE_CHARACTERS) {
        return CLA_OK;
    }
    cla_status status = cla_text_add(&path, "%s/%s", dir, cla_language_characters_file);
    status = status ? status : cla_vocab_load(&t->characters, path.data, CLA_SPECIALS);
    cla_text_free(&path);
    return status;
}

/* ---- splits --------------------------------------------------------------------- */

/* Makes the ids of a text of a file. */
static cla_status number(const language *t, const cla_text *read, const char *path,
                         language_text *text)
{
    int32_t code = 0;
    CLA_TRY(cla_language_encode(t, read->data, read->size, &text->ids));
    if (text->ids.count < 2) {
        return cla_fail(CLA_E_INPUT, "%s: has less than two pieces", path);
    }
    text->bytes = (double)read->size;
    for (size_t i = 0; i < text->ids.count; i++) {
        text->bytes -= text->ids.id[i] == CLA_EOS;
    }
    if (text->ids.id[0] != CLA_EOS) {
        text->bytes -=
            t->pieces == LANGUAGE_BYTES ? 1 : cla_utf8_next(read->data, &code);
    }
    return CLA_OK;
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

cla_status cla_language_read_split(const language *t, const char *data,
                                   const char *split, language_text *text)
{
    cla_text path = { 0 }, read = { 0 };
    bool held_out = false;
    cla_status status = find(t, data, split, &path, &held_out);
    status = status     ? status
             : held_out ? read_part(t, path.data, true, &read)
                        : read_text(&read, path.data, t->documents);
    status = status ? status : number(t, &read, path.data, text);
    cla_text_free(&path);
    cla_text_free(&read);
    return status;
}

static cla_status learn(language *t, const cla_text *read, const char *dir,
                        cla_task_mode mode)
{
    if (t->pieces != LANGUAGE_CHARACTERS) {
        return CLA_OK;
    }
    CLA_TRY(count_characters(t, read));
    return dir ? keep_characters(t, dir, mode == CLA_TASK_RESUMED) : CLA_OK;
}

/* Fails if the dev split cannot be read: a run would stop at its first evaluation. */
static cla_status check_dev(const language *t)
{
    language_text text = { 0 };
    const cla_status status = cla_language_read_split(t, t->data, "dev", &text);
    cla_ids_free(&text.ids);
    return status;
}

cla_status cla_language_read_training(language *t, const char *dir, cla_task_mode mode)
{
    cla_text path = { 0 }, read = { 0 };
    bool held_out = false;
    cla_status status = find(t, t->data, "train", &path, &held_out);
    status = status ? status : read_part(t, path.data, false, &read);
    status = status ? status : learn(t, &read, dir, mode);
    status = status ? status : number(t, &read, path.data, &t->train);
    status = status || !dir ? status : check_dev(t);
    cla_text_free(&path);
    cla_text_free(&read);
    return status;
}
