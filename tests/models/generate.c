/* generate.c - free generation against a search with a beam of one, and against a
 * single pass over the generated text with the same gates. */
#include "models/generate.h"

#include <stdlib.h>
#include <string.h>

#include "models/search.h"
#include "support/support.h"

enum { SENTENCES = 3, TOKENS = 7, PIECES = 5, END = 1, EXTRA = 6, MOST = 40 };

/* An untrained model: all pieces are about as likely. */
typedef struct fixture {
    cla_runtime *rt;
    cla_params params;
    transformer m;
    cla_ragged *rows;
    transformer_tokens source;
} fixture;

/* Sentences of 4, 1 and 2 pieces, including the end. */
static const int32_t source_id[] = { 3, 2, 4, 1, 1, 4, 1 };
static const int32_t source_position[] = { 0, 1, 2, 3, 0, 0, 1 };
static const int source_size[] = { 4, 1, 2 };

static void open_model(fixture *f, bool hard)
{
    const transformer_config config = {
        .source_pieces = PIECES,
        .target_pieces = PIECES,
        .layers = 2,
        .tied = TRANSFORMER_SEPARATE,
        .first = 1,
        .last = 2,
        .coder = { .model = 16,
                   .heads = 2,
                   .inner = 32,
                   .activation = CLA_RELU,
                   .pre_norm = true,
                   .self = { .model = 16, .heads = 2 },
                   .hard = { .on = hard } },
    };
    *f = (fixture){ 0 };
    TEST_OK(cla_runtime_new(&f->rt, NULL));
    TEST_OK(cla_transformer_init(&f->m, &config, &f->params));
    TEST_OK(cla_params_build(&f->params, f->rt, test_seed()));
    f->rows = test_ragged(f->rt, SENTENCES, source_size, NULL);
    f->source = (transformer_tokens){ TOKENS, source_id, source_position, f->rows, 0 };
}

static void close_model(fixture *f)
{
    cla_ragged_free(&f->rows);
    cla_transformer_fini(&f->m);
    cla_params_free(&f->params);
    cla_runtime_free(&f->rt);
}

static generated say(fixture *f, bool draw, bool draw_gates, uint32_t step)
{
    const generate_options o = { draw, draw_gates, EXTRA, END, 42, step };
    generated g;
    TEST_OK(cla_transformer_generate(&f->m, f->rt, &f->source, &o, &g));
    return g;
}

static bool same(const generated *a, const generated *b)
{
    return !memcmp(a->at, b->at, (SENTENCES + 1) * sizeof *a->at) &&
           !memcmp(a->id, b->id, (size_t)a->at[SENTENCES] * sizeof *a->id);
}

/* Checks that the likeliest pieces are those of a beam of one, with the gates of
 * inference. */
static void check_greedy(fixture *f)
{
    const search_options o = { .beam = 1, .extra = EXTRA, .end = END };
    search_result want[SENTENCES];
    generated got = say(f, false, false, 1), other = say(f, false, false, 2);
    TEST_OK(cla_transformer_search(&f->m, f->rt, &f->source, &o, want));
    for (int s = 0; s < SENTENCES; s++) {
        const int32_t count = got.at[s + 1] - got.at[s];
        const bool ended = got.id[got.at[s + 1] - 1] == END;
        cr_assert_eq(count, want[s].count + ended);
        cr_assert(ended || count == source_size[s] + EXTRA);
        cr_assert_arr_eq(got.id + got.at[s], want[s].id, (size_t)want[s].count * 4);
        free(want[s].id);
    }
    cr_assert(same(&got, &other)); // nothing is drawn
    cla_generated_free(&got);
    cla_generated_free(&other);
}

/* Computes the likeliest piece of each row, in one pass over the text with these
 * gates. */
static void reread(fixture *f, const generated *g, int32_t *likeliest)
{
    int32_t input[MOST], position[MOST];
    int length[SENTENCES];
    int64_t pairs = 0;
    for (int s = 0; s < SENTENCES; s++) {
        length[s] = g->at[s + 1] - g->at[s];
        pairs += (int64_t)length[s] * source_size[s];
        for (int i = 0; i < length[s]; i++) {
            position[g->at[s] + i] = i;
            input[g->at[s] + i] = i ? g->id[g->at[s] + i - 1] : -1;
        }
    }
    cross_hard_pass pass = { 0 };
    cla_tensor *given = NULL, *memory = NULL, *logits = NULL, *logp = NULL, *id = NULL;
    cla_tape *tape = NULL;
    cla_ragged *rows = test_ragged(f->rt, SENTENCES, length, NULL);
    const transformer_batch batch = {
        f->source, { g->at[SENTENCES], input, position, rows, 0 }, NULL, &pass, NULL
    };
    TEST_OK(cla_tensor_new(&given, f->rt, CLA_F32, 1, &pairs));
    TEST_OK(cla_tensor_upload(given, g->gates));
    pass.given = given;
    TEST_OK(cla_tape_new(&tape, f->rt, false));
    TEST_OK(cla_transformer_encode(&f->m, tape, &memory, &batch));
    TEST_OK(cla_transformer_logits(&f->m, tape, &logits, memory, &batch));
    TEST_OK(cla_top_k(tape, &logp, &id, logits, 1));
    TEST_OK(cla_tensor_download(id, likeliest));
    cla_tape_free(&tape);
    cla_tensor_free(&given);
    cla_ragged_free(&rows);
}

Test(generate, equals_a_beam_of_one)
{
    for (int hard = 0; hard < 2; hard++) {
        fixture f;
        open_model(&f, hard);
        check_greedy(&f);
        close_model(&f);
    }
}

/* Drawn gates are returned by sentence; with them a single pass gives the same text.
 * The same key draws the same gates, another step does not. */
Test(generate, keeps_the_gates_that_were_drawn)
{
    fixture f;
    int32_t likeliest[MOST];
    open_model(&f, true);
    generated got = say(&f, false, true, 1), again = say(&f, false, true, 1);
    generated drawn = say(&f, true, true, 1), other = say(&f, true, true, 2);
    cr_assert_not_null(got.gates);
    reread(&f, &got, likeliest);
    cr_assert_arr_eq(likeliest, got.id, (size_t)got.at[SENTENCES] * sizeof *got.id);
    cr_assert(same(&got, &again));
    cr_assert_not(same(&got, &drawn));
    cr_assert_not(same(&drawn, &other));
    cla_generated_free(&got);
    cla_generated_free(&again);
    cla_generated_free(&drawn);
    cla_generated_free(&other);
    close_model(&f);
}
