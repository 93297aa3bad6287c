/* main.c - chooses a target; runs it under libFuzzer, or replays files without it.
 *
 *   fuzz TARGET [PATH...]            replays files and the files of folders
 *   fuzz --target=TARGET [FLAG...]   libFuzzer's own flags and folders */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "fuzz.h"

const fuzz_target fuzz_targets[] = {
    { "bpe", fuzz_bpe },           { "chars", fuzz_chars },
    { "codec", fuzz_codec },       { "config", fuzz_config },
    { "conllu", fuzz_conllu },     { "ctranslate2", fuzz_ctranslate2 },
    { "dureader", fuzz_dureader }, { "folder", fuzz_folder },
    { "golden", fuzz_golden },     { "lexicon", fuzz_lexicon },
    { "lines", fuzz_lines },       { "markup", fuzz_markup },
    { "package", fuzz_package },   { "poems", fuzz_poems },
    { "prepared", fuzz_prepared }, { "requests", fuzz_requests },
    { "resume", fuzz_resume },     { "safetensors", fuzz_safetensors },
    { "scores", fuzz_scores },     { "sentencepiece", fuzz_sentencepiece },
    { "serve", fuzz_serve },       { "squad", fuzz_squad },
    { "stream", fuzz_stream },     { "themes", fuzz_themes },
    { "tuning", fuzz_tuning },     { "vectors", fuzz_vectors },
    { "vocab", fuzz_vocab },       { NULL, NULL },
};

static const fuzz_target *find(const char *name)
{
    for (const fuzz_target *t = fuzz_targets; t->name; t++) {
        if (strcmp(t->name, name) == 0) {
            return t;
        }
    }
    fprintf(stderr, "fuzz: no target '%s'; there are", name);
    for (const fuzz_target *t = fuzz_targets; t->name; t++) {
        fprintf(stderr, " %s", t->name);
    }
    fprintf(stderr, "\n");
    exit(CLA_E_USAGE);
}

#ifdef FUZZ_LIBFUZZER

static const fuzz_target *chosen;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static const char option[] = "--target=";
    for (int i = 1; i < *argc; i++) {
        if (strncmp((*argv)[i], option, sizeof option - 1) == 0) {
            chosen = find((*argv)[i] + sizeof option - 1);
        }
    }
    if (!chosen) {
        fprintf(stderr, "fuzz: --target=NAME is missing\n");
        exit(CLA_E_USAGE);
    }
    fuzz_begin(FUZZ_FIXTURES);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    chosen->run(data, size);
    return 0;
}

#else

/* Runs a target on a file. The bytes lie in a block of their exact size, so that a
 * sanitizer sees a read beyond them. */
static void replay(const fuzz_target *target, const char *path)
{
    char *data = NULL;
    uint8_t *exact = NULL;
    size_t size = 0;
    FUZZ_CHECK(!cla_file_read(path, &data, &size), "%s", cla_error());
    FUZZ_CHECK(!cla_alloc(&exact, size ? size : 1, 1), "%s", cla_error());
    memcpy(exact, data, size);
    free(data);
    target->run(exact, size);
    free(exact);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: fuzz TARGET [PATH...]\n");
        return CLA_E_USAGE;
    }
    const fuzz_target *target = find(argv[1]);
    size_t files = 0;
    fuzz_begin(FUZZ_FIXTURES);
    for (int i = 2; i < argc; i++) {
        char **paths = NULL;
        size_t count = 0;
        FUZZ_CHECK(!cla_folder_list(argv[i], "", &paths, &count), "%s", cla_error());
        for (size_t k = 0; k < count; k++) {
            fprintf(stderr, "%s\n", paths[k]); // the last one is the one that failed
            replay(target, paths[k]);
        }
        files += count;
        cla_folder_list_free(&paths, count);
    }
    fprintf(stderr, "%s: %zu inputs\n", target->name, files);
    return files ? 0 : 1; // an empty corpus tests nothing
}

#endif
