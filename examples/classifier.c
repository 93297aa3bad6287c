/* classifier.c - a network of your own: trained on generated data, saved, loaded.
 *
 *   cc classifier.c $(pkg-config --cflags --libs clattn-models) -o classifier
 *   ./classifier [FILE]
 *
 * A sequence holds one of four signs among noise; the network says which. A learned
 * query attends to all tokens, and a matrix makes scores of what it gets. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clattn/clattn.h"
#include "clattn/parameters.h"

enum { SIGNS = 4, WORDS = 20, WIDTH = 16, BATCH = 32, MOST = 9, STEPS = 200 };

#define TRY(call)                                            \
    do {                                                     \
        if ((call) != CLA_OK) {                              \
            fprintf(stderr, "%s: %s\n", #call, cla_error()); \
            exit(1);                                         \
        }                                                    \
    } while (0)

typedef struct network {
    cla_parameters *set;
    cla_tensor *table, *query, *key, *key_bias, *out, *out_bias;
} network;

static network make_network(cla_runtime *rt, uint32_t seed)
{
    network n = { NULL };
    TRY(cla_parameters_new(&n.set, rt));
    TRY(cla_parameters_add(n.set, &n.table, "table", 2, (int64_t[]){ WORDS, WIDTH },
                           CLA_INITIAL_NORMAL, 0.3));
    TRY(cla_parameters_add(n.set, &n.query, "query", 2, (int64_t[]){ 1, WIDTH },
                           CLA_INITIAL_NORMAL, 0.3));
    TRY(cla_parameters_linear(n.set, &n.key, &n.key_bias, WIDTH, WIDTH, "key"));
    TRY(cla_parameters_linear(n.set, &n.out, &n.out_bias, WIDTH, SIGNS, "out"));
    TRY(cla_parameters_build(n.set, seed));
    return n;
}

/* Sequences of 3 to 9 tokens, each with one of the words 0 to SIGNS-1. */
typedef struct data {
    int32_t words[BATCH * MOST], offsets[BATCH + 1], ones[BATCH + 1], sign[BATCH];
    int32_t zeros[BATCH]; // the query's row of its table, for each sequence
} data;

static data make_data(void)
{
    data d = { .offsets = { 0 } };
    for (int i = 0; i < BATCH; i++) {
        const int length = 3 + rand() % (MOST - 2);
        int32_t *words = d.words + d.offsets[i];
        for (int j = 0; j < length; j++) {
            words[j] = SIGNS + rand() % (WORDS - SIGNS);
        }
        d.sign[i] = rand() % SIGNS;
        words[rand() % length] = d.sign[i];
        d.offsets[i + 1] = d.offsets[i] + length;
        d.ones[i + 1] = i + 1;
    }
    return d;
}

/* A tensor of ids and a batch's rows that live as long as the tape's step. */
static cla_tensor *ids(cla_tape *tape, const int32_t *host, int64_t n)
{
    cla_tensor *t;
    TRY(cla_tape_tensor(tape, &t, CLA_I32, 1, &n));
    TRY(cla_tensor_upload(t, host));
    return t;
}

static cla_ragged *rows(cla_tape *tape, cla_runtime *rt, const int32_t *offsets)
{
    cla_ragged *r;
    TRY(cla_ragged_new(&r, rt, BATCH, offsets));
    cla_tape_keep(tape, r);
    return r;
}

/* Scores [BATCH,SIGNS]. */
static cla_tensor *forward(network *n, cla_tape *tape, cla_runtime *rt, const data *d)
{
    const int64_t tokens = d->offsets[BATCH], heads[] = { tokens, 1, WIDTH },
                  queries[] = { BATCH, 1, WIDTH }, flat[] = { BATCH, WIDTH };
    cla_tensor *x, *k, *v, *q, *o, *scores;
    TRY(cla_embedding(tape, &x, n->table, ids(tape, d->words, tokens), 1));
    TRY(cla_linear(tape, &k, x, n->key, n->key_bias, CLA_NONE, NULL));
    TRY(cla_embedding(tape, &q, n->query, ids(tape, d->zeros, BATCH), 1));
    TRY(cla_tensor_reshape(tape, &k, k, 3, heads));
    TRY(cla_tensor_reshape(tape, &v, x, 3, heads));
    TRY(cla_tensor_reshape(tape, &q, q, 3, queries));
    TRY(cla_attention(tape, &o, q, k, v, rows(tape, rt, d->ones),
                      rows(tape, rt, d->offsets), NULL));
    TRY(cla_tensor_reshape(tape, &o, o, 2, flat));
    TRY(cla_linear(tape, &scores, o, n->out, n->out_bias, CLA_NONE, NULL));
    return scores;
}

/* How many signs of fresh data are found. */
static int test(network *n, cla_runtime *rt, int predicted[BATCH])
{
    float scores[BATCH * SIGNS];
    int right = 0;
    cla_tape *tape;
    srand(1); // the same data each time
    const data d = make_data();
    TRY(cla_tape_new(&tape, rt, false));
    TRY(cla_tensor_download(forward(n, tape, rt, &d), scores));
    for (int i = 0; i < BATCH; i++) {
        predicted[i] = 0;
        for (int s = 1; s < SIGNS; s++) {
            if (scores[i * SIGNS + s] > scores[i * SIGNS + predicted[i]]) {
                predicted[i] = s;
            }
        }
        right += predicted[i] == d.sign[i];
    }
    cla_tape_free(&tape);
    return right;
}

static void train(network *n, cla_runtime *rt)
{
    const cla_adam_options adam = {
        .lr = 0.02F, .beta1 = 0.9F, .beta2 = 0.999F, .eps = 1e-8F
    };
    cla_tape *tape;
    TRY(cla_tape_new(&tape, rt, true));
    for (int step = 0; step < STEPS; step++) {
        const data d = make_data();
        cla_tensor *loss;
        cla_tape_reset(tape);
        TRY(cla_cross_entropy(tape, &loss, forward(n, tape, rt, &d),
                              ids(tape, d.sign, BATCH), 0));
        TRY(cla_tape_seed(tape, loss, NULL));
        TRY(cla_tape_backward(tape));
        TRY(cla_parameters_step(n->set, &adam, 1, NULL));
    }
    cla_tape_free(&tape);
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "classifier.safetensors";
    int before[BATCH], after[BATCH];
    cla_runtime *rt;
    cla_log_set(cla_log_to_stderr, NULL); // warnings; nothing is printed otherwise
    TRY(cla_runtime_new(&rt, NULL));
    network n = make_network(rt, 42), loaded = make_network(rt, 7);
    printf("%lld numbers, %d of %d right at first\n",
           (long long)cla_parameters_size(n.set), test(&n, rt, before), BATCH);
    train(&n, rt);
    const int right = test(&n, rt, before);
    TRY(cla_parameters_save(n.set, path));
    TRY(cla_parameters_load(loaded.set, path));
    test(&loaded, rt, after);
    const bool same = memcmp(before, after, sizeof before) == 0;
    printf("%d of %d right after %d steps; loaded from %s: %s answers\n", right, BATCH,
           STEPS, path, same ? "the same" : "other");
    cla_parameters_free(&loaded.set);
    cla_parameters_free(&n.set);
    cla_runtime_free(&rt);
    return right == BATCH && same ? 0 : 1;
}
