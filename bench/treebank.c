/* treebank.c - reads sentence lengths from CoNLL-U files. */
#include "bench/treebank.h"

#include <ctype.h>
#include <string.h>

#include "base/input.h"
#include "base/platform.h"

static const char *const SPLITS[] = { "train", "dev", "test" };

typedef struct length_list {
    int *items;
    size_t count, cap;
} length_list;

static cla_status push(length_list *list, int words)
{
    if (words == 0) {
        return CLA_OK;
    }
    CLA_TRY(cla_grow(&list->items, &list->cap, list->count + 1, sizeof *list->items));
    list->items[list->count++] = words;
    return CLA_OK;
}

/* Returns whether a line is the row of a word, which begins with a plain number. "3-4"
 * is a contraction of two words with rows of their own, "3.1" an empty node. */
static bool is_word(const char *line)
{
    const char *c = line;
    while (isdigit((unsigned char)*c)) {
        c++;
    }
    return c > line && *c == '\t';
}

static cla_status count_lines(length_list *list, cla_scan *scan)
{
    int words = 0;
    for (;;) {
        char *line = NULL;
        size_t size = 0;
        CLA_TRY(cla_scan_line(scan, &line, &size));
        if (line && is_word(line)) {
            words++;
        } else if (!line || cla_line_is_blank(line, size)) {
            CLA_TRY(push(list, words));
            words = 0;
        }
        if (!line) {
            return CLA_OK;
        }
    }
}

static cla_status read_split(length_list *list, const char *folder, const char *split)
{
    cla_text path = { 0 };
    cla_scan scan = { 0 };
    cla_status status = cla_text_add(&path, "%s/%s.conllu", folder, split);
    status = status ? status : cla_scan_file(&scan, path.data, CLA_SOURCE_FILE);
    status = status ? status : count_lines(list, &scan);
    free(scan.data);
    cla_text_free(&path);
    return status;
}

/* Tries the folder beside the installed program, the installation's, the sources'. */
const char *bench_treebank_folder(char *beside, size_t size)
{
    static const char tail[] = "/../share/clattn/data/fr_spoken";
    cla_os_program(beside, size - sizeof tail);
    char *slash = cla_os_last_slash(beside);
    if (slash) {
        memcpy(slash, tail, sizeof tail);
    }
    if (cla_os_may(beside, CLA_MAY_READ)) {
        return beside;
    }
    const char *installed = CLATTN_DATA_FOLDER "/data/fr_spoken";
    return cla_os_may(installed, CLA_MAY_READ) ? installed
                                               : CLATTN_SOURCE_FOLDER
               "/examples/data/fr_spoken";
}

static cla_status read_all(length_list *list)
{
    char beside[4096];
    const char *folder = bench_treebank_folder(beside, sizeof beside);
    for (size_t i = 0; i < sizeof SPLITS / sizeof *SPLITS; i++) {
        CLA_TRY(read_split(list, folder, SPLITS[i]));
    }
    return CLA_OK;
}

cla_status bench_treebank_lengths(int *lengths, int count)
{
    length_list list = { 0 };
    cla_status status = read_all(&list);
    if (!status && list.count < (size_t)count) {
        status = cla_fail(CLA_E_INPUT, "treebank: %zu sentences, needs %d", list.count,
                          count);
    }
    for (int i = 0; i < count && !status; i++) {
        lengths[i] = list.items[(size_t)i * list.count / (size_t)count];
    }
    free(list.items);
    return status;
}
