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
    const bool joint = t->config.tied == TRANSFORMER_TIED_ALL ||
                       t->config.tied == TRANSFORMER_TIED_INPUT;
    CLA_TRY(*t->sentencepiece
                ? cla_subwords_take(&t->source, t->sentencepiece)
                : cla_subwords_learn(&t->source, texts, 2, t->split, t->merges));
    if (*t->target_sentencepiece && joint) {
        return cla_fail(
            CLA_E_INPUT,
            "translator: target_sentencepiece and one table for both: training "
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

static cla_pieces kind_of(const translation *t)
{
    return *t->sentencepiece ? CLA_PIECES_MODEL
           : t->split        ? CLA_PIECES_SPLIT
                             : CLA_PIECES_BPE;
}

static cla_status use_both(translation *t, const char *dir, pieces_use use)
{
    const cla_pieces kind = kind_of(t);
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
    t->source.tagged =
        t->languages == TRANSLATION_TAG && cla_translation_has_languages(t);
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

/* The parts of prepared data: codes and vocabulary of the source, those of the target,
 * the pairs. */
enum { CODES = 0, PAIRS = 4, PARTS = PAIRS + CLA_BITEXT_PARTS };

static cla_status open_prepared(translation *t)
{
    cla_text path[2] = { { 0 } }, beside = { 0 }, settings = { 0 };
    cla_status status = path_of(&path[0], t->data, t->train_stem, t->source_name);
    status =
        status ? status : path_of(&path[1], t->data, t->train_stem, t->target_name);
    status =
        status ? status : cla_text_add(&beside, "%s-%s", path[0].data, t->target_name);
    status = status ? status
                    : cla_text_add(&settings, "pairs %d %d %d %d %d %d %d %d",
                                   (int)kind_of(t), t->merges, t->max_pieces,
                                   t->source_end, t->prefix_token, t->config.tied,
                                   t->languages, *t->target_sentencepiece != 0);
    const char *const texts[] = { path[0].data, path[1].data, t->sentencepiece,
                                  t->target_sentencepiece };
    const cla_prepared_of of = { beside.data, settings.data, texts,
                                 2 + !!*t->sentencepiece + !!*t->target_sentencepiece,
                                 PARTS };
    status = status ? status : cla_prepared_open(&t->prepared, &of);
    cla_text_free(&path[0]);
    cla_text_free(&path[1]);
    cla_text_free(&beside);
    cla_text_free(&settings);
    return status;
}

/* Takes pieces and pairs from prepared data. */
static cla_status take_training(translation *t)
{
    const cla_part *part = t->prepared.part;
    const char *path = t->prepared.path.data;
    CLA_TRY(cla_subwords_parse(&t->source, kind_of(t), path, part + CODES));
    CLA_TRY(cla_subwords_parse(&t->target, kind_of(t), path, part + CODES + 2));
    t->source.prefix = t->prefix_token;
    const size_t most[] = { t->source.vocab.count, t->target.vocab.count };
    return cla_bitext_take(&t->text, part + PAIRS, most);
}

static cla_status keep_training(translation *t)
{
    const cla_subwords *side[] = { &t->source, &t->target };
    cla_text vocab[2] = { { 0 } };
    cla_part part[PARTS];
    int64_t counts[3];
    cla_status status = CLA_OK;
    for (int i = 0; i < 2 && !status; i++) {
        status = cla_vocab_text(&side[i]->vocab, &vocab[i]);
        part[CODES + 2 * i] = (cla_part){ side[i]->codes.data, side[i]->codes.size };
        part[CODES + 2 * i + 1] = (cla_part){ vocab[i].data, vocab[i].size };
    }
    cla_bitext_give(&t->text, counts, part + PAIRS);
    status = status ? status : cla_prepared_keep(&t->prepared, part);
    cla_text_free(&vocab[0]);
    cla_text_free(&vocab[1]);
    return status;
}

static cla_status make_training(translation *t, const cla_lines lines[2])
{
    const cla_bitext_options options = { t->max_pieces, t->source_end };
    CLA_TRY(cla_translation_choose(t, NULL, NULL));
    CLA_TRY(learn(t, lines));
    CLA_TRY(cla_bitext_make(&t->text, &lines[0], &lines[1], &t->source, &t->target,
                            &options));
    return keep_training(t);
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

/* Reads the pairs as text and makes pieces of them, which takes long: what would stop
 * the run later stops it before. */
static cla_status split_training(translation *t, bool dev)
{
    cla_lines lines[2] = { { 0 } };
    cla_status status = cla_translation_read_lines(t, t->data, t->train_stem, lines);
    status = status || !dev ? status : check_dev(t);
    status = status ? status : make_training(t, lines);
    cla_lines_free(&lines[0]);
    cla_lines_free(&lines[1]);
    return status;
}

/* Takes the pairs as numbers where they are kept, and refuses those that are none. */
static cla_status find_training(translation *t)
{
    CLA_TRY(open_prepared(t));
    const cla_status status = t->prepared.found ? take_training(t) : CLA_OK;
    if (status != CLA_E_INPUT) {
        return status;
    }
    cla_subwords_free(&t->source);
    cla_subwords_free(&t->target);
    return cla_prepared_refuse(&t->prepared);
}

cla_status cla_translation_read_training(translation *t, const char *dir,
                                         cla_task_mode mode)
{
    CLA_TRY(find_training(t));
    CLA_TRY(!t->prepared.found ? split_training(t, dir) : dir ? check_dev(t) : CLA_OK);
    if (t->text.empty || t->text.too_long) {
        cla_log(CLA_LOG_INFO, "%s/%s: %lld pairs, %lld empty, %lld too long", t->data,
                t->train_stem, (long long)t->text.count, (long long)t->text.empty,
                (long long)t->text.too_long);
    }
    return mode == CLA_TASK_RESUMED ? use_both(t, dir, compare)
           : dir                    ? use_both(t, dir, save)
                                    : CLA_OK;
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
