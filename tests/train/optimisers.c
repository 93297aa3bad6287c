/* optimisers.c - docs/training.md has every optimiser with its settings and moments. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/optimiser.h"
#include "support/support.h"

/* Returns the line of docs/training.md about the optimiser; "" if there is none. */
static const char *line_of(char line[1024], const cla_optimiser *o)
{
    char begin[64];
    FILE *page = fopen(getenv("CLATTN_TEST_TRAINING"), "r");
    cr_assert(page);
    snprintf(begin, sizeof begin, "| `%s` | ", o->signature.op);
    do {
        if (!fgets(line, 1024, page)) {
            line[0] = 0;
        }
    } while (line[0] && strncmp(line, begin, strlen(begin)) != 0);
    fclose(page);
    return line;
}

/* Checks that the line has a setting with its default, as "`lr` 0.001". */
static void check_setting(const char *line, const char *name, double usual)
{
    const char *at = line;
    char key[32];
    snprintf(key, sizeof key, "`%s` ", name);
    while ((at = strstr(at, key)) && strtod(at + strlen(key), NULL) != usual) {
        at++;
    }
    cr_expect(at, "no %s%g in: %s", key, usual, line);
}

Test(optimisers, are_on_their_page)
{
    const cla_optimiser *o = NULL;
    for (int i = 0; (o = cla_optimiser_at(i)); i++) {
        char line[1024];
        line_of(line, o);
        cr_expect(line[0], "%s is not in docs/training.md", o->signature.op);
        check_setting(line, "lr", o->usual.lr);
        for (int k = 0; k < CLA_OPTIMISER_DECAYS && o->decay[k]; k++) {
            check_setting(line, o->decay[k], o->usual.decay[k]);
        }
        if (o->usual.epsilon > 0) {
            check_setting(line, "epsilon", o->usual.epsilon);
        }
        if (o->usual.weight_decay > 0) {
            check_setting(line, "weight_decay", o->usual.weight_decay);
        }
        for (int k = 0; k < cla_optimiser_moments(o); k++) {
            char name[32];
            snprintf(name, sizeof name, "`%s` ", o->moment[k]);
            cr_expect(strstr(line, name), "no moment %sin: %s", name, line);
        }
    }
}
