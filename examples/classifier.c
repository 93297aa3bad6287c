/* classifier.c - a network of your own in C or C++, as docs/tutorial-c.md makes it.
 *   cc classifier.c $(pkg-config --cflags --libs clattn-models) -o classifier */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clattn/clattn.h"
#include "clattn/parameters.h"

enum { TOPICS = 3, EACH = 4, ROOM = 256, ROWS = 1000, WIDTH = 16, STEPS = 100 };
static const char *const path = "classifier.safetensors";
// The first sentence of a topic is its name.
static const char *const lessons[TOPICS][EACH] = {
    { "weather", "will it rain", "is it sunny today", "how cold is the day" },
    { "music", "will it play a song", "is this the band", "how loud is it" },
    { "light", "will the lamp be on", "is it dark", "how dark is the room" },
};

typedef struct classifier {
    cla_runtime *rt;
    cla_tape *tape;
    cla_parameters *set;
    cla_tensor *word, *out, *out_bias;
    int32_t count, words[ROOM], offsets[ROOM], topic[ROOM]; // a batch of sentences
} classifier;

static void need(cla_status status)
{
    if (status == CLA_OK) return;
    fprintf(stderr, "classifier: %s\n", cla_error());
    exit(1);
}

static void make_network(classifier *c)
{
    const int64_t size[] = { ROWS, WIDTH };
    need(cla_parameters_new(&c->set, c->rt));
    need(cla_parameters_add(c->set, &c->word, "word", 2, size, CLA_INITIAL_GLOROT, 0));
    need(cla_parameters_linear(c->set, &c->out, &c->out_bias, WIDTH, TOPICS, "out"));
    need(cla_parameters_build(c->set, 42));
}

static void add_sentence(classifier *c, const char *text)
{
    int end = c->offsets[c->count];
    for (uint32_t number = 0; *text && end < ROOM; text++) {
        number = *text > ' ' ? 31 * number + (uint32_t)*text : 0;
        if (number && text[1] <= ' ') c->words[end++] = (int32_t)(number % ROWS);
    }
    c->offsets[++c->count] = end;
}

static cla_tensor *numbers(const classifier *c, const int32_t *host, int64_t count)
{
    cla_tensor *t;
    need(cla_tape_tensor(c->tape, &t, CLA_I32, 1, &count));
    need(cla_tensor_write(t, 0, count, host));
    return t;
}

static cla_tensor *forward(const classifier *c)
{
    cla_ragged *rows;
    cla_tensor *x, *y;
    cla_tape_reset(c->tape); // frees the step before
    x = numbers(c, c->words, c->offsets[c->count]);
    need(cla_ragged_new(&rows, c->rt, c->count, c->offsets));
    cla_tape_keep(c->tape, rows);
    need(cla_embedding(c->tape, &x, c->word, x, 1));
    need(cla_max_attention(c->tape, &y, x, x, rows, rows));
    need(cla_linear(c->tape, &y, y, c->out, c->out_bias, CLA_NONE, NULL));
    return y;
}

static void train(classifier *c)
{
    const cla_adam_options adam = { 0.02F, 0.9F, 0.999F, 1e-8F, { 0 } };
    for (int i = 0; i < TOPICS * EACH; i++) {
        add_sentence(c, lessons[i / EACH][i % EACH]);
        c->topic[i] = i / EACH;
    }
    for (int step = 0; step < STEPS; step++) {
        cla_tensor *loss, *y = forward(c);
        need(cla_cross_entropy(c->tape, &loss, y, numbers(c, c->topic, c->count), 0));
        need(cla_tape_seed(c->tape, loss, NULL));
        need(cla_tape_backward(c->tape));
        need(cla_parameters_step(c->set, &adam, 1, NULL));
    }
    need(cla_parameters_save(c->set, path));
}

static void serve(classifier *c)
{
    char line[ROOM];
    need(cla_parameters_load(c->set, path));
    while (fgets(line, sizeof line, stdin)) {
        int32_t topic;
        cla_tensor *logp, *best;
        c->count = 0;
        add_sentence(c, line);
        need(cla_top_k(c->tape, &logp, &best, forward(c), 1));
        need(cla_tensor_read(best, 0, 1, &topic));
        puts(lessons[topic][0]);
    }
}

int main(int argc, char **argv)
{
    static classifier c; // zeros
    const bool training = argc > 1 && strcmp(argv[1], "train") == 0;
    need(cla_runtime_new(&c.rt, NULL));
    need(cla_tape_new(&c.tape, c.rt, training)); // without training nothing is recorded
    make_network(&c);
    if (training) train(&c);
    if (!training) serve(&c);
    cla_tape_free(&c.tape);
    cla_parameters_free(&c.set);
    cla_runtime_free(&c.rt);
    return 0;
}
