/* embed.c - band attention, forward and backward, on a device of your choice.
 *
 *   cc embed.c $(pkg-config --cflags --libs clattn) -lm -o embed && ./embed [DEVICE] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "clattn/clattn.h"

/* Two sentences of 5 and 7 tokens; 4 heads of width 16; each token sees two neighbours
 * on either side. */
enum { TOKENS = 12, HEADS = 4, WIDTH = 16, WINDOW = 5, SIZE = TOKENS * HEADS * WIDTH };
static const int32_t offsets[] = { 0, 5, 12 };

#define TRY(call)                                            \
    do {                                                     \
        if ((call) != CLA_OK) {                              \
            fprintf(stderr, "%s: %s\n", #call, cla_error()); \
            exit(1);                                         \
        }                                                    \
    } while (0)

static cla_tensor *wave(cla_runtime *rt, float speed)
{
    const int64_t shape[] = { TOKENS, HEADS, WIDTH };
    float host[SIZE];
    for (int i = 0; i < SIZE; i++) {
        host[i] = sinf(speed * (float)i);
    }
    cla_tensor *t;
    TRY(cla_tensor_new(&t, rt, CLA_F32, 3, shape));
    TRY(cla_tensor_upload(t, host));
    cla_tensor_want_grad(t, true);
    return t;
}

int main(int argc, char **argv)
{
    cla_runtime *rt;
    cla_log_set(cla_log_to_stderr, NULL); // warnings; nothing is printed otherwise
    TRY(cla_runtime_new(&rt, argc > 1 ? argv[1] : NULL));
    printf("%s\n", cla_runtime_device(rt)->name);

    cla_tensor *q = wave(rt, 0.1f), *k = wave(rt, 0.2f), *v = wave(rt, 0.3f);
    cla_ragged *rows;
    TRY(cla_ragged_new(&rows, rt, 2, offsets));

    cla_tape *tape;
    cla_tensor *o;
    TRY(cla_tape_new(&tape, rt, true));
    TRY(cla_band_attention(tape, &o, q, k, v, rows, WINDOW, NULL));
    TRY(cla_tape_seed(tape, o, NULL)); // the loss is the sum of the output
    TRY(cla_tape_backward(tape));

    float out[SIZE], grad[SIZE];
    TRY(cla_tensor_download(o, out));
    TRY(cla_tensor_download(cla_tensor_grad(q), grad));
    printf("o[0,0,:3]     = %9.6f %9.6f %9.6f\n", out[0], out[1], out[2]);
    printf("dloss/dq[0,0] = %9.6f %9.6f %9.6f\n", grad[0], grad[1], grad[2]);

    cla_tape_free(&tape);
    cla_ragged_free(&rows);
    cla_tensor_free(&v);
    cla_tensor_free(&k);
    cla_tensor_free(&q);
    cla_runtime_free(&rt);
    return 0;
}
