/* eval_lengths.c - prints BLEU by the length of sources. */
#include <stdio.h>
#include <string.h>

#include "cli/eval.h"
#include "cli/lengths.h"
#include "metrics/bleu.h"

const char *cli_length_name(int group)
{
    static const char *const names[] = { "1-10",  "11-20", "21-30", "31-40",
                                         "41-50", "51-60", ">=61",  "all" };
    return names[group];
}

static int group_of(const char *line)
{
    const int64_t words = (int64_t)cla_count_words(line, " \t");
    const int64_t group = words ? (words - 1) / LENGTH_STEP : 0;
    return group < LENGTH_GROUPS ? (int)group : LENGTH_GROUPS - 1;
}

typedef struct group {
    int64_t sentences;
    cla_bleu_counts counts;
} group;

static void add(group *g, const cla_bleu_counts *counts)
{
    g->sentences++;
    cla_bleu_add(&g->counts, counts);
}

static cla_status count(const eval_translations *e, group groups[LENGTH_ROWS])
{
    const cla_bleu_options options = cla_bleu_defaults();
    cla_bleu *bleu = NULL;
    cla_status status = cla_bleu_new(&bleu, &options);
    for (size_t i = 0; i < e->lines[0].count && !status; i++) {
        const cla_line hyp = cli_eval_hypothesis(e, i);
        cla_bleu_counts counts;
        status = cla_bleu_count(bleu, &hyp, &e->lines[1].line[i], 1, &counts);
        if (!status) {
            add(&groups[group_of(e->lines[0].line[i].text)], &counts);
            add(&groups[LENGTH_GROUPS], &counts);
        }
    }
    cla_bleu_free(&bleu);
    return status;
}

static cla_status print_json(const char *name, const group *g, double score)
{
    json_t *row =
        json_pack("{ss sI}", "words", name, "sentences", (json_int_t)g->sentences);
    if (row && g->sentences) {
        json_object_set_new(row, "bleu", json_real(score));
    }
    return cli_print_json(row);
}

static cla_status print(const group groups[LENGTH_ROWS], bool json)
{
    const cla_bleu_options options = cla_bleu_defaults();
    if (!json) {
        printf("source words  sentences    BLEU\n");
    }
    for (int i = 0; i < LENGTH_ROWS; i++) {
        const group *g = &groups[i];
        const double score = cla_bleu_of(&options, &g->counts).score;
        if (json) {
            CLA_TRY(print_json(cli_length_name(i), g, score));
        } else if (g->sentences) {
            printf("%-12s  %9lld  %6.2f\n", cli_length_name(i), (long long)g->sentences,
                   score);
        } else {
            printf("%-12s  %9d       -\n", cli_length_name(i), 0);
        }
    }
    return CLA_OK;
}

cla_status cli_eval_lengths(cla_model *model, const char *data, const char *split,
                            const cla_translate_options *options, bool json)
{
    group groups[LENGTH_ROWS] = { { 0 } };
    eval_translations e;
    CLA_TRY(cli_eval_translate(model, data, split, options, &e));
    cla_status status = count(&e, groups);
    status = status ? status : print(groups, json);
    cli_eval_translations_free(&e);
    return status;
}
