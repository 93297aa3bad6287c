/* cmd_vectors.c - clattn vectors: trains skip-gram vectors of the words of a text. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "text/lines.h"
#include "text/skipgram.h"

enum { MAX_FILES = 64, MOST = 1 << 20 };

typedef struct arguments {
    const char *out;
    int64_t seed;
    cla_skipgram_options train;
    cli_words files;
} arguments;

static const cli_option options[] = {
    { "out", 'o', "FILE", "the vectors, a line a word", CLI_TEXT,
      .at = offsetof(arguments, out), .needed = true, .output = CLI_OUT_FILE },
    { "dim", 'n', "N", "numbers of a vector (100)", CLI_INT,
      .at = offsetof(arguments, train.dim), .low = 1, .high = 4096 },
    { "window", 'w', "N", "words on either side, at most (5)", CLI_INT,
      .at = offsetof(arguments, train.window), .low = 1, .high = MOST },
    { "negatives", 'k', "N", "words drawn against each pair (5)", CLI_INT,
      .at = offsetof(arguments, train.negatives), .low = 1, .high = MOST },
    { "epochs", 'e', "N", "times that the text is read (5)", CLI_INT,
      .at = offsetof(arguments, train.epochs), .low = 1, .high = MOST },
    { "min-count", 'c', "N", "leave out words that are rarer (5)", CLI_INT64,
      .at = offsetof(arguments, train.min_count), .low = 1, .high = INT64_MAX },
    { "sample", 't', "X",
      "leave out words at random that are more frequent than this part of all (0: "
      "none)",
      CLI_REAL, .at = offsetof(arguments, train.sample), .low = 0, .high = 1 },
    { "seed", 's', "N", "seed of all draws (42)", CLI_INT64,
      .at = offsetof(arguments, seed), .low = 0, .high = UINT32_MAX },
    { 0 },
};

const cli_usage cli_vectors_usage = {
    .options = options,
    .words = "[FILE...]",
    .words_at = offsetof(arguments, files),
    .most = MAX_FILES,
    .about = "Learns vectors of words from text files or standard input, by skip-gram "
             "with negative sampling (Mikolov et al. 2013), on one core. Blanks part "
             "the words of a line. The file has the text format of word2vec, which "
             "`vectors' of a tagger or reader takes.",
    .more = "  clattn vectors --dim 100 --out words.vec train.txt\n"
            "  clattn train reader.json --set vectors=words.vec --out runs/m",
};

static cla_status take_line(void *to, size_t number, char *text, size_t size)
{
    cla_skipgram *lines = to;
    (void)number;
    (void)size;
    char *rest = NULL;
    for (char *word = strtok_r(text, " \t", &rest); word;
         word = strtok_r(NULL, " \t", &rest)) {
        CLA_TRY(cla_skipgram_add(lines, word));
    }
    return cla_skipgram_end(lines);
}

static cla_status learn(const arguments *a, cla_vectors *vectors, double *loss)
{
    cla_skipgram lines = { 0 };
    cla_status status =
        a->files.count ? CLA_OK : cla_lines_each("-", take_line, &lines);
    for (int i = 0; i < a->files.count && !status; i++) {
        status = cla_lines_each(a->files.word[i], take_line, &lines);
    }
    status = status ? status : cla_skipgram_train(&lines, &a->train, vectors, loss);
    cla_skipgram_free(&lines);
    return status;
}

int cli_vectors(int argc, char **argv)
{
    arguments a = { .seed = 42, .train = cla_skipgram_defaults() };
    a.train.dim = 100;
    cla_vectors vectors = { 0 };
    double loss = 0;
    cla_status status = cli_read(&cli_vectors_usage, argc, argv, &a);
    a.train.seed = (uint32_t)a.seed;
    status = status ? status : learn(&a, &vectors, &loss);
    status = status ? status : cla_vectors_write(&vectors, a.out);
    const size_t words = vectors.words.count;
    cla_vectors_free(&vectors);
    return cli_published(status, "%zu words in %s, loss %.4f", words, a.out, loss);
}
