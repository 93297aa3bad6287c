/* readers.h - every reader of text and JSON. tools/readers.sh refuses one that is not
 * here or that goes past the front (base/input.h, base/json.h); the test `readers`
 * reads with each of them. */
#pragma once

/* What a reader makes of lines without a word. */
typedef enum cla_blank_lines {
    CLA_BLANKS_SKIPPED, // no line of the format; those of JSON are white space
    CLA_BLANKS_KEPT,    // a line like any other, or the end of a sentence
} cla_blank_lines;

/* Calls R(name, file, blank lines) for each. */
#define CLA_READERS(R)                                                              \
    R(answer_lines, "src/cli/cmd_answer.c", CLA_BLANKS_SKIPPED)                     \
    R(bench_results, "bench/results.c", CLA_BLANKS_SKIPPED)                         \
    R(bench_treebank, "bench/treebank.c", CLA_BLANKS_KEPT)                          \
    R(bpe_codes, "src/text/bpe.c", CLA_BLANKS_SKIPPED)                              \
    R(bpe_text, "src/cli/cmd_bpe.c", CLA_BLANKS_KEPT)                               \
    R(composed_words, "src/cli/cmd_compose.c", CLA_BLANKS_KEPT)                     \
    R(config, "src/base/config.c", CLA_BLANKS_SKIPPED)                              \
    R(conllu, "src/text/conllu.c", CLA_BLANKS_KEPT)                                 \
    R(document, "src/cli/translate_document.c", CLA_BLANKS_KEPT)                    \
    R(dureader, "src/text/dureader.c", CLA_BLANKS_SKIPPED)                          \
    R(given, "src/cli/cmd_translate.c", CLA_BLANKS_KEPT)                            \
    R(inspected, "src/cli/cmd_inspect.c", CLA_BLANKS_KEPT)                          \
    R(languages, "src/exchange/import_languages.c", CLA_BLANKS_SKIPPED)             \
    R(lexicon, "src/text/lexicon.c", CLA_BLANKS_SKIPPED)                            \
    R(lines, "src/text/lines.c", CLA_BLANKS_KEPT)                                   \
    R(pairs, "src/text/bitext.c", CLA_BLANKS_KEPT)                                  \
    R(pairs_of_folder, "src/tasks/translation/data.c", CLA_BLANKS_KEPT)             \
    R(plot_lengths, "src/cli/plot_lengths.c", CLA_BLANKS_SKIPPED)                   \
    R(plot_runs, "src/cli/cmd_plot.c", CLA_BLANKS_SKIPPED)                          \
    R(plot_seeds, "src/cli/plot_seeds.c", CLA_BLANKS_SKIPPED)                       \
    R(poems, "src/text/poems.c", CLA_BLANKS_SKIPPED)                                \
    R(ranking, "src/text/textrank.c", CLA_BLANKS_SKIPPED)                           \
    R(report, "src/cli/report_read.c", CLA_BLANKS_SKIPPED)                          \
    R(report_config, "src/cli/report_runs.c", CLA_BLANKS_SKIPPED)                   \
    R(request, "src/cli/serve_request.c", CLA_BLANKS_SKIPPED)                       \
    R(scored_lines, "src/cli/score_bleu.c", CLA_BLANKS_KEPT)                        \
    R(scored_squad, "src/cli/score_reading.c", CLA_BLANKS_SKIPPED)                  \
    R(squad, "src/text/squad.c", CLA_BLANKS_SKIPPED)                                \
    R(standard_input, "src/cli/stream.c", CLA_BLANKS_KEPT)                          \
    R(tag_lexicon, "src/tasks/tagging/data.c", CLA_BLANKS_SKIPPED)                  \
    R(text_stream, "src/tasks/language/data.c", CLA_BLANKS_KEPT)                    \
    R(themes, "src/text/themes.c", CLA_BLANKS_SKIPPED)                              \
    R(tokenizer, "src/text/codec_read.c", CLA_BLANKS_SKIPPED)                       \
    R(tuning, "src/runtime/tuning.c", CLA_BLANKS_SKIPPED)                           \
    R(vector_text, "src/cli/cmd_vectors.c", CLA_BLANKS_KEPT)                        \
    R(vectors, "src/text/vectors.c", CLA_BLANKS_SKIPPED)                            \
    R(vocabulary, "src/text/vocab.c", CLA_BLANKS_KEPT)                              \
    R(vocabulary_ctranslate2, "src/exchange/import_ctranslate2.c", CLA_BLANKS_KEPT) \
    R(vocabulary_json, "src/exchange/import_vocab.c", CLA_BLANKS_SKIPPED)           \
    R(weights_index, "src/exchange/import_shards.c", CLA_BLANKS_SKIPPED)

/* Files that read bytes, which are no text or are compared, copied or hashed as they
 * are: R(file, why). */
#define CLA_BYTE_READERS(R)                                                          \
    R("src/cli/serve_detect.c", "the list of fingerprints of libexttextcat")         \
    R("src/base/safetensors.c", "tensors; a header has no byte order mark")          \
    R("src/base/zip.c", "an archive")                                                \
    R("src/cli/report_runs.c", "pictures, shown as they are")                        \
    R("src/exchange/import_languages.c", "a SentencePiece model")                    \
    R("src/exchange/import_package.c", "weights, models; JSON is read by its front") \
    R("src/exchange/import_release.c", "YAML and models; libyaml skips the mark")    \
    R("src/runtime/driver_absent.c", "the name of a library")                        \
    R("src/runtime/source.c", "kernels, read by the compiler")                       \
    R("src/runtime/tuning.c", "the core has a reader of its own")                    \
    R("src/tasks/language/tokenized.c", "kept as it is; its JSON has a reader")      \
    R("src/text/subwords.c", "merges or a model, kept as they are")                  \
    R("src/train/average.c", "compared")                                             \
    R("src/train/folder.c", "copied")                                                \
    R("src/train/integrity.c", "hashed")                                             \
    R("src/train/report.c", "a log of its own, cut at a line")                       \
    R("src/train/warm.c", "compared")
