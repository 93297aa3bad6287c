/* data.c - learns characters, words, ranks and vectors from poems; converts poems to
 * ids and batches. */
#include <string.h>

#include "base/file.h"
#include "base/platform.h"
#include "tasks/poetry/poetry.h"
#include "text/skipgram.h"

/* ---- files of the run ----------------------------------------------------------- */

static cla_status in_folder(cla_text *path, const char *dir, const char *name)
{
    return cla_text_add(path, "%s/%s", dir, name);
}

/* Loads, saves or compares a list of tokens at the path of its file. */
typedef cla_status (*list_use)(cla_vocab *v, const char *path);

static cla_status save_list(cla_vocab *v, const char *path)
{
    return cla_vocab_save(v, path);
}

static cla_status compare_list(cla_vocab *v, const char *path)
{
    cla_text text = { 0 };
    bool same = false;
    cla_status status = cla_vocab_text(v, &text);
    status = status ? status : cla_file_compare(path, text.data, text.size, &same);
    cla_text_free(&text);
    CLA_TRY(status);
    return same ? CLA_OK
                : cla_fail(CLA_E_INPUT,
                           "%s: the poems give others; are they those of the run?",
                           path);
}

static cla_status use_list(cla_vocab *v, const char *dir, const char *name,
                           list_use use)
{
    cla_text path = { 0 };
    cla_status status = in_folder(&path, dir, name);
    status = status ? status : use(v, path.data);
    cla_text_free(&path);
    return status;
}

static cla_status use_lists(poetry *t, const char *dir, list_use use)
{
    CLA_TRY(use_list(&t->characters, dir, "characters.txt", use));
    return use_list(&t->words.words, dir, "words.txt", use);
}

static cla_status save_ranks(const poetry *t, const char *dir)
{
    cla_text ranking = { 0 }, vectors = { 0 };
    cla_status status = in_folder(&ranking, dir, "ranking.tsv");
    status = status ? status : in_folder(&vectors, dir, "words.vec");
    status = status ? status : cla_ranking_save(&t->ranking, ranking.data);
    status = status ? status : cla_vectors_write(&t->word_vectors, vectors.data);
    cla_text_free(&ranking);
    cla_text_free(&vectors);
    return status;
}

static cla_status load_ranks(poetry *t, const char *dir)
{
    cla_text ranking = { 0 }, vectors = { 0 };
    cla_status status = in_folder(&ranking, dir, "ranking.tsv");
    status = status ? status : in_folder(&vectors, dir, "words.vec");
    status = status ? status : cla_ranking_load(&t->ranking, ranking.data);
    status =
        status ? status : cla_vectors_read(&t->word_vectors, vectors.data, NULL, 0);
    cla_text_free(&ranking);
    cla_text_free(&vectors);
    return status ? status : cla_poetry_load_themes(t, dir);
}

static cla_status load_list(cla_vocab *v, const char *path)
{
    return cla_vocab_load(v, path, CLA_SPECIALS);
}

cla_status cla_poetry_load(poetry *t, const char *dir)
{
    cla_text path = { 0 };
    CLA_TRY(use_list(&t->characters, dir, "characters.txt", load_list));
    if (t->characters.count <= CLA_SPECIALS) {
        return cla_fail(CLA_E_INPUT, "%s/characters.txt: holds no character", dir);
    }
    cla_status status = in_folder(&path, dir, "words.txt");
    status = status ? status : cla_lexicon_read(&t->words, path.data);
    cla_text_free(&path);
    CLA_TRY(status);
    CLA_TRY(load_ranks(t, dir));
    return t->ranking.words.count >= CLA_POEM_LINES
               ? CLA_OK
               : cla_fail(CLA_E_INPUT, "%s/ranking.tsv: %zu words, must be %d or more",
                          dir, t->ranking.words.count, CLA_POEM_LINES);
}

/* ---- words, ranks and vectors --------------------------------------------------- */

/* Makes stop words of the characters that are not words of the list: they occur
 * everywhere and mean little. */
static cla_status stop_letters(const poetry *t, const cla_poems *p, cla_lexicon *stop)
{
    cla_vocab all = { 0 };
    cla_status status = cla_poems_vocab(p, 0, &all);
    for (size_t i = CLA_SPECIALS; i < all.count && !status; i++) {
        const char *letter = all.tokens[i];
        status = cla_lexicon_has(&t->words, letter, strlen(letter))
                     ? CLA_OK
                     : cla_lexicon_add(stop, letter);
    }
    cla_vocab_free(&all);
    return status;
}

static cla_status rank(poetry *t, const cla_poems *p)
{
    cla_textrank graph = { 0 };
    cla_lexicon stop = { 0 };
    cla_status status = stop_letters(t, p, &stop);
    for (size_t i = 0; i < p->count && !status; i++) {
        for (int k = 0; k < CLA_POEM_LINES && !status; k++) {
            const char *line = cla_poems_string(p, p->poem[i].line[k]);
            status = cla_textrank_add(&graph, &t->words, &stop, line, strlen(line));
        }
    }
    status = status ? status : cla_textrank_rank(&graph, &t->ranking);
    cla_textrank_free(&graph);
    cla_lexicon_free(&stop);
    if (!status && t->ranking.words.count < CLA_POEM_LINES) {
        return cla_fail(CLA_E_INPUT,
                        "the poems have %zu words of the list, must be %d or more; "
                        "try a smaller word_count or word_ratio",
                        t->ranking.words.count, CLA_POEM_LINES);
    }
    return status;
}

/* Adds the words of a line, or with letters each of its characters. */
static cla_status add_words(cla_skipgram *s, const cla_lexicon *words, bool letters,
                            const char *line)
{
    static const cla_lexicon none = { 0 };
    cla_words cut = { 0 };
    cla_text form = { 0 };
    cla_status status =
        cla_lexicon_cut(letters ? &none : words, line, strlen(line), &cut);
    for (size_t i = 0; i < cut.count && !status; i++) {
        const char *at = line + cut.word[i].at;
        const size_t size = (size_t)cut.word[i].size;
        if (!letters && !cla_lexicon_has(words, at, size)) {
            continue;
        }
        form.size = 0;
        status = cla_text_append(&form, at, size);
        status = status ? status : cla_skipgram_add(s, form.data);
    }
    cla_words_free(&cut);
    cla_text_free(&form);
    return status;
}

/* Learns vectors of the poems' words, or with letters of their characters. A context
 * window may span the lines of a poem. */
static cla_status learn_vectors(const poetry *t, const cla_poems *p, bool letters,
                                cla_vectors *out)
{
    cla_skipgram s = { 0 };
    cla_skipgram_options o = cla_skipgram_defaults();
    cla_status status = CLA_OK;
    o.dim = letters ? t->config.dim : t->word_dim;
    o.epochs = letters ? t->vector_epochs : o.epochs;
    o.min_count = 1;
    o.seed = t->task.seed;
    for (size_t i = 0; i < p->count && !status; i++) {
        for (int k = 0; k < CLA_POEM_LINES && !status; k++) {
            status = add_words(&s, &t->words, letters,
                               cla_poems_string(p, p->poem[i].line[k]));
        }
        status = status ? status : cla_skipgram_end(&s);
    }
    status = status ? status : cla_skipgram_train(&s, &o, out, NULL);
    cla_skipgram_free(&s);
    return status;
}

static cla_status begin_vectors(poetry *t, const cla_poems *p)
{
    if (*t->vectors) {
        return cla_vectors_read(&t->begin, t->vectors, &t->characters, t->config.dim);
    }
    return t->vector_epochs ? learn_vectors(t, p, true, &t->begin) : CLA_OK;
}

/* Learns vocabularies, ranks and vectors and writes them to dir. A resumed run loads
 * its ranks and vectors instead. */
static cla_status learn(poetry *t, const cla_poems *p, const char *dir,
                        cla_task_mode mode)
{
    CLA_TRY(cla_poems_vocab(p, (size_t)t->limit, &t->characters));
    CLA_TRY(*t->lexicon_path
                ? cla_lexicon_read(&t->words, t->lexicon_path)
                : cla_poems_words(p, t->word_count, t->word_ratio, &t->words));
    if (mode == CLA_TASK_RESUMED) {
        CLA_TRY(use_lists(t, dir, compare_list));
        return load_ranks(t, dir);
    }
    CLA_TRY(rank(t, p));
    CLA_TRY(cla_poetry_keep_themes(t, dir));
    CLA_TRY(begin_vectors(t, p));
    if (!dir) {
        return CLA_OK;
    }
    CLA_TRY(learn_vectors(t, p, false, &t->word_vectors));
    CLA_TRY(use_lists(t, dir, save_list));
    return save_ranks(t, dir);
}

/* ---- poems as ids --------------------------------------------------------------- */

void cla_poetry_split_free(poetry_split *s)
{
    free(s->length);
    free(s->at);
    free(s->id);
    free(s->keyword);
    free(s->keyword_at);
    *s = (poetry_split){ 0 };
}

/* Writes the ids of a line's keyword to `to`; *size: their number. */
static cla_status put_keyword(const poetry *t, const char *line, int32_t *to,
                              size_t *size)
{
    cla_span span = { 0 };
    cla_text word = { 0 };
    bool found = false;
    CLA_TRY(cla_ranking_keyword(&t->ranking, &t->words, NULL, line, strlen(line), &span,
                                &found)); // always, in a line of ideographs
    cla_status status =
        cla_text_append(&word, line + span.at, found ? (size_t)span.size : 0);
    *size = status ? 0 : cla_poems_ids(word.data, &t->characters, to, CLA_POEM_LONGEST);
    cla_text_free(&word);
    return status;
}

/* Writes the ids of a planned keyword; returns their number. */
static size_t put_planned(const poetry *t, int word, int32_t *to)
{
    return cla_poems_ids(t->ranking.words.tokens[word], &t->characters, to,
                         CLA_POEM_LONGEST);
}

static cla_status put_poem(const poetry *t, poetry_split *s, const cla_poems *p,
                           size_t i)
{
    const cla_poem *poem = &p->poem[i];
    const char *title = cla_poems_string(p, poem->title);
    cla_plan plan = { 0 };
    if (t->planned) {
        CLA_TRY(cla_poetry_plan(t, title, strlen(title), (uint32_t)i, &plan));
    }
    s->length[i] = poem->length;
    s->at[i + 1] = s->at[i] + CLA_POEM_LINES * (int64_t)poem->length;
    for (size_t k = 0; k < CLA_POEM_LINES; k++) {
        const char *line = cla_poems_string(p, poem->line[k]);
        const size_t e = CLA_POEM_LINES * i + k, L = (size_t)poem->length;
        size_t size = 0;
        cla_poems_ids(line, &t->characters, s->id + s->at[i] + k * L, L);
        int32_t *keyword = s->keyword + s->keyword_at[e];
        if (t->planned) {
            size = put_planned(t, plan.word[k], keyword);
        } else {
            CLA_TRY(put_keyword(t, line, keyword, &size));
        }
        s->keyword_at[e + 1] = s->keyword_at[e] + (int32_t)size;
    }
    return CLA_OK;
}

static cla_status build(const poetry *t, poetry_split *s, const cla_poems *p)
{
    const size_t lines = CLA_POEM_LINES * p->count;
    s->poems = (int64_t)p->count;
    CLA_TRY(cla_alloc(&s->length, p->count + 1, sizeof *s->length));
    CLA_TRY(cla_alloc(&s->at, p->count + 1, sizeof *s->at));
    CLA_TRY(cla_alloc(&s->id, lines * CLA_POEM_LONGEST + 1, sizeof *s->id));
    CLA_TRY(cla_alloc(&s->keyword, lines * CLA_POEM_LONGEST + 1, sizeof *s->keyword));
    CLA_TRY(cla_alloc(&s->keyword_at, lines + 1, sizeof *s->keyword_at));
    for (size_t i = 0; i < p->count; i++) {
        CLA_TRY(put_poem(t, s, p, i));
    }
    return CLA_OK;
}

static cla_status read_poems(const char *data, const char *split, cla_poems *p)
{
    cla_os_info info;
    cla_text path = { 0 };
    const bool file = cla_os_info_of(data, &info) && info.kind != CLA_OS_FOLDER;
    cla_status status = file ? cla_text_add(&path, "%s", data)
                             : cla_text_add(&path, "%s/%s.tsv", data, split);
    status = status ? status : cla_poems_read(p, path.data, false);
    if (!status && p->passed_over) {
        cla_log(CLA_LOG_WARN,
                "%s: %lld poems skipped: not four lines of 5 or of 7 characters",
                path.data, (long long)p->passed_over);
    }
    cla_text_free(&path);
    return status;
}

cla_status cla_poetry_read_split(poetry *t, const char *data, const char *split,
                                 poetry_split *out)
{
    cla_poems p = { 0 };
    cla_status status = read_poems(data, split, &p);
    status = status ? status : build(t, out, &p);
    cla_poems_free(&p);
    return status;
}

cla_status cla_poetry_read_training(poetry *t, const char *dir, cla_task_mode mode)
{
    cla_poems p = { 0 };
    cla_status status = read_poems(t->data, "train", &p);
    status = status ? status : learn(t, &p, dir, mode);
    status = status ? status : build(t, &t->train, &p);
    cla_poems_free(&p);
    return status;
}

/* ---- batches -------------------------------------------------------------------- */

void cla_poetry_batch_free(poetry_batch *b)
{
    free(b->line);
    *b = (poetry_batch){ 0 };
}

/* Puts example e into the batch as line i. */
static void put_line(poetry_batch *b, const poetry_split *s, int64_t e, int64_t i)
{
    const int64_t poem = e / CLA_POEM_LINES, L = s->length[poem];
    const int64_t before = e % CLA_POEM_LINES * L;
    const int32_t *id = s->id + s->at[poem];
    const int32_t size = s->keyword_at[e + 1] - s->keyword_at[e];
    memcpy(b->line + i * L, id + before, (size_t)L * sizeof *id);
    memcpy(b->context + b->context_at[i], id, (size_t)before * sizeof *id);
    memcpy(b->keyword + b->keyword_at[i], s->keyword + s->keyword_at[e],
           (size_t)size * sizeof *id);
    b->context_at[i + 1] = b->context_at[i] + (int32_t)before;
    b->keyword_at[i + 1] = b->keyword_at[i] + size;
}

cla_status cla_poetry_batch_make(poetry_batch *b, const poetry_split *s,
                                 const int64_t *examples, int64_t n)
{
    const int64_t longest = n * CLA_POEM_LONGEST;
    *b = (poetry_batch){ 0 };
    CLA_TRY(cla_alloc(&b->line, (size_t)((CLA_POEM_LINES + 1) * longest + 2 * n + 2),
                      sizeof *b->line));
    b->keyword = b->line + longest;
    b->context = b->keyword + longest;
    b->keyword_at = b->context + (CLA_POEM_LINES - 1) * longest;
    b->context_at = b->keyword_at + n + 1;
    for (int64_t i = 0; i < n; i++) {
        put_line(b, s, examples[i], i);
    }
    b->view = (poet_batch){
        n,          s->length[examples[0] / CLA_POEM_LINES],
        b->keyword, b->keyword_at,
        b->context, b->context_at,
        b->line,
    };
    return CLA_OK;
}
