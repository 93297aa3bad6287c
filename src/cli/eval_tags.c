/* eval_tags.c - prints scores and confusions of tags, and scores of several models. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/eval.h"

/* The tags that occur or were predicted, most frequent first. */
typedef struct tag_table {
    const char **name; // [tags] by id
    const int64_t *counts;
    int tags;
    int *shown;           // ids
    tagging_score *score; // [count] in the order of shown
    int count;
} tag_table;

static void insert(tag_table *table, int tag, tagging_score score)
{
    int at = table->count++;
    for (; at && table->score[at - 1].words < score.words; at--) {
        table->score[at] = table->score[at - 1];
        table->shown[at] = table->shown[at - 1];
    }
    table->score[at] = score;
    table->shown[at] = tag;
}

static cla_status fill(tag_table *table, const tagging *t)
{
    const size_t tags = (size_t)table->tags;
    CLA_TRY(cla_alloc(&table->name, tags, sizeof *table->name));
    CLA_TRY(cla_alloc(&table->shown, tags, sizeof *table->shown));
    CLA_TRY(cla_alloc(&table->score, tags, sizeof *table->score));
    for (int k = 0; k < table->tags; k++) {
        table->name[k] = k == TAGGING_OOV ? "(unknown)" : t->tags.tokens[k];
        const tagging_score score = cla_tagging_score_of(table->counts, table->tags, k);
        int64_t said = 0;
        for (int i = 0; i < table->tags; i++) {
            said += table->counts[i * table->tags + k];
        }
        if (score.words || said) {
            insert(table, k, score);
        }
    }
    return CLA_OK;
}

static int64_t count_of(const tag_table *table, int row, int column)
{
    return table->counts[table->shown[row] * table->tags + table->shown[column]];
}

/* ---- print ------------------------------------------------------------------- */

static void print_scores(const tag_table *table)
{
    double mean[3] = { 0 };
    printf("%-10s %8s %10s %8s %8s\n", "tag", "words", "precision", "recall", "F1");
    for (int i = 0; i < table->count; i++) {
        const tagging_score *s = &table->score[i];
        printf("%-10s %8lld %10.2f %8.2f %8.2f\n", table->name[table->shown[i]],
               (long long)s->words, s->precision, s->recall, s->f1);
        mean[0] += s->precision / table->count;
        mean[1] += s->recall / table->count;
        mean[2] += s->f1 / table->count;
    }
    printf("%-10s %8s %10.2f %8.2f %8.2f\n", "mean", "", mean[0], mean[1], mean[2]);
}

static int digits_of(int64_t number)
{
    int digits = 1;
    for (; number >= 10; number /= 10) {
        digits++;
    }
    return digits;
}

/* Returns the width of a column, which holds its largest number and its letter. */
static int width_of(const tag_table *table, int column)
{
    int width = column < 26 ? 1 : 2;
    for (int i = 0; i < table->count; i++) {
        const int digits = digits_of(count_of(table, i, column));
        width = digits > width ? digits : width;
    }
    return width;
}

/* Writes the letter of a column: a to z, then a1, b1 ... */
static void letter_of(int i, char text[16])
{
    snprintf(text, 16, i < 26 ? "%c" : "%c%d", 'a' + i % 26, i / 26);
}

static void print_matrix(const tag_table *table)
{
    char letter[16];
    printf("\nconfusion: rows are the correct tags, columns the predicted ones\n%-13s",
           "");
    for (int k = 0; k < table->count; k++) {
        letter_of(k, letter);
        printf(" %*s", width_of(table, k), letter);
    }
    printf("\n");
    for (int i = 0; i < table->count; i++) {
        letter_of(i, letter);
        printf("%-2s %-10s", letter, table->name[table->shown[i]]);
        for (int k = 0; k < table->count; k++) {
            const int64_t n = count_of(table, i, k);
            if (n) {
                printf(" %*lld", width_of(table, k), (long long)n);
            } else {
                printf(" %*s", width_of(table, k), ".");
            }
        }
        printf("\n");
    }
}

static cla_status print_json(const tag_table *table)
{
    for (int i = 0; i < table->count; i++) {
        const tagging_score *s = &table->score[i];
        json_t *as = json_object();
        for (int k = 0; k < table->count; k++) {
            const int64_t n = count_of(table, i, k);
            if (n) {
                json_object_set_new(as, table->name[table->shown[k]],
                                    json_integer((json_int_t)n));
            }
        }
        CLA_TRY(cli_print_json(
            json_pack("{ss sI sf sf sf so}", "tag", table->name[table->shown[i]],
                      "words", (json_int_t)s->words, "precision", s->precision,
                      "recall", s->recall, "f1", s->f1, "tagged_as", as)));
    }
    return CLA_OK;
}

cla_status cli_eval_tags(tagging *t, const char *data, const char *split, bool json)
{
    int64_t *counts = NULL;
    CLA_TRY(cla_tagging_confuse(t, data, split, &counts));
    tag_table table = { .counts = counts, .tags = t->config.tags };
    cla_status status = fill(&table, t);
    if (!status && json) {
        status = print_json(&table);
    } else if (!status) {
        print_scores(&table);
        print_matrix(&table);
    }
    free(table.name);
    free(table.shown);
    free(table.score);
    free(counts);
    return status;
}

/* ---- several models ---------------------------------------------------------- */

static const double *find(const cla_metrics *m, const char *name)
{
    for (int i = 0; i < m->count; i++) {
        if (strcmp(m->row[i].name, name) == 0) {
            return &m->row[i].value;
        }
    }
    return NULL;
}

static void print_line(const cla_metrics *metrics, int count, const char *name)
{
    printf("%-20s", name);
    for (int k = 0; k < count; k++) {
        const double *value = find(&metrics[k], name);
        if (value) {
            printf(" %9.*f", *value < 1 && *value > -1 ? 4 : 2, *value);
        } else {
            printf(" %9s", "-");
        }
    }
    printf("\n");
}

void cli_eval_table(const cla_metrics *metrics, const char *const *name, int count)
{
    for (int k = 0; k < count; k++) {
        printf("%c  %s\n", 'A' + k, name[k]);
    }
    printf("\n%-20s", "");
    for (int k = 0; k < count; k++) {
        printf(" %9c", 'A' + k);
    }
    printf("\n");
    for (int k = 0; k < count; k++) {
        for (int i = 0; i < metrics[k].count; i++) {
            bool before = false;
            for (int other = 0; other < k && !before; other++) {
                before = find(&metrics[other], metrics[k].row[i].name) != NULL;
            }
            if (!before) {
                print_line(metrics, count, metrics[k].row[i].name);
            }
        }
    }
}
