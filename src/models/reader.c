/* reader.c - readers: settings, word vectors, loss. */
#include "models/reader.h"

#include "clattn/ham.h"
#include "clattn/ops.h"
#include "models/bidaf.h"
#include "models/match_lstm.h"
#include "models/r_net.h"
#include "tensor/tensor.h"

/* The networks. A new one takes an entry here and in names. */
static const reader_kind *const kinds[] = { &cla_match_lstm_kind, &cla_r_net_kind,
                                            &cla_bidaf_kind };
static const char *const names[] = { "match_lstm", "r_net", "bidaf", NULL };

/* ---- settings and parameters ---------------------------------------------------- */

static const reader_kind *kind_of(const reader_config *c)
{
    const reader_kind *kind = kinds[c->network];
    return kind->form ? kind->form(c) : kind;
}

cla_status cla_reader_configure(reader_config *c, cla_config *s)
{
    *c = (reader_config){
        .word_dim = 300, .char_width = 75, .hidden = 150, .depth = 1, .passages = 1
    };
    CLA_TRY(cla_config_choice(s, "network", names, &c->network));
    CLA_TRY(cla_config_int(s, "word_dim", &c->word_dim, 1, 4096));
    CLA_TRY(cla_config_int(s, "trait_dim", &c->trait_dim, 0, 4096));
    CLA_TRY(cla_config_int(s, "char_dim", &c->char_dim, 0, 1024));
    CLA_TRY(cla_config_int(s, "char_width", &c->char_width, 1, 1024));
    CLA_TRY(cla_config_int(s, "hidden", &c->hidden, 1, 4096));
    CLA_TRY(cla_config_int(s, "depth", &c->depth, 0, 256));
    CLA_TRY(cla_config_double(s, "first_level", &c->first_level, 0, 0.99));
    CLA_TRY(cla_config_int(s, "passages", &c->passages, 1, 256));
    CLA_TRY(cla_config_bool(s, "freeze", &c->freeze));
    CLA_TRY(cla_config_double(s, "dropout", &c->dropout, 0, 0.99));
    if (kinds[c->network]->configure) {
        CLA_TRY(kinds[c->network]->configure(c, s));
    }
    const reader_kind *kind = kind_of(c);
    if (c->char_dim && !kind->spell) {
        return cla_fail(CLA_E_INPUT,
                        "char_dim is %d, and network '%s' takes no characters",
                        c->char_dim, kind->name);
    }
    return c->passages > 1 && !kind->several
               ? cla_fail(CLA_E_INPUT,
                          "passages is %d, and network '%s' reads one a question",
                          c->passages, kind->name)
               : CLA_OK;
}

cla_status cla_reader_init(reader *r, const reader_config *config, cla_params *params)
{
    *r = (reader){ .config = *config, .kind = kind_of(config) };
    const reader_config *c = &r->config;
    const cla_init uniform = { CLA_INIT_UNIFORM, 0.05, 0, 0 };
    CLA_TRY(cla_alloc(&r->network, 1, r->kind->size));
    CLA_TRY(cla_param_add(params, &r->words, uniform, 2,
                          (int64_t[]){ c->words, c->word_dim }, "word.table"));
    cla_param_for(params, CLA_PARAM_TABLE);
    if (c->trait_dim) {
        CLA_TRY(cla_param_add(params, &r->traits, uniform, 2,
                              (int64_t[]){ READER_TRAITS, c->trait_dim },
                              "trait.table"));
    }
    r->in = (int64_t)c->word_dim + c->trait_dim;
    if (c->char_dim) {
        CLA_TRY(cla_param_add(params, &r->chars, uniform, 2,
                              (int64_t[]){ c->chars, c->char_dim }, "char.table"));
        cla_param_for(params, CLA_PARAM_TABLE);
        r->in += (int64_t)r->kind->char_ways * c->char_width;
    }
    return r->kind->init(r, params);
}

void cla_reader_fini(reader *r)
{
    free(r->network);
    r->network = NULL;
}

/* ---- word vectors ---------------------------------------------------------------- */

cla_status cla_reader_drop(const reader *r, cla_tape *tape, cla_tensor **x,
                           int64_t first)
{
    if (!cla_tape_training(tape) || r->config.dropout <= 0) {
        return CLA_OK;
    }
    cla_tape_rows(tape, (uint32_t)first);
    return cla_dropout(tape, x, *x, (float)r->config.dropout);
}

/* Encodes the distinct words of a batch from characters; NULL if the model has none. */
static cla_status spell(reader *r, cla_tape *tape, cla_tensor **spelt,
                        const reader_chars *chars)
{
    cla_tensor *ids = NULL, *x = NULL;
    *spelt = NULL;
    if (!r->chars) {
        return CLA_OK;
    }
    if (!chars->rows) {
        return cla_fail(CLA_E_USAGE, "reader: a batch without characters of words");
    }
    CLA_TRY(cla_tape_ids(tape, &ids, chars->rows->tokens, chars->id));
    CLA_TRY(cla_embedding(tape, &x, r->chars, ids, 1));
    return r->kind->spell(r, tape, spelt, x, chars->rows);
}

/* The n words of a batch's questions, or of its passages. */
typedef struct side {
    const int32_t *word, *trait, *spelling;
    int64_t n;
} side;

/* Appends row ids[i] of the table to row i of x. */
static cla_status beside(cla_tape *tape, cla_tensor **x, cla_tensor *table,
                         const int32_t *ids, int64_t n)
{
    cla_tensor *rows = NULL, *numbers = NULL;
    CLA_TRY(cla_tape_ids(tape, &numbers, n, ids));
    CLA_TRY(cla_embedding(tape, &rows, table, numbers, 1));
    return cla_concat(tape, x, *x, rows);
}

static cla_status embed(reader *r, cla_tape *tape, cla_tensor **x, cla_tensor *spelt,
                        const side *s)
{
    cla_tensor *ids = NULL;
    CLA_TRY(cla_tape_ids(tape, &ids, s->n, s->word));
    CLA_TRY(cla_embedding(tape, x, r->words, ids, 1));
    if (r->traits) {
        CLA_TRY(beside(tape, x, r->traits, s->trait, s->n));
    }
    return spelt ? beside(tape, x, spelt, s->spelling, s->n) : CLA_OK;
}

/* Refuses empty passages and, unless questions have several, passages that are not in
 * falling order of length. Walks (walk.h) need the order; networks that can read
 * several passages do not use them. */
static cla_status check_order(const reader *r, const reader_batch *batch)
{
    const cla_ragged *rows = batch->passage_rows;
    if (batch->asked_rows && !r->kind->several) {
        return cla_fail(CLA_E_USAGE, "reader: %s reads one passage a question",
                        r->kind->name);
    }
    for (int64_t b = 0; b < rows->sequences; b++) {
        const int32_t *at = rows->offsets + b;
        const bool longer = b && at[1] - at[0] > at[0] - at[-1];
        if (at[1] == at[0] || (longer && !batch->asked_rows)) {
            return cla_fail(CLA_E_USAGE,
                            "reader: passage %lld is empty or longer than the one "
                            "before",
                            (long long)b);
        }
    }
    return CLA_OK;
}

cla_status cla_reader_score(reader *r, cla_tape *tape, reader_scores *scores,
                            const reader_batch *b)
{
    const side asked = { b->question, b->question_trait, b->chars.question,
                         b->question_rows->tokens };
    const side read = { b->passage, b->passage_trait, b->chars.passage,
                        b->passage_rows->tokens };
    cla_tensor *question = NULL, *passage = NULL, *spelt = NULL;
    CLA_TRY(check_order(r, b));
    cla_tensor_want_grad(r->words, !r->config.freeze);
    CLA_TRY(spell(r, tape, &spelt, &b->chars));
    CLA_TRY(embed(r, tape, &question, spelt, &asked));
    CLA_TRY(cla_reader_drop(r, tape, &question, b->first_question));
    CLA_TRY(embed(r, tape, &passage, spelt, &read));
    CLA_TRY(cla_reader_drop(r, tape, &passage, b->first_passage));
    return r->kind->scores(r, tape, scores, question, passage, b);
}

/* ---- loss ------------------------------------------------------------------------ */

/* Computes, from scores x [Np], the cross entropy of the words target [B] and, unless
 * logs is NULL, log probabilities [Np]. */
static cla_status point(const reader *r, cla_tape *tape, cla_tensor **loss,
                        cla_tensor **logs, cla_tensor *x, const int32_t *target,
                        const cla_ragged *rows)
{
    const cla_pointer_options options = { .probabilities = r->kind->probabilities,
                                          .least = r->kind->least,
                                          .logp = logs };
    cla_tensor *targets = NULL;
    CLA_TRY(cla_tape_ids(tape, &targets, rows->sequences, target));
    return cla_ragged_cross_entropy(tape, loss, x, targets, rows, &options);
}

cla_status cla_reader_loss(reader *r, cla_tape *tape, cla_tensor **loss,
                           const reader_batch *b)
{
    reader_scores scores = { NULL, NULL };
    cla_tensor *first = NULL, *last = NULL;
    const cla_ragged *rows = reader_asked_rows(b);
    *loss = NULL;
    CLA_TRY(cla_reader_score(r, tape, &scores, b));
    CLA_TRY(point(r, tape, &first, NULL, scores.first, b->first, rows));
    CLA_TRY(point(r, tape, &last, NULL, scores.last, b->last, rows));
    return cla_add(tape, loss, first, last);
}

cla_status cla_reader_logs(reader *r, cla_tape *tape, reader_scores *logs,
                           const reader_batch *b)
{
    reader_scores scores = { NULL, NULL };
    cla_tensor *none = NULL;
    const cla_ragged *rows = reader_asked_rows(b);
    CLA_TRY(cla_reader_score(r, tape, &scores, b));
    CLA_TRY(point(r, tape, &none, &logs->first, scores.first, b->first, rows));
    return point(r, tape, &none, &logs->last, scores.last, b->last, rows);
}

/* ---- helpers of networks --------------------------------------------------------- */

cla_status cla_reader_single_rows(cla_tape *tape, const cla_ragged **out, int64_t B,
                                  int64_t n)
{
    int32_t *offsets = NULL;
    cla_ragged *rows = NULL;
    CLA_TRY(cla_alloc(&offsets, (size_t)B + 1, sizeof *offsets));
    for (int64_t b = 0; b <= B; b++) {
        offsets[b] = (int32_t)(b < n ? b : n);
    }
    const cla_status status = cla_ragged_new(&rows, cla_tape_runtime(tape), B, offsets);
    free(offsets);
    CLA_TRY(status);
    cla_tape_keep(tape, rows);
    *out = rows;
    return CLA_OK;
}
