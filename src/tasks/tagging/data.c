/* data.c - builds, saves, compares and loads the vocabularies and the lexicon. */
#include <string.h>

#include "base/file.h"
#include "base/input.h"
#include "base/utf8.h"
#include "tasks/tagging/tagging.h"

static const char *const special_names[TAGGING_SPECIAL] = { "<pad>", "<oov>" };
static const char PAD_WORD[] = "PAD"; // the padding word has letters like any other

static cla_status add_special(cla_vocab *v)
{
    for (int i = 0; i < TAGGING_SPECIAL; i++) {
        CLA_TRY(cla_vocab_reserve(v, special_names[i]));
    }
    return CLA_OK;
}

/* Builds the vocabulary of words; files[0] is the training split. The paper keeps the
 * more frequent half of the types of all splits, and for the Penn Treebank the 20,000
 * most frequent (limit). The modern preset keeps the words that training has at least
 * twice; the others train the id of unknown words. */
static cla_status build_words(tagging *t, const cla_conllu files[], int count)
{
    cla_vocab all = { 0 };
    cla_status status = CLA_OK;
    const int used = t->preset == TAGGING_PAPER ? count : 1;
    for (int f = 0; f < used; f++) {
        for (size_t i = 0; i < files[f].word_count && !status; i++) {
            status = cla_vocab_add(&all, files[f].words[i].form, 1, NULL);
        }
    }
    size_t keep = all.count / 2;
    if (!status && t->preset == TAGGING_MODERN) {
        keep = 0;
        for (size_t i = 0; i < all.count; i++) {
            keep += all.counts[i] > 1;
        }
    }
    keep = t->limit ? (size_t)t->limit : keep;
    status = status ? status : cla_vocab_keep_frequent(&all, keep);
    status = status ? status : add_special(&t->words);
    for (size_t i = 0; i < all.count && !status; i++) {
        status = cla_vocab_add(&t->words, all.tokens[i], all.counts[i], NULL);
    }
    cla_vocab_free(&all);
    return status;
}

static cla_status build_chars_and_tags(tagging *t, const cla_conllu *train)
{
    CLA_TRY(add_special(&t->chars));
    CLA_TRY(add_special(&t->tags));
    for (size_t i = 0; i < train->word_count; i++) {
        for (const char *at = train->words[i].form; *at;) {
            int32_t code = 0;
            char letter[5];
            at += cla_utf8_next(at, &code);
            cla_utf8_put(code, letter);
            CLA_TRY(cla_vocab_add(&t->chars, letter, 1, NULL));
        }
        CLA_TRY(cla_vocab_add(&t->tags, train->words[i].tag, 1, NULL));
    }
    for (const char *at = PAD_WORD; *at; at++) {
        const char letter[2] = { *at, 0 };
        CLA_TRY(cla_vocab_add(&t->chars, letter, 0, NULL));
    }
    return CLA_OK;
}

/* Returns the most frequent tag; of equals, the one that sorts first. */
static int32_t best_tag(const tagging *t, const int64_t *counts)
{
    int32_t best = TAGGING_SPECIAL;
    for (int32_t i = TAGGING_SPECIAL + 1; i < (int32_t)t->tags.count; i++) {
        const int order = strcmp(t->tags.tokens[i], t->tags.tokens[best]);
        if (counts[i] > counts[best] || (counts[i] == counts[best] && order < 0)) {
            best = i;
        }
    }
    return best;
}

static cla_status alloc_lexicon(lexicon *x)
{
    CLA_TRY(cla_alloc(&x->majority, x->forms.count + 1, sizeof *x->majority));
    return cla_alloc(&x->ambiguous, x->forms.count + 1, sizeof *x->ambiguous);
}

static cla_status build_lexicon(tagging *t, const cla_conllu *train)
{
    lexicon *x = &t->lexicon;
    const size_t tags = t->tags.count;
    int64_t *counts = NULL;
    for (size_t i = 0; i < train->word_count; i++) {
        CLA_TRY(cla_vocab_add(&x->forms, train->words[i].form, 1, NULL));
    }
    CLA_TRY(alloc_lexicon(x));
    CLA_TRY(cla_alloc(&counts, (x->forms.count + 1) * tags, sizeof *counts));
    int64_t *overall = counts + x->forms.count * tags;
    for (size_t i = 0; i < train->word_count; i++) {
        const int form = cla_vocab_find(&x->forms, train->words[i].form);
        const int tag = cla_vocab_find(&t->tags, train->words[i].tag);
        counts[(size_t)form * tags + (size_t)tag]++;
        overall[tag]++;
    }
    for (size_t f = 0; f < x->forms.count; f++) {
        int kinds = 0;
        for (size_t k = 0; k < tags; k++) {
            kinds += counts[f * tags + k] > 0;
        }
        x->majority[f] = best_tag(t, counts + f * tags);
        x->ambiguous[f] = kinds > 1;
    }
    x->overall = best_tag(t, overall);
    free(counts);
    return CLA_OK;
}

cla_status cla_tagging_build_vocabularies(tagging *t, const cla_conllu files[],
                                          int count)
{
    CLA_TRY(build_words(t, files, count));
    CLA_TRY(build_chars_and_tags(t, &files[0]));
    return build_lexicon(t, &files[0]);
}

void cla_tagging_free_vocabularies(tagging *t)
{
    cla_vocab_free(&t->words);
    cla_vocab_free(&t->chars);
    cla_vocab_free(&t->tags);
    cla_vocab_free(&t->lexicon.forms);
    free(t->lexicon.majority);
    free(t->lexicon.ambiguous);
}

/* ---- files of the model folder -------------------------------------------------- */

static cla_status in_folder(const char *dir, const char *name, cla_text *path)
{
    return cla_text_add(path, "%s/%s", dir, name);
}

/* Writes or compares the text of a vocabulary file. */
typedef cla_status (*text_use)(const char *path, const cla_text *text);

static cla_status write_text(const char *path, const cla_text *text)
{
    return cla_file_write(path, text->data, text->size);
}

static cla_status compare_text(const char *path, const cla_text *text)
{
    bool same = false;
    CLA_TRY(cla_file_compare(path, text->data, text->size, &same));
    return same ? CLA_OK
                : cla_fail(CLA_E_INPUT,
                           "%s: the data gives another vocabulary; is it that of the "
                           "run?",
                           path);
}

static cla_status use_file(const char *dir, const char *name, const cla_text *text,
                           text_use use)
{
    cla_text path = { 0 };
    cla_status status = in_folder(dir, name, &path);
    status = status ? status : use(path.data, text);
    cla_text_free(&path);
    return status;
}

static cla_status use_vocabulary(const cla_vocab *v, const char *dir, const char *name,
                                 text_use use)
{
    cla_text text = { 0 };
    cla_status status = cla_vocab_text(v, &text);
    status = status ? status : use_file(dir, name, &text, use);
    cla_text_free(&text);
    return status;
}

static cla_status load_one(cla_vocab *v, const char *dir, const char *name)
{
    cla_text path = { 0 };
    cla_status status = in_folder(dir, name, &path);
    status = status ? status : cla_vocab_load(v, path.data, TAGGING_SPECIAL);
    cla_text_free(&path);
    return status;
}

/* Writes or compares lexicon.tsv. A line is form TAB most frequent tag TAB 1 if
 * ambiguous, else 0. The first has no form and the most frequent tag of all. */
static cla_status use_lexicon(const tagging *t, const char *dir, text_use use)
{
    const lexicon *x = &t->lexicon;
    cla_text text = { 0 };
    cla_status status = cla_text_add(&text, "\t%s\t0\n", t->tags.tokens[x->overall]);
    for (size_t i = 0; i < x->forms.count && !status; i++) {
        status = cla_text_add(&text, "%s\t%s\t%d\n", x->forms.tokens[i],
                              t->tags.tokens[x->majority[i]], x->ambiguous[i]);
    }
    status = status ? status : use_file(dir, "lexicon.tsv", &text, use);
    cla_text_free(&text);
    return status;
}

static cla_status use_all(const tagging *t, const char *dir, text_use use)
{
    CLA_TRY(use_vocabulary(&t->words, dir, "words.txt", use));
    CLA_TRY(use_vocabulary(&t->chars, dir, "chars.txt", use));
    CLA_TRY(use_vocabulary(&t->tags, dir, "tags.txt", use));
    return use_lexicon(t, dir, use);
}

cla_status cla_tagging_save_vocabularies(const tagging *t, const char *dir)
{
    return use_all(t, dir, write_text);
}

cla_status cla_tagging_compare_vocabularies(const tagging *t, const char *dir)
{
    return use_all(t, dir, compare_text);
}

/* Reads a line of lexicon.tsv; line 1 has the overall tag. */
static cla_status read_entry(tagging *t, const char *path, size_t line, char *text)
{
    lexicon *x = &t->lexicon;
    char *tag = strchr(text, '\t');
    char *flag = tag ? strchr(tag + 1, '\t') : NULL;
    if (!flag) {
        return cla_fail(CLA_E_INPUT, "%s:%zu: must be form, tag, 0 or 1", path, line);
    }
    *tag++ = 0;
    *flag++ = 0;
    const int id = cla_vocab_find(&t->tags, tag);
    if (id < TAGGING_SPECIAL) {
        return cla_fail(CLA_E_INPUT, "%s:%zu: tag '%s' is not in tags.txt", path, line,
                        tag);
    }
    if (line == 1) {
        x->overall = id;
        return CLA_OK;
    }
    int form = 0;
    CLA_TRY(cla_vocab_add(&x->forms, text, 1, &form));
    x->majority[form] = id;
    x->ambiguous[form] = *flag == '1';
    return CLA_OK;
}

static cla_status read_entries(tagging *t, cla_scan *scan)
{
    size_t lines = 1; // the last may lack its end
    for (const char *at = scan->at; at < scan->end; at++) {
        lines += *at == '\n';
    }
    CLA_TRY(cla_alloc(&t->lexicon.majority, lines + 1, sizeof *t->lexicon.majority));
    CLA_TRY(cla_alloc(&t->lexicon.ambiguous, lines + 1, sizeof *t->lexicon.ambiguous));
    for (;;) {
        char *line = NULL;
        size_t size = 0;
        CLA_TRY(cla_scan_filled(scan, &line, &size));
        if (!line) {
            return CLA_OK;
        }
        CLA_TRY(read_entry(t, scan->path, scan->number, line));
    }
}

static cla_status load_lexicon(tagging *t, const char *dir)
{
    cla_text path = { 0 };
    cla_scan scan = { 0 };
    cla_status status = in_folder(dir, "lexicon.tsv", &path);
    status = status ? status : cla_scan_file(&scan, path.data, CLA_SOURCE_FILE);
    status = status ? status : read_entries(t, &scan);
    free(scan.data);
    cla_text_free(&path);
    return status;
}

cla_status cla_tagging_load_vocabularies(tagging *t, const char *dir)
{
    CLA_TRY(load_one(&t->words, dir, "words.txt"));
    CLA_TRY(load_one(&t->chars, dir, "chars.txt"));
    CLA_TRY(load_one(&t->tags, dir, "tags.txt"));
    return load_lexicon(t, dir);
}
