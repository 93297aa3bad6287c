/* readers_text.c - reads with the readers of text formats. */
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "base/config.h"
#include "base/file.h"
#include "cli/readers.h"
#include "exchange/import_ctranslate2.h"
#include "exchange/import_marian.h"
#include "tasks/language/language.h"
#include "tasks/tagging/tagging.h"
#include "tasks/translation/translation.h"
#include "text/bitext.h"
#include "text/bpe.h"
#include "text/codec.h"
#include "text/dureader.h"
#include "text/poems.h"
#include "text/squad.h"
#include "text/themes.h"
#include "text/vectors.h"

/* ---- what was read, as text ---- */

static cla_status add_vocab(cla_text *out, const cla_vocab *v)
{
    for (size_t i = 0; i < v->count; i++) {
        CLA_TRY(cla_text_add(out, "<%s>", v->tokens[i]));
    }
    return CLA_OK;
}

static cla_status add_lines(cla_text *out, const cla_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++) {
        CLA_TRY(cla_text_add(out, "<%s>", lines->line[i].text));
    }
    return CLA_OK;
}

static cla_status add_reading(cla_text *out, const cla_reading *r)
{
    for (size_t i = 0; i < r->words.count; i++) {
        const cla_span *word = &r->words.word[i];
        CLA_TRY(cla_text_add(out, "%d-%d ", word->from, word->to));
    }
    return cla_text_add(out, "%zu", r->answer_count);
}

/* ---- readers ---- */

#define READ(name) cla_status name(const char *path, const char *folder, cla_text *out)

READ(read_bpe)
{
    cla_bpe bpe = { 0 };
    (void)folder;
    CLA_TRY(cla_bpe_load(&bpe, path));
    cla_status status = add_vocab(out, &bpe.symbols);
    status = status ? status : cla_bpe_apply(&bpe, "abc", 3, out);
    cla_bpe_free(&bpe);
    return status;
}

READ(read_config)
{
    cla_config c;
    (void)folder;
    CLA_TRY(cla_config_read(&c, path));
    cla_status status = reader_add_json(out, c.values);
    int lr = 0;
    status = status ? status : cla_config_int(&c, "size", &lr, 0, 9);
    cla_config_fini(&c);
    return status;
}

READ(read_conllu)
{
    cla_conllu f;
    (void)folder;
    CLA_TRY(cla_conllu_read(&f, path));
    for (size_t i = 0; i < f.word_count; i++) {
        cr_assert_eq(cla_text_add(out, "%d %s %s;", f.words[i].line, f.words[i].form,
                                  f.words[i].tag),
                     CLA_OK);
    }
    cla_conllu_free(&f);
    return CLA_OK;
}

READ(read_dureader)
{
    cla_reading r;
    cla_dureader_counts counts;
    const cla_dureader_options options = { 0 };
    (void)folder;
    CLA_TRY(cla_dureader_read(&r, path, &options, &counts));
    const cla_status status = add_reading(out, &r);
    cla_reading_free(&r);
    return status;
}

READ(read_lexicon)
{
    cla_lexicon l;
    (void)folder;
    CLA_TRY(cla_lexicon_read(&l, path));
    const cla_status status = add_vocab(out, &l.words);
    cla_lexicon_free(&l);
    return status;
}

READ(read_lines)
{
    cla_lines l;
    (void)folder;
    CLA_TRY(cla_lines_read(&l, path));
    cla_status status = add_lines(out, &l);
    cla_lines_free(&l);
    return status ? status : cla_lines_each(path, reader_add_line, out);
}

READ(read_pairs)
{
    cla_subwords learnt = { 0 };
    cla_lines lines = { 0 };
    cla_bitext b = { 0 };
    const cla_bitext_options options = { 100, true };
    (void)folder;
    CLA_TRY(cla_lines_read(&lines, path));
    cla_status status = cla_subwords_learn(&learnt, &lines, 1, true, 5);
    status = status ? status : cla_subwords_count(&learnt, &lines, 1, 0);
    status =
        status ? status : cla_bitext_read(&b, path, path, &learnt, &learnt, &options);
    status = status ? status : add_vocab(out, &learnt.vocab);
    status = status ? status : cla_text_add(out, "%zu", b.count);
    cla_bitext_free(&b);
    cla_subwords_free(&learnt);
    cla_lines_free(&lines);
    return status;
}

READ(read_pairs_of_folder)
{
    cla_lines lines[2] = { { .count = 0 } };
    const translation t = { .source_name = "a", .target_name = "a" };
    (void)path;
    cla_status status = cla_translation_read_lines(&t, folder, "dev", lines);
    status = status ? status : add_lines(out, &lines[0]);
    cla_lines_free(&lines[0]);
    cla_lines_free(&lines[1]);
    return status;
}

READ(read_text_stream)
{
    const language t = { .pieces = LANGUAGE_BYTES };
    language_text text = { .bytes = 0 };
    (void)folder;
    cla_status status = cla_language_read_split(&t, path, "test", &text);
    status =
        status ? status : cla_language_decode(&t, text.ids.id, text.ids.count, out);
    cla_language_text_free(&text);
    return status;
}

READ(read_poems)
{
    cla_poems p;
    cla_vocab v = { 0 };
    (void)folder;
    CLA_TRY(cla_poems_read(&p, path, true));
    cla_status status = cla_poems_vocab(&p, 0, &v);
    status = status ? status : add_vocab(out, &v);
    cla_vocab_free(&v);
    cla_poems_free(&p);
    return status;
}

READ(read_ranking)
{
    cla_ranking r;
    (void)folder;
    CLA_TRY(cla_ranking_load(&r, path));
    const cla_status status = add_vocab(out, &r.words);
    cla_ranking_free(&r);
    return status;
}

READ(read_themes)
{
    cla_ranking r = { 0 };
    cla_themes t;
    const char *const words[] = { "a", "b", "c" };
    (void)folder;
    for (int i = 0; i < 3; i++) {
        CLA_TRY(cla_vocab_add(&r.words, words[i], 1, NULL));
    }
    cla_status status = cla_themes_read(&t, path, &r);
    for (size_t i = 0; !status && i < t.word_count; i++) {
        status = cla_text_add(out, "%d ", t.word[i]);
    }
    cla_themes_free(&t);
    cla_ranking_free(&r);
    return status;
}

READ(read_squad)
{
    cla_reading r;
    cla_squad_counts counts;
    const cla_squad_options options = { .strict = true };
    (void)folder;
    CLA_TRY(cla_squad_read(&r, path, &options, &counts));
    const cla_status status = add_reading(out, &r);
    cla_reading_free(&r);
    return status;
}

READ(read_tag_lexicon)
{
    tagging *t = NULL;
    (void)path;
    static const char *const names[] = { "words.txt", "chars.txt", "tags.txt" };
    static const char list[] = "<pad>\n<oov>\nX\nY\n";
    for (int i = 0; i < 3; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s/%s", folder, names[i]);
        CLA_TRY(reader_write(name, list, sizeof list - 1));
    }
    CLA_TRY(cla_alloc(&t, 1, sizeof *t));
    cla_status status = cla_tagging_load_vocabularies(t, folder);
    status = status ? status : add_vocab(out, &t->lexicon.forms);
    status = status ? status : cla_text_add(out, "%d", t->lexicon.overall);
    cla_tagging_free_vocabularies(t);
    free(t);
    return status;
}

READ(read_vectors)
{
    cla_vectors v;
    (void)folder;
    CLA_TRY(cla_vectors_read(&v, path, NULL, 0));
    const cla_status status = add_vocab(out, &v.words);
    cla_vectors_free(&v);
    return status;
}

READ(read_vocabulary)
{
    cla_vocab v;
    (void)folder;
    CLA_TRY(cla_vocab_load(&v, path, 0));
    const cla_status status = add_vocab(out, &v);
    cla_vocab_free(&v);
    return status;
}

/* The index names a file beside it. */
READ(read_weights_index)
{
    (void)path;
    static const float x[] = { 1 };
    const cla_st_tensor tensor = {
        .name = "a", .dtype = CLA_ST_F32, .rank = 1, .shape = { 1 }, .data = x
    };
    marian_tensors t = { .count = 0 };
    cla_text weights = { 0 };
    CLA_TRY(cla_text_add(&weights, "%s/w.safetensors", folder));
    cla_status status = cla_st_save(weights.data, &tensor, 1, NULL);
    status = status ? status : cla_marian_open_tensors(&t, folder);
    for (size_t i = 0; i < t.all.count && !status; i++) {
        status = cla_text_add(out, "%s\n", t.all.tensors[i].name);
    }
    cla_marian_close_tensors(&t);
    unlink(weights.data);
    cla_text_free(&weights);
    return status;
}

READ(read_vocabulary_json)
{
    marian m = { .dir = folder, .source_pieces = 4, .target_pieces = 4, .pad = 3 };
    (void)path;
    CLA_TRY(cla_marian_read_pieces(&m));
    const cla_status status = add_vocab(out, &m.source.vocab);
    cla_marian_fini(&m);
    return status;
}

READ(read_vocabulary_ctranslate2)
{
    json_t *tokens = NULL;
    char *text = NULL;
    size_t size = 0;
    (void)folder;
    CLA_TRY(cla_file_read(path, &text, &size));
    cla_status status = cla_ct2_tokens(&tokens, path, text, size);
    status = status ? status : reader_add_json(out, tokens);
    json_decref(tokens);
    free(text);
    return status;
}

READ(read_languages)
{
    const marian m = { .dir = folder };
    json_t *tokens = json_object();
    (void)path;
    cla_status status = cla_nllb_add_languages(&m, tokens);
    status = status ? status : reader_add_json(out, tokens);
    json_decref(tokens);
    return status;
}

READ(read_tokenizer)
{
    cla_codec t = { .cutters = 0 };
    char *text = NULL;
    size_t size = 0;
    (void)folder;
    CLA_TRY(cla_file_read(path, &text, &size));
    cla_status status = cla_codec_parse(&t, path, text, size);
    status = status ? status : add_vocab(out, &t.vocab);
    status = status ? status : cla_text_add(out, " %zu", t.bpe.count);
    cla_codec_free(&t);
    free(text);
    return status;
}
