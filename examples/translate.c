/* translate.c - a trained translator inside an application.
 *
 *   clattn train examples/configs/nmt-plain.json --out runs/m
 *   cc translate.c $(pkg-config --cflags --libs clattn-models) -o translate
 *   ./translate runs/m 'the red cat sleeps.' 'a blue dog sleeps.' */
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
        fprintf(stderr, "usage: translate MODEL_FOLDER LINE...\n");
        return 2;
    }
    cla_runtime *rt;
    cla_model *model;
    TRY(cla_runtime_new(&rt, NULL));
    TRY(cla_model_load(&model, rt, argv[1]));

    const size_t count = (size_t)argc - 2;
    const char *const *lines = (const char *const *)argv + 2;
    cla_translation *translations = calloc(count, sizeof *translations);
    if (!translations) {
        return 1;
    }
    const cla_translate_options options = { .beam = 4,
                                            .length_penalty = 0.6,
                                            .batch = 32 };
    TRY(cla_model_translate(model, translations, lines, count, &options));
    for (size_t i = 0; i < count; i++) {
        printf("%.6f\t%s\n", translations[i].score, translations[i].text);
    }

    free(translations);
    cla_model_free(&model);
    cla_runtime_free(&rt);
    return 0;
}
