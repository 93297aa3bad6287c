/* laws.c - properties of a Transformer with any weights. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/transformer.h"
#include "support/support.h"

enum { PIECES = 7, TOKENS = 5, MODEL = 16, LAYERS = 2 };

typedef struct fixture {
    cla_runtime *rt;
    cla_params params;
    transformer m;
    cla_ragged *rows;
} fixture;

static void open_model(fixture *f)
{
    static const int size[] = { TOKENS };
    const transformer_config config = {
        .source_pieces = PIECES,
        .target_pieces = PIECES,
        .layers = LAYERS,
        .tied = TRANSFORMER_TIED_ALL,
        .coder = { .model = MODEL,
                   .heads = 2,
                   .inner = 32,
                   .activation = CLA_RELU,
                   .pre_norm = true },
    };
    *f = (fixture){ 0 };
    TEST_OK(cla_runtime_new(&f->rt, NULL));
    TEST_OK(cla_transformer_init(&f->m, &config, &f->params));
    TEST_OK(cla_params_build(&f->params, f->rt, test_seed()));
    f->rows = test_ragged(f->rt, 1, size, NULL);
}

static void close_model(fixture *f)
{
    cla_ragged_free(&f->rows);
    cla_transformer_fini(&f->m);
    cla_params_free(&f->params);
    cla_runtime_free(&f->rt);
}

/* Computes the encoder's output for a sentence: [TOKENS,MODEL]. */
static void encode(fixture *f, const int32_t *id, const int32_t *position, float *out)
{
    const transformer_batch batch = { .source = { TOKENS, id, position, f->rows, 0 } };
    cla_tape *tape = NULL;
    cla_tensor *memory = NULL;
    TEST_OK(cla_tape_new(&tape, f->rt, false));
    TEST_OK(cla_transformer_encode(&f->m, tape, &memory, &batch));
    TEST_OK(cla_tensor_download(memory, out));
    cla_tape_free(&tape);
}

static const int32_t id[TOKENS] = { 3, 5, 4, 6, 3 };
static const int32_t place[TOKENS] = { 0, 1, 2, 3, 4 };

/* With the same position for all tokens, permuted tokens give permuted vectors; with
 * different positions they do not. Sums are in another order: 1e-4. */
Test(laws, only_positions_break_permutation_symmetry)
{
    static const int order[TOKENS] = { 2, 0, 4, 3, 1 };
    static const int32_t same[TOKENS] = { 0 };
    int32_t moved[TOKENS];
    float plain[TOKENS * MODEL], turned[TOKENS * MODEL];
    fixture f;
    open_model(&f);
    for (int i = 0; i < TOKENS; i++) {
        moved[i] = id[order[i]];
    }
    for (int signal = 0; signal < 2; signal++) {
        double worst = 0;
        encode(&f, id, signal ? place : same, plain);
        encode(&f, moved, signal ? place : same, turned);
        for (int i = 0; i < TOKENS * MODEL; i++) {
            const float want = plain[order[i / MODEL] * MODEL + i % MODEL];
            worst = test_larger(worst, fabs((double)(turned[i] - want)));
        }
        cr_assert(signal ? worst > 0.1 : worst < 1e-4, "signal %d: %g", signal, worst);
    }
    close_model(&f);
}

static void clear(cla_tensor *w)
{
    float *zeros = calloc((size_t)cla_tensor_size(w), sizeof *zeros);
    TEST_OK(cla_tensor_upload(w, zeros));
    free(zeros);
}

/* Blocks whose last matrices (and biases, which begin so) are zero add nothing: the
 * output of a stack with norms first is the norm of the embedded tokens. */
Test(laws, zero_weights_leave_the_layer_norm)
{
    float got[TOKENS * MODEL], table[PIECES * MODEL], signal[TOKENS * MODEL];
    fixture f;
    open_model(&f);
    for (int i = 0; i < LAYERS; i++) {
        clear(f.m.encoder[i].self.out);
        clear(f.m.encoder[i].w2);
    }
    cla_params_changed(&f.params);
    encode(&f, id, place, got);
    TEST_OK(cla_tensor_download(f.m.target_table, table));
    cla_coder_signal(signal, TOKENS, MODEL);
    for (int i = 0; i < TOKENS; i++) {
        double x[MODEL], mean = 0, square = 0;
        for (int k = 0; k < MODEL; k++) {
            x[k] = (double)table[id[i] * MODEL + k] * sqrt(MODEL) +
                   (double)signal[i * MODEL + k];
            mean += x[k] / MODEL;
        }
        for (int k = 0; k < MODEL; k++) {
            square += (x[k] - mean) * (x[k] - mean) / MODEL;
        }
        for (int k = 0; k < MODEL; k++) { // a norm's rounding, some eps of values to 4
            cr_assert_float_eq(got[i * MODEL + k], (x[k] - mean) / sqrt(square + 1e-6),
                               1e-5);
        }
    }
    close_model(&f);
}
