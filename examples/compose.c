/* compose.c - a trained poem generator inside an application.
 *
 *   clattn train examples/configs/poem-ppg.json --out runs/p
 *   cc compose.c $(pkg-config --cflags --libs clattn-models) -o compose
 *   ./compose runs/p 5 春風明月 */
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
        fprintf(stderr, "usage: compose MODEL_FOLDER CHARACTERS TEXT...\n");
        return 2;
    }
    cla_runtime *rt;
    cla_model *model;
    TRY(cla_runtime_new(&rt, NULL));
    TRY(cla_model_load(&model, rt, argv[1]));

    const cla_compose_options options = {
        .characters = (int)strtol(argv[2], NULL, 10),
        .beam = 1,
        .seed = 42,
    };
    for (int i = 3; i < argc; i++) {
        cla_quatrain *poem;
        TRY(cla_model_compose(model, &poem, argv[i], &options));
        for (int k = 0; k < CLA_QUATRAIN_LINES; k++) {
            printf("%s (%s)\n", poem->line[k], poem->keyword[k]);
        }
        cla_quatrain_free(&poem);
    }

    cla_model_free(&model);
    cla_runtime_free(&rt);
    return 0;
}
