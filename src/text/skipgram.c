/* skipgram.c - skip-gram with negative sampling. */
#include "text/skipgram.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"

void cla_skipgram_free(cla_skipgram *s)
{
    cla_vocab_free(&s->words);
    free(s->id);
    free(s->end);
    *s = (cla_skipgram){ 0 };
}

cla_status cla_skipgram_add(cla_skipgram *s, const char *word)
{
    int number = 0;
    CLA_TRY(cla_vocab_add(&s->words, word, 1, &number));
    CLA_TRY(cla_grow(&s->id, &s->cap, s->count + 1, sizeof *s->id));
    s->id[s->count++] = number;
    return CLA_OK;
}

cla_status cla_skipgram_end(cla_skipgram *s)
{
    CLA_TRY(cla_grow(&s->end, &s->end_cap, s->line_count + 1, sizeof *s->end));
    s->end[s->line_count++] = s->count;
    return CLA_OK;
}

cla_skipgram_options cla_skipgram_defaults(void)
{
    return (cla_skipgram_options){ .dim = 512,
                                   .window = 5,
                                   .negatives = 5,
                                   .epochs = 5,
                                   .min_count = 5,
                                   .rate = 0.025,
                                   .seed = 42 };
}

/* ---- random numbers ----------------------------------------------------------- */

/* Random numbers for one position of one epoch. */
typedef struct dice {
    uint32_t counter[4], key[2];
    cla_philox words;
    int used;
} dice;

static dice dice_for(size_t place, int epoch, uint32_t seed)
{
    return (dice){ .counter = { (uint32_t)place, (uint32_t)((uint64_t)place >> 32),
                                (uint32_t)epoch, 0 },
                   .key = { seed, 0x736b6970 }, // "skip"
                   .used = 4 };
}

/* Returns a random number in [0, 1). */
static double roll(dice *d)
{
    if (d->used == 4) {
        d->words = cla_philox4x32(d->counter, d->key);
        d->counter[3]++;
        d->used = 0;
    }
    return d->words.v[d->used++] * 0x1p-32;
}

/* ---- one line ----------------------------------------------------------------- */

typedef struct trainer {
    const cla_skipgram_options *options;
    cla_vectors *out;
    int32_t *id; // frequent words of all lines, as ids of out
    size_t *end; // of each line, in id
    size_t count, line_count;
    float *from, *to; // v and u, [words, dim]
    float *change;    // of a vector of from, [dim]
    double *below;    // [words] sums of count^0.75
    double *kept;     // [words] probability that a word is used
    double rate;
    double loss;
    int64_t pairs;
} trainer;

/* Returns the inner product. Compilers vectorise the eight sums as they are written. */
static float product(const float *a, const float *b, int dim)
{
    float sum[8] = { 0 };
    int k = 0;
    for (; k + 8 <= dim; k += 8) {
        for (int i = 0; i < 8; i++) {
            sum[i] += a[k + i] * b[k + i];
        }
    }
    for (; k < dim; k++) {
        sum[0] += a[k] * b[k];
    }
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) +
           ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

static void add_scaled(float *to, float scale, const float *from, int dim)
{
    for (int k = 0; k < dim; k++) {
        to[k] += scale * from[k];
    }
}

/* Makes the gradient step of one term: updates u at once, adds v's update to change. */
static void step(trainer *t, const float *v, int32_t word, bool right)
{
    const int dim = t->options->dim;
    float *u = t->to + (size_t)word * (size_t)dim;
    const double x = (double)product(v, u, dim);
    const double s = 1 / (1 + exp(-x));
    const float scale = (float)(t->rate * ((right ? 1 : 0) - s));
    t->loss += right ? log1p(exp(-x)) : log1p(exp(x));
    add_scaled(t->change, scale, u, dim);
    add_scaled(u, scale, v, dim);
}

/* Returns the first word whose cumulative sum is more than left. */
static int32_t find_word(const trainer *t, double left)
{
    size_t low = 0, high = t->out->words.count - 1;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (t->below[middle] > left) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return (int32_t)low;
}

static void train_pair(trainer *t, int32_t word, int32_t near, dice *d)
{
    const int dim = t->options->dim;
    float *v = t->from + (size_t)word * (size_t)dim;
    const double all = t->below[t->out->words.count - 1];
    memset(t->change, 0, (size_t)dim * sizeof *t->change);
    step(t, v, near, true);
    for (int k = 0; k < t->options->negatives; k++) {
        const int32_t other = find_word(t, roll(d) * all);
        if (other != near) {
            step(t, v, other, false);
        }
    }
    add_scaled(v, 1, t->change, dim);
    t->pairs++;
}

/* Writes the positions of the words of a line that are used to read; returns their
 * number. */
static size_t choose(const trainer *t, size_t begin, size_t end, int epoch,
                     size_t *read)
{
    size_t n = 0;
    for (size_t i = begin; i < end; i++) {
        dice d = dice_for(i, -1 - epoch, t->options->seed);
        if (t->kept[t->id[i]] >= 1 || roll(&d) < t->kept[t->id[i]]) {
            read[n++] = i;
        }
    }
    return n;
}

static void train_line(trainer *t, size_t n, const size_t *read, int epoch)
{
    const cla_skipgram_options *o = t->options;
    for (size_t i = 0; i < n; i++) {
        dice d = dice_for(read[i], epoch, o->seed);
        const size_t window = 1 + (size_t)(roll(&d) * o->window);
        const double done = ((double)epoch * (double)t->count + (double)read[i]) /
                            ((double)o->epochs * (double)t->count);
        t->rate = o->rate * fmax(1 - done, 1e-4);
        const size_t first = i > window ? i - window : 0;
        for (size_t k = first; k < n && k <= i + window; k++) {
            if (k != i) {
                train_pair(t, t->id[read[i]], t->id[read[k]], &d);
            }
        }
    }
}

static cla_status train_epochs(trainer *t)
{
    size_t *read = NULL;
    CLA_TRY(cla_alloc(&read, t->count + 1, sizeof *read));
    for (int epoch = 0; epoch < t->options->epochs; epoch++) {
        size_t begin = 0;
        t->loss = 0;
        t->pairs = 0;
        for (size_t line = 0; line < t->line_count; line++) {
            const size_t n = choose(t, begin, t->end[line], epoch, read);
            train_line(t, n, read, epoch);
            begin = t->end[line];
        }
    }
    free(read);
    return CLA_OK;
}

/* ---- preparation -------------------------------------------------------------- */

static cla_status check_options(const cla_skipgram_options *o)
{
    const bool fits = o->dim >= 1 && o->dim <= 4096 && o->window >= 1 &&
                      o->negatives >= 0 && o->epochs >= 1 && o->rate > 0 &&
                      isfinite(o->rate) && o->sample >= 0;
    return fits ? CLA_OK
                : cla_fail(CLA_E_USAGE,
                           "skipgram: dim %d, window %d, negatives %d, epochs %d, "
                           "rate %g, sample %g: out of range",
                           o->dim, o->window, o->negatives, o->epochs, o->rate,
                           o->sample);
}

/* Collects the words that occur min_count times, in falling order of counts. */
static cla_status choose_words(const cla_skipgram *s, int64_t min_count, cla_vocab *out)
{
    size_t keep = 0;
    for (size_t i = 0; i < s->words.count; i++) {
        CLA_TRY(cla_vocab_add(out, s->words.tokens[i], s->words.counts[i], NULL));
        keep += s->words.counts[i] >= min_count;
    }
    if (!keep) {
        return cla_fail(CLA_E_INPUT, "skipgram: none of %zu words occurs %lld times",
                        s->words.count, (long long)min_count);
    }
    return cla_vocab_keep_frequent(out, keep);
}

/* Copies the frequent words of the lines, as ids of out. */
static cla_status choose_lines(const cla_skipgram *s, trainer *t)
{
    size_t at = 0;
    CLA_TRY(cla_alloc(&t->id, s->count + 1, sizeof *t->id));
    CLA_TRY(cla_alloc(&t->end, s->line_count + 1, sizeof *t->end));
    for (size_t line = 0; line < s->line_count; line++) {
        for (; at < s->end[line]; at++) {
            const int id = cla_vocab_find(&t->out->words, s->words.tokens[s->id[at]]);
            if (id >= 0) {
                t->id[t->count++] = id;
            }
        }
        t->end[t->line_count++] = t->count;
    }
    return CLA_OK;
}

static cla_status count_chances(trainer *t)
{
    const cla_vocab *words = &t->out->words;
    const double sample = t->options->sample;
    double below = 0;
    CLA_TRY(cla_alloc(&t->below, words->count, sizeof *t->below));
    CLA_TRY(cla_alloc(&t->kept, words->count, sizeof *t->kept));
    for (size_t i = 0; i < words->count; i++) {
        const double part = (double)words->counts[i] / (double)t->count;
        below += pow((double)words->counts[i], 0.75);
        t->below[i] = below;
        t->kept[i] = sample > 0 ? sqrt(sample / part) + sample / part : 1;
    }
    return CLA_OK;
}

static cla_status train(const cla_skipgram *s, trainer *t)
{
    const cla_skipgram_options *o = t->options;
    cla_vectors *out = t->out;
    CLA_TRY(check_options(o));
    CLA_TRY(choose_words(s, o->min_count, &out->words));
    const size_t n = out->words.count * (size_t)o->dim;
    CLA_TRY(choose_lines(s, t));
    CLA_TRY(count_chances(t));
    CLA_TRY(cla_alloc(&out->value, n, sizeof *out->value));
    CLA_TRY(cla_alloc(&t->to, n, sizeof *t->to));
    CLA_TRY(cla_alloc(&t->change, (size_t)o->dim, sizeof *t->change));
    out->dim = o->dim;
    out->cap = n;
    t->from = out->value;
    const float far = 0.5F / (float)o->dim;
    cla_random_uniform(t->from, (int64_t)n, -far, far, o->seed, 0);
    return train_epochs(t);
}

cla_status cla_skipgram_train(const cla_skipgram *s,
                              const cla_skipgram_options *options, cla_vectors *out,
                              double *loss)
{
    trainer t = { .options = options, .out = out };
    *out = (cla_vectors){ 0 };
    const cla_status status = train(s, &t);
    if (loss) {
        *loss = t.pairs ? t.loss / (double)t.pairs : 0;
    }
    free(t.id);
    free(t.end);
    free(t.to);
    free(t.change);
    free(t.below);
    free(t.kept);
    if (status) {
        cla_vectors_free(out);
    }
    return status;
}
