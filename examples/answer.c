/* answer.c - a trained reader inside an application.
 *
 *   clattn train examples/configs/reader-match_lstm.json --out runs/r
 *   cc answer.c $(pkg-config --cflags --libs clattn-models) -o answer
 *   ./answer runs/r 'Ann sold figs on Monday.' 'Who sold figs?' 'What did Ann sell?' */
#include <stdio.h>
#include <stdlib.h>

#include "clattn/model.h"

#define TRY(call)                                            \
    do {                                                     \
        if ((call) != CLA_OK) {                              \
            fprintf(stderr, "%s: %s\n", #call, cla_error()); \
            exit(1);                                         \
        }                                                    \
    } while (0)

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: answer MODEL_FOLDER PASSAGE QUESTION...\n");
        return 2;
    }
    cla_runtime *rt;
    cla_model *model;
    TRY(cla_runtime_new(&rt, NULL));
    TRY(cla_model_load(&model, rt, argv[1]));

    const char *passage = argv[2];
    const size_t count = (size_t)argc - 3;
    cla_quote *quotes = calloc(count, sizeof *quotes);
    size_t *found = calloc(count, sizeof *found);
    if (!quotes || !found) {
        return 1;
    }
    TRY(cla_model_answer(model, quotes, found, passage, (const char *const *)argv + 3,
                         count, 1));
    for (size_t i = 0; i < count; i++) {
        const cla_quote *q = &quotes[i];
        if (found[i]) {
            printf("%d %d %.*s", q->from, q->to, q->size, passage + q->at);
        }
        putchar('\n');
    }

    free(quotes);
    free(found);
    cla_model_free(&model);
    cla_runtime_free(&rt);
    return 0;
}
