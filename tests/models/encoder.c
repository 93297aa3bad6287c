/* encoder.c - kinds of attention in a whole Transformer: numbers of parameters, the
 * reach of a token, gradients, and errors. */
#include <stdlib.h>
#include <string.h>

#include "models/transformer.h"
#include "support/slopes.h"
#include "support/support.h"

enum { T = 12, D = 16 };

/* ---- parameters -------------------------------------------------------------- */

static int64_t count(const transformer_config *config)
{
    transformer model;
    cla_params params = { 0 };
    int64_t n = 0;
    TEST_OK(cla_transformer_init(&model, config, &params));
    for (size_t i = 0; i < params.count; i++) {
        const int64_t *shape = params.list[i].shape;
        n += shape[0] * shape[1] * shape[2] * shape[3];
    }
    cla_params_free(&params);
    return n;
}

static void configure(transformer_config *c, const char *const *assignments)
{
    cla_config s = { .values = json_object(), .known = json_object() };
    TEST_OK(cla_strdup(&s.path, "test"));
    for (; *assignments; assignments++) {
        TEST_OK(cla_config_set(&s, *assignments));
    }
    TEST_OK(cla_transformer_configure(c, &s));
    c->source_pieces = c->target_pieces = 20;
    cla_config_fini(&s);
}

/* Settings, and how many numbers more than the base model of 6 + 6 layers of 512, 8
 * heads and 2048 they make. */
typedef struct counted {
    const char *set[6];
    int64_t more;
} counted;

static void check_counts(const counted *cases, size_t n)
{
    transformer_config plain;
    configure(&plain, (const char *const[]){ NULL });
    const int64_t before = count(&plain);
    for (size_t i = 0; i < n; i++) {
        transformer_config c;
        configure(&c, cases[i].set);
        cr_assert_eq(count(&c) - before, cases[i].more, "%s: %lld more",
                     cases[i].set[0], (long long)(count(&c) - before));
    }
}

/* The base model, with a kind of attention in three of its six layers. */
Test(encoder, has_the_published_parameters)
{
    static const counted cases[] = {
        { { "attention=csan1d" }, 0 },
        { { "attention=csan2d" }, 0 },
        { { "attention=bi_direct" }, 0 },
        { { "attention=block" }, 3LL * 1316360 },
        { { "convolutions=4" }, 3LL * 4 * (7 * 512 + 512 * 512 + 3 * 512) },
        { { "convolutions=4", "conv_kind=full" }, 3LL * 4 * (7 * 512 * 512 + 3 * 512) },
        { { "convolutions=8", "conv_kind=full", "conv_width=3",
            "attention_layers=2-2" },
          8LL * (3 * 512 * 512 + 3 * 512) },
        // all six layers, not the lowest three
        { { "attention=rel_pos" }, 6 * 2 * 33 * 64 },
        { { "attention=rel_pos", "attention_where=decoder" }, 6 * 2 * 33 * 64 },
        { { "attention=rel_pos", "attention_where=both" }, 12 * 2 * 33 * 64 },
        { { "attention=rel_pos", "attention_where=decoder", "attention_layers=2-2",
            "clip=3" },
          2 * 7 * 64 },
        { { "attention=softmax", "attention_where=both" }, 0 },
        { { "attention=softmax", "attention_where=decoder", "convolutions=4" },
          3LL * 4 * (7 * 512 + 512 * 512 + 3 * 512) },
        { { "attention=neighbor" }, 24 },
        { { "attention=neighbor_predicted" }, 400152 },
        { { "attention=local_hard" }, 400152 },
        { { "attention=local_soft" }, 812592 },
    };
    check_counts(cases, sizeof cases / sizeof *cases);
}

/* ---- reach ------------------------------------------------------------------- */

typedef struct fixture {
    cla_runtime *rt;
    cla_params params;
    transformer model;
    cla_ragged *rows;
} fixture;

static void make(fixture *f, const char *const *assignments)
{
    static const int one[] = { T };
    transformer_config c;
    configure(&c, assignments);
    *f = (fixture){ .rt = test_runtime() };
    cla_memory_guard(f->rt, false); // parameters are parts of a block
    TEST_OK(cla_transformer_init(&f->model, &c, &f->params));
    TEST_OK(cla_params_build(&f->params, f->rt, 3));
    f->rows = test_ragged(f->rt, 1, one, NULL);
}

static void unmake(fixture *f)
{
    cla_transformer_fini(&f->model);
    cla_params_free(&f->params);
    cla_ragged_free(&f->rows);
    cla_runtime_free(&f->rt);
}

/* Computes the encoder's output for a sentence with this piece at place at. */
static void encode(fixture *f, int at, int32_t piece, float memory[T * D])
{
    cla_tape *tape = NULL;
    cla_tensor *out = NULL;
    int32_t id[T], position[T];
    for (int i = 0; i < T; i++) {
        id[i] = i == at ? piece : 3 + i;
        position[i] = i;
    }
    const transformer_batch batch = { .source = { T, id, position, f->rows, 0 } };
    TEST_OK(cla_tape_new(&tape, f->rt, false));
    TEST_OK(cla_transformer_encode(&f->model, tape, &out, &batch));
    TEST_OK(cla_tensor_download(out, memory));
    cla_tape_free(&tape);
}

/* Returns a bit for each place whose output depends on the piece at place at. */
static unsigned heard(const char *const *assignments, int at)
{
    fixture f;
    float before[T * D], after[T * D];
    unsigned places = 0;
    make(&f, assignments);
    encode(&f, at, 1, before);
    encode(&f, at, 2, after);
    for (unsigned i = 0; i < T; i++) {
        if (memcmp(before + i * D, after + i * D, D * sizeof *before) != 0) {
            places |= 1U << i;
        }
    }
    unmake(&f);
    return places;
}

#define TINY "dim=16", "heads=2", "inner=16", "layers=2"

/* With a window of 3 a token reaches one place further in each layer; a plain layer
 * reaches all. */
Test(encoder, layers_see_their_window_only)
{
    const char *const both[] = { TINY, "attention=csan1d", "window=3", NULL };
    const char *const heads[] = { TINY, "attention=csan2d", "window=3", "area=3",
                                  NULL };
    const char *const second[] = { TINY, "attention=csan1d", "window=1",
                                   "attention_layers=2-2", NULL };
    const char *const silent[] = { TINY, "attention=csan1d", "window=1", NULL };
    const char *const convolved[] = { TINY,           "attention=csan1d",
                                      "window=1",     "attention_layers=1-1",
                                      "layers=1",     "convolutions=2",
                                      "conv_width=4", NULL };
    const char *const blocks[] = { TINY, "attention=block", "attention_layers=1-1",
                                   "layers=1", NULL };
    cr_assert_eq(heard(blocks, 6), 0xfffU);
    const char *const full[] = {
        TINY,       "attention=csan1d", "window=1",       "attention_layers=1-1",
        "layers=1", "convolutions=2",   "conv_kind=full", "conv_width=4",
        NULL
    };
    cr_assert_eq(heard(both, 6), 0x1f0U);
    cr_assert_eq(heard(heads, 6), 0x1f0U);
    cr_assert_eq(heard(second, 6), 0xfffU);
    cr_assert_eq(heard(silent, 6), 0x040U);
    cr_assert_eq(heard(convolved, 6), 0x1fcU);
    cr_assert_eq(heard(full, 6), 0x1fcU);
}

/* ---- gradients --------------------------------------------------------------- */

/* Returns the loss of a sentence of 5 pieces whose translation has T pieces. */
static double loss_here(void *model, bool backward)
{
    enum { FROM = 5 };
    static const int from[] = { FROM };
    static const int32_t source[FROM] = { 4, 9, 2, 4, 7 };
    fixture *f = model;
    cla_tape *tape = NULL;
    cla_tensor *loss = NULL;
    cla_ragged *rows = test_ragged(f->rt, 1, from, NULL);
    int32_t input[T], target[T], position[T];
    float value = 0;
    for (int i = 0; i < T; i++) {
        target[i] = (7 * i + 3) % 20;
        input[i] = i ? target[i - 1] : -1;
        position[i] = i;
    }
    const transformer_batch batch = { .source = { FROM, source, position, rows, 0 },
                                      .input = { T, input, position, f->rows, 0 },
                                      .target = target };
    TEST_OK(cla_tape_new(&tape, f->rt, true));
    TEST_OK(cla_transformer_loss(&f->model, tape, &loss, &batch, 0.1, NULL));
    TEST_OK(cla_tensor_download(loss, &value));
    if (backward) {
        TEST_OK(cla_tape_seed(tape, loss, NULL));
        TEST_OK(cla_tape_backward(tape));
    }
    cla_tape_free(&tape);
    cla_ragged_free(&rows);
    return (double)value;
}

#define LEARNS "dim=8", "heads=2", "inner=8", "layers=1", "dropout=0"

/* The bias of a block's scores cancels in their softmax. */
Test(encoder, gradients_match_finite_differences)
{
    static const char *const ways[][12] = {
        { LEARNS, "preset=csan", "attention=csan2d", "window=3" },
        { LEARNS, "attention=bi_direct", "convolutions=1", "conv_kind=full" },
        { LEARNS, "attention=block", "convolutions=1" },
        { LEARNS, "attention=rel_pos", "attention_where=both", "clip=3" },
        { LEARNS, "attention=local_soft" },
        { LEARNS, "attention=csan2d", "attention_where=both", "window=5" },
        { LEARNS, "attention=conv2d", "attention_where=decoder",
          "map_activation=tanh" },
        { LEARNS, "position=alibi" },
        { LEARNS, "activation=gelu", "position=marian", "output_bias=true",
          "start_pad=true" },
        { LEARNS, "activation=silu", "embedding_scale=false", "decoder_layers=2",
          "norm_epsilon=1e-3" },
        { LEARNS, "activation=sigmoid" },
        { LEARNS, "norm=rms", "feed_forward=swiglu", "bias=false" },
        { LEARNS, "position=rope", "rope_base=20", "kv_heads=1", "preset=csan" },
        { LEARNS, "position=none", "feed_forward=geglu", "norm=rms", "preset=csan" },
        { LEARNS, "position=buckets", "buckets=6", "bucket_reach=5",
          "attention_scale=false", "head_width=3" },
        { LEARNS, "tied=input", "output_scale=true", "start_unknown=true",
          "feed_forward=geglu_tanh", "attention_scale=false" },
        { LEARNS, "position=rope", "rope_part=0.5", "attention=csan1d", "window=3",
          "kv_heads=1" },
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        fixture f;
        make(&f, ways[i]);
        check_slopes(&(slopes_case){ .params = &f.params,
                                     .loss = loss_here,
                                     .model = &f,
                                     .still = "encoder.0.self.score_bias" });
        unmake(&f);
    }
}

Test(encoder, refuses_layers_it_has_not)
{
    static const char *const wrong[] = { "0-1", "2-1", "1-7", "2", "1-3x", "all" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cla_config s = { .values = json_object(), .known = json_object() };
        transformer_config c;
        TEST_OK(cla_strdup(&s.path, "test"));
        json_object_set_new(s.values, "attention_layers", json_string(wrong[i]));
        TEST_FAILS(cla_transformer_configure(&c, &s), CLA_E_INPUT,
                   "must be like 1-3 within 1-6");
        cla_config_fini(&s);
    }
}

/* The key of version 0.1 beside that of today, as its models have them, and alone. */
Test(encoder, reads_positions_of_older_versions)
{
    static const struct {
        const char *older, *position;
        int positions, coder;
    } cases[] = {
        { "marian", "sine", TRANSFORMER_MARIAN, CODER_SINE },
        { "tensor2tensor", "rope", TRANSFORMER_TENSOR2TENSOR, CODER_ROPE },
        { "tensor2tensor", "none", TRANSFORMER_TENSOR2TENSOR, CODER_NOWHERE },
        { "opennmt", NULL, TRANSFORMER_OPENNMT, CODER_SINE },
        { NULL, "fairseq", TRANSFORMER_FAIRSEQ, CODER_SINE },
        { NULL, NULL, TRANSFORMER_TENSOR2TENSOR, CODER_SINE },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cla_config s = { .values = json_object(), .known = json_object() };
        transformer_config c;
        TEST_OK(cla_strdup(&s.path, "test"));
        if (cases[i].older) {
            json_object_set_new(s.values, "positions", json_string(cases[i].older));
        }
        if (cases[i].position) {
            json_object_set_new(s.values, "position", json_string(cases[i].position));
        }
        TEST_OK(cla_transformer_configure(&c, &s));
        cr_assert_eq(c.positions, cases[i].positions, "case %zu", i);
        cr_assert_eq(c.coder.position, cases[i].coder, "case %zu", i);
        cla_config_fini(&s);
    }
}

/* Modern blocks change the numbers of parameters as their equations say. */
Test(encoder, counts_parameters_of_modern_blocks)
{
    static const counted cases[] = {
        { { "norm=rms" }, -(2 * 6 + 3 * 6) * 512 },
        { { "feed_forward=swiglu" }, 12LL * (512 * 2048 + 2048) },
        { { "feed_forward=silu", "position=rope" }, 0 },
        { { "kv_heads=2" }, -12LL * 2 * 6 * 64 * (512 + 1) },
        { { "position=buckets" }, 2LL * 32 * 8 },
        { { "head_width=32" }, -(12LL + 6) * 4 * 256 * 512 - (12LL + 6) * 3 * 256 },
        { { "bias=false" }, -(12LL * (4 * 512 + 2048 + 512) + 6LL * 4 * 512) },
    };
    check_counts(cases, sizeof cases / sizeof *cases);
}

/* Keys of blocks that contradict each other, or do not suit the heads. */
Test(encoder, refuses_blocks)
{
    static const struct {
        const char *set[4], *error;
    } cases[] = {
        { { "kv_heads=3" }, "kv_heads is 3, must divide the 8 heads" },
        { { "feed_forward=swiglu", "activation=relu" },
          "activation is 'relu', and feed_forward is 'swiglu'" },
        { { "position=rope", "rope_part=0.01" },
          "rope_part is 0.01: it leaves no pair of the 64 numbers of a head" },
        { { "position=learned" }, "position" },
        { { "position=buckets", "attention=rel_pos" },
          "position is 'buckets', which is for attention 'softmax', not 'rel_pos'" },
        { { "attention_scale=false", "attention=rel_pos" },
          "attention_scale is false, which is for attention 'softmax', not 'rel_pos'" },
        { { "buckets=32", "bucket_reach=16" },
          "buckets is 32, must be below twice the bucket_reach, 16" },
        { { "start_pad=true", "start_unknown=true" }, "one of them" },
        { { "norm=batch" }, "norm" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cla_config s = { .values = json_object(), .known = json_object() };
        transformer_config c;
        TEST_OK(cla_strdup(&s.path, "test"));
        for (const char *const *set = cases[i].set; *set; set++) {
            TEST_OK(cla_config_set(&s, *set));
        }
        TEST_FAILS(cla_transformer_configure(&c, &s), CLA_E_INPUT, cases[i].error);
        cla_config_fini(&s);
    }
}

/* Returns `where` for these settings, read as those of a run of an older version. */
static int where_of_run(const char *const *assignments)
{
    cla_config s = { .values = json_object(), .known = json_object() };
    transformer_config c;
    TEST_OK(cla_strdup(&s.path, "test"));
    for (; *assignments; assignments++) {
        TEST_OK(cla_config_set(&s, *assignments));
    }
    TEST_OK(cla_transformer_renew(&s, &s));
    TEST_OK(cla_transformer_configure(&c, &s));
    cla_config_fini(&s);
    return c.where;
}

/* Before the key attention_where existed, rel_pos alone was in the decoder, too. */
Test(encoder, older_runs_keep_their_decoder)
{
    cr_assert_eq(where_of_run((const char *const[]){ "attention=rel_pos", NULL }),
                 TRANSFORMER_BOTH);
    cr_assert_eq(where_of_run((const char *const[]){ "attention=csan1d", NULL }),
                 TRANSFORMER_ENCODER);
    cr_assert_eq(where_of_run((const char *const[]){ "attention=rel_pos",
                                                     "attention_where=encoder", NULL }),
                 TRANSFORMER_ENCODER);
}

/* Kinds of attention that are not for decoders read later tokens. */
Test(encoder, refuses_a_decoder_that_reads_ahead)
{
    static const char *const stacks[] = { "decoder", "both" };
    for (int i = 0; cla_attn_ways[i / 2]; i++) {
        const attn_way *way = cla_attn_ways[i / 2];
        if (way->decoder || way->causal || way->tied) {
            continue; // those with a greatest length are refused first
        }
        cla_config s = { .values = json_object(), .known = json_object() };
        transformer_config c;
        TEST_OK(cla_strdup(&s.path, "test"));
        json_object_set_new(s.values, "attention", json_string(way->name));
        json_object_set_new(s.values, "attention_where", json_string(stacks[i % 2]));
        TEST_FAILS(cla_transformer_configure(&c, &s), CLA_E_INPUT,
                   "is for the encoder alone");
        cla_config_fini(&s);
    }
}
