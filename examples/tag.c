/* tag.c - a trained tagger inside an application.
 *
 *   clattn train examples/configs/tagger-conv2d.json --out runs/t
 *   cc tag.c $(pkg-config --cflags --libs clattn-models) -o tag
 *   ./tag runs/t il ne vient pas */
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
    if (argc < 3) {
        fprintf(stderr, "usage: tag MODEL_FOLDER WORD...\n");
        return 2;
    }
    cla_runtime *rt;
    cla_model *model;
    TRY(cla_runtime_new(&rt, NULL));
    TRY(cla_model_load(&model, rt, argv[1]));

    const size_t count = (size_t)argc - 2;
    const char *const *words = (const char *const *)argv + 2;
    const char **tags = calloc(count, sizeof *tags);
    if (!tags) {
        return 1;
    }
    TRY(cla_model_tag(model, tags, words, count));
    for (size_t i = 0; i < count; i++) {
        printf("%s\t%s\n", words[i], tags[i]);
    }

    free(tags);
    cla_model_free(&model);
    cla_runtime_free(&rt);
    return 0;
}
