/* data.c - parallel text, its pieces, and batches of pairs. */
#include <string.h>

#include "base/file.h"
#include "tasks/translation/translation.h"

/* ---- pieces ------------------------------------------------------------------ */

/* Writes folder/stem, then .language unless it is NULL. */
static cla_status path_of(cla_text *path, const char *folder, const char *stem,
                          const char *language)
{
    return cla_text_add(path, "%s/%s%s%s", folder, stem, language ? "." : "",
                        language ? language : "");
}

/* Makes the vocabularies of both languages, joint if they share one embedding table.
 * A joint target counts prefixes as the source does: both must be equal. */
static cla_status count_pieces(translation *t, const cla_lines texts[2], bool joint)
{
    t->source.prefix = t->prefix_token;
    CLA_TRY(cla_subwords_count(&t->source, texts, joint ? 2 : 1, 0));
    t->target.prefix = joint && t->prefix_token;
    const cla_status status =
        cla_subwords_count(&t->target, joint ? texts : &texts[1], joint ? 2 : 1, 0);
    t->target.prefix = false; // target lines have no prefix
    return status;
}

/* Learns the merges from both texts, or takes models of SentencePiece, and makes the
 * vocabularies. */
static cla_status learn(translation *t, const cla_lines texts[2])
{
    const bool joint = t->config.tied == TRANSFORMER_TIED_ALL;
    CLA_TRY(*t->sentencepiece
                ? cla_subwords_take(&t->source, t->sentencepiece)
                : cla_subwords_learn(&t->source, texts, 2, t->split, t->merges));
    if (*t->target_sentencepiece && joint) {
        return cla_fail(CLA_E_INPUT,
                        "translator: target_sentencepiece and tied 'all': training "
                        "makes one vocabulary from one model");
    }
    CLA_TRY(*t->target_sentencepiece
                ? cla_subwords_take(&t->target, t->target_sentencepiece)
                : cla_subwords_share(&t->target, &t->source));
    return count_pieces(t, texts, joint);
}

/* Loads, saves or compares one language's pieces at the paths of its two files. */
typedef cla_status (*pieces_use)(cla_subwords *s, cla_pieces kind, const char *codes,
                                 const char *vocab);

static cla_status save(cla_subwords *s, cla_pieces kind, const char *codes,
                       const char *vocab)
{
    (void)kind;
    return cla_subwords_save(s, codes, vocab);
}

static cla_status same_file(const char *path, const cla_text *text)
{
    bool same = false;
    CLA_TRY(cla_file_compare(path, text->data, text->size, &same));
    return same ? CLA_OK
                : cla_fail(CLA_E_INPUT,
                           "%s: the data gives other pieces; is it that of the run?",
                           path);
}

static cla_status compare(cla_subwords *s, cla_pieces kind, const char *codes,
                          const char *vocab)
{
    (void)kind;
    cla_text text = { 0 };
    CLA_TRY(same_file(codes, &s->codes));
    cla_status status = cla_vocab_text(&s->vocab, &text);
    status = status ? status : same_file(vocab, &text);
    cla_text_free(&text);
    return status;
}

static cla_status use_one(cla_subwords *s, cla_pieces kind, const char *dir,
                          const char *const names[2], pieces_use use)
{
    cla_text codes = { 0 }, vocab = { 0 };
    cla_status status = path_of(&codes, dir, names[0], NULL);
    status = status ? status : path_of(&vocab, dir, names[1], NULL);
    status = status ? status : use(s, kind, codes.data, vocab.data);
    cla_text_free(&codes);
    cla_text_free(&vocab);
    return status;
}

static cla_status use_both(translation *t, const char *dir, pieces_use use)
{
    const cla_pieces kind = *t->sentencepiece ? CLA_PIECES_MODEL
                            : t->split        ? CLA_PIECES_SPLIT
                                              : CLA_PIECES_BPE;
    const char *const source[] = { "codes.txt", "source.txt" };
    const char *const target[] = { *t->target_sentencepiece ? "target_codes.txt"
                                                            : "codes.txt",
                                   "target.txt" };
    CLA_TRY(use_one(&t->source, kind, dir, source, use));
    return use_one(&t->target, kind, dir, target, use);
}

cla_status cla_translation_load_pieces(translation *t, const char *dir)
{
    CLA_TRY(use_both(t, dir, cla_subwords_load));
    t->source.prefix = t->prefix_token || t->unknown_prefix;
    return CLA_OK;
}

/* ---- text -------------------------------------------------------------------- */

cla_status cla_translation_read_lines(const translation *t, const char *data,
                                      const char *stem, cla_lines lines[2])
{
    for (int i = 0; i < 2; i++) {
        cla_text path = { 0 };
        cla_status status =
            path_of(&path, data, stem, i ? t->target_name : t->source_name);
        status = status ? status : cla_lines_read(&lines[i], path.data);
        cla_text_free(&path);
        CLA_TRY(status);
    }
    return cla_lines_pair(&lines[0], &lines[1]);
}

static cla_status make_training(translation *t, const char *dir, cla_task_mode mode,
                                const cla_lines lines[2])
{
    const cla_bitext_options options = { t->max_pieces, t->source_end };
    CLA_TRY(cla_translation_choose(t, NULL, NULL));
    CLA_TRY(learn(t, lines));
    if (mode == CLA_TASK_RESUMED) {
        CLA_TRY(use_both(t, dir, compare));
    } else if (dir) {
        CLA_TRY(use_both(t, dir, save));
    }
    CLA_TRY(cla_bitext_make(&t->text, &lines[0], &lines[1], &t->source, &t->target,
                            &options));
    if (t->text.empty || t->text.too_long) {
        cla_log(CLA_LOG_INFO, "%s: %lld pairs, %lld empty, %lld too long",
                lines[0].path, (long long)t->text.count, (long long)t->text.empty,
                (long long)t->text.too_long);
    }
    return CLA_OK;
}

/* Fails if the dev split cannot be read. Without this check, a misspelt name would stop
 * a run only at its first evaluation, after hours of training. */
static cla_status check_dev(const translation *t)
{
    cla_lines lines[2] = { { 0 } };
    const cla_status status =
        cla_translation_read_lines(t, t->data, t->dev_stem, lines);
    cla_lines_free(&lines[0]);
    cla_lines_free(&lines[1]);
    return status;
}

cla_status cla_translation_read_training(translation *t, const char *dir,
                                         cla_task_mode mode)
{
    cla_lines lines[2] = { { 0 } };
    cla_status status = cla_translation_read_lines(t, t->data, t->train_stem, lines);
    status = status || !dir ? status : check_dev(t);
    status = status ? status : make_training(t, dir, mode, lines);
    cla_lines_free(&lines[0]);
    cla_lines_free(&lines[1]);
    return status;
}

cla_status cla_translation_read_split(translation *t, const char *data,
                                      const char *stem, cla_bitext *text)
{
    const cla_bitext_options options = { 0, t->source_end };
    CLA_TRY(cla_translation_choose(t, NULL, NULL));
    cla_lines lines[2] = { { 0 } };
    cla_status status = cla_translation_read_lines(t, data, stem, lines);
    status = status ? status
                    : cla_bitext_make(text, &lines[0], &lines[1], &t->source,
                                      &t->target, &options);
    cla_lines_free(&lines[0]);
    cla_lines_free(&lines[1]);
    return status;
}

/* ---- batches ----------------------------------------------------------------- */

void cla_translation_batch_free(translation_batch *b)
{
    cla_pair_batch_free(&b->ids);
    cla_ragged_free(&b->source);
    cla_ragged_free(&b->target);
}

cla_status cla_translation_batch_make(cla_runtime *rt, const cla_bitext *text,
                                      const int64_t *pair, int64_t n,
                                      translation_batch *b)
{
    *b = (translation_batch){ 0 };
    cla_status status = cla_pair_batch_make(&b->ids, text, pair, n);
    status = status ? status : cla_ragged_new(&b->source, rt, n, b->ids.source_offsets);
    status = status ? status : cla_ragged_new(&b->target, rt, n, b->ids.target_offsets);
    if (status) {
        cla_translation_batch_free(b);
    }
    return status;
}

transformer_batch cla_translation_batch_view(const translation_batch *b,
                                             int64_t first_source, int64_t first_target)
{
    const cla_pair_batch *ids = &b->ids;
    return (transformer_batch){
        .source = { ids->source_count, ids->source, ids->source_position, b->source,
                    first_source },
        .input = { ids->target_count, ids->input, ids->target_position, b->target,
                   first_target },
        .target = ids->target,
    };
}
