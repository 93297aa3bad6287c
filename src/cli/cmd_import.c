/* cmd_import.c - clattn import: imports a model that another program trained. */
#include "cli/cli.h"
#include "cli/signals.h"
#include "cli/stream.h"
#include "exchange/import.h"

typedef struct arguments {
    cli_words from; // one
    const char *out;
    int transformers;
} arguments;

static const cli_option options[] = {
    { "out", 'o', "DIR", "the new model's folder", CLI_TEXT,
      .at = offsetof(arguments, out), .needed = true, .output = CLI_OUT_FOLDER },
    { "transformers", 't', "N",
      "search as its release N does, 4 (4.35 to 4.49) or 5 (from 4.50 on) (5)", CLI_INT,
      .at = offsetof(arguments, transformers), .low = 4, .high = 5 },
    { 0 },
};

const cli_usage cli_import_usage = {
    .options = options,
    .words = "PATH",
    .words_at = offsetof(arguments, from),
    .least = 1,
    .most = 1,
    .lacks = "a folder or a package",
    .about = "Converts a model of another program: a translator from a Hugging Face "
             "folder of MarianMT, M2M-100, NLLB, mBART-50, T5, mT5 or MADLAD-400, one "
             "that Marian wrote, one of CTranslate2 or a package of Argos; a language "
             "model from a Hugging Face folder of GPT-2, Llama or Mistral.",
    .more = "  clattn import opus-mt-en-de --out runs/en-de\n"
            "  clattn import translate-en_de-1_0.argosmodel --out runs/en-de\n"
            "  clattn translate --model runs/en-de < test.en\n"
            "  clattn import gpt2 --out runs/gpt2\n"
            "  clattn generate --model runs/gpt2 'Once upon a time'",
};

static void show_progress(size_t done, size_t all)
{
    cli_progress_alone(done, all, "tensors");
}

int cli_import(int argc, char **argv)
{
    arguments a = { .transformers = 5 };
    int64_t numbers = 0;
    cla_status status = cli_read(&cli_import_usage, argc, argv, &a);
    status = status ? status
                    : cla_import(a.from.word[0], a.out, a.transformers,
                                 cli_catch_signals(), show_progress, &numbers);
    cli_progress_end();
    return cli_published(status, "%lld numbers in %s", (long long)numbers, a.out);
}
