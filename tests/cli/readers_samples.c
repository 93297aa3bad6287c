/* readers_samples.c - a text of each reader's format. */
#include "cli/readers.h"

#define ROW(id, form) id "\t" form "\t_\tX\t_\t_\t_\t_\t_\t_\n"
#define MEASURED                                                    \
    "{\"case\": \"a\", \"provider\": \"tile\", \"device\": \"d\", " \
    "\"median_ms\": 1, \"p25_ms\": 1, \"p75_ms\": 1}\n"
#define QUESTION                                                              \
    "{\"question_id\": 7, \"segmented_question\": [\"where\"], \"answers\": " \
    "[\"hill\"], \"segmented_answers\": [[\"hill\"]], \"documents\": "        \
    "[{\"is_selected\": true, \"segmented_paragraphs\": [[\"on\", \"hill\"]]}]}\n"
#define ARTICLE(more)                                                            \
    "{\"data\": [{\"title\": \"t\", \"paragraphs\": [\n"                         \
    "{\"context\": \"a b c\", \"qas\": [{\"id\": \"1\", \"question\": \"b?\",\n" \
    "\"answers\": [{\"text\": \"b\", \"answer_start\": 2}]}]}]}]}\n" more
#define POEM                           \
    "t\ta\tp\t"                        \
    "白日依山盡|黃河入海流|" \
    "欲窮千里目|更上一層樓\n"

const reader_sample reader_samples[] = {
    { "answer_lines", .elsewhere = "cli/answer.sh" },
    { "bench_results", MEASURED MEASURED, MEASURED "{,}\n", .read = read_results },
    { "bench_treebank", .elsewhere = "bench/treebank.c" },
    { "bpe_codes", "#version: 0.2\na b\nab c</w>\n", "#version: 0.2\na b\nab\n",
      .read = read_bpe },
    { "bpe_text", "ab ab\nab\nabc abc\n", NULL, .read = read_bpe_text },
    { "composed_words", .elsewhere = "cli/compose.sh" },
    { "config", "{\"a\": 1,\n\"size\": 2\n}\n", "{\"a\": 1,\n\"size\": -1}\n",
      .read = read_config, .json = true },
    { "conllu", ROW("1", "a") ROW("2", "b") "\n" ROW("1", "c"), ROW("1", "a") "x\ty\n",
      .read = read_conllu },
    { "document", .elsewhere = "cli/translate.sh" },
    { "dureader", QUESTION QUESTION, QUESTION "{\"question_id\": 7}\n",
      .read = read_dureader },
    { "given", .elsewhere = "cli/lines.sh" },
    { "inspected", .elsewhere = "cli/inspect.sh" },
    { "languages", "{\"added_tokens\": [\n{\"id\": 7, \"content\": \"fra_Latn\"}\n]}\n",
      "{\"added_tokens\": [\n,]}\n", .read = read_languages, .file = "tokenizer.json",
      .json = true },
    { "lexicon", "春天\n日\n", NULL, .read = read_lexicon },
    { "lines", "a b\n c\nd\n", NULL, .read = read_lines },
    { "pairs", "a b\nb a\n", NULL, .read = read_pairs },
    { "pairs_of_folder", "a b\nb a\n", NULL, .read = read_pairs_of_folder,
      .file = "dev.a" },
    { "plot_lengths",
      "{\"words\": \"1-10\", \"bleu\": 2}\n{\"words\": \"1-10\", \"bleu\": "
      "3}\n",
      "{\"words\": \"1-10\", \"bleu\": 2}\n{\"words\": 1}\n",
      .read = read_plot_lengths },
    { "plot_runs", "{\"step\": 1, \"loss\": 2}\n{\"step\": 2, \"loss\": 1}\n",
      "{\"step\": 1, \"loss\": 2}\n{\"step\": 2,,}\n", .read = read_plot_runs,
      .file = "log.jsonl", .needs_end = true },
    { "plot_seeds", "{\"a\": 1,\n\"seed\": 2\n}\n", "{\"a\": 1,\n,}\n",
      .read = read_plot_seeds, .file = "config.json", .json = true },
    { "poems", POEM POEM, POEM "t\ta\tx\n", .read = read_poems },
    { "ranking", "a\t2\nb\t1\n", "a\t2\nb 1\n", .read = read_ranking },
    { "report", "{\"step\": 1, \"loss\": 2}\n{\"step\": 2, \"loss\": 1}\n",
      "{\"step\": 1, \"loss\": 2}\n{\"step\": 2,,}\n", .read = read_report },
    { "report_config", "{\"a\": 1,\n\"b\": 2\n}\n", "{\"a\": 1,\n,}\n",
      .read = read_report_config, .file = "config.json", .json = true },
    { "request", "{\"text\":\n\"a b\"\n}\n", "{\"q\":\n,}\n", .read = read_request,
      .json = true },
    { "scored_lines", "a b c d e\nf g h i j\n", NULL, .read = read_scored },
    { "scored_squad", ARTICLE(""), "{\"data\":\n,}\n", .read = read_scored_squad,
      .json = true },
    { "squad", ARTICLE(""), "{\"data\":\n,}\n", .read = read_squad, .json = true },
    { "standard_input", "a b\n c\nd\n", NULL, .read = read_standard_input },
    { "tag_lexicon", "\tX\t0\na\tX\t0\nb\tY\t1\n", "\tX\t0\na\tZ\t0\n",
      .read = read_tag_lexicon, .file = "lexicon.tsv" },
    { "text_stream", "a b\n c\nd\n", NULL, .read = read_text_stream },
    { "themes", "a b\nb c a\n", NULL, .read = read_themes },
    { "tuning", "{\"P | D | 1\":\n{\"masked_softmax\": {\"WG\": 64}}\n}\n",
      "{\"P\":\n,}\n", .read = read_tuning, .place = "line ", .json = true },
    { "vector_text", "a b\nb a\n", NULL, .read = read_vector_text },
    { "vectors", "a 1 2\nb 3 4\n", "a 1 2\nb 3 x\n", .read = read_vectors },
    { "vocabulary", "<pad>\na\nb\n", NULL, .read = read_vocabulary },
    { "tokenizer",
      "{\"model\": {\"vocab\": {\"a\": 0,\n\"b\": 1, \"ab\": 2},\n\"merges\":\n[\"a "
      "b\"]}}\n",
      "{\"model\":\n,}\n", .read = read_tokenizer, .json = true },
    { "vocabulary_ctranslate2", "<unk>\n</s>\na b\n", NULL,
      .read = read_vocabulary_ctranslate2, .file = "shared_vocabulary.txt" },
    { "vocabulary_json", "{\"</s>\": 0, \"<unk>\": 1,\n\"a\": 2,\n\"<pad>\": 3\n}\n",
      "{\"</s>\": 0,\n,}\n", .read = read_vocabulary_json, .file = "vocab.json",
      .json = true },
    { "weights_index", "{\"weight_map\":\n{\"a\":\n\"w.safetensors\"}}\n",
      "{\"weight_map\":\n,}\n", .read = read_weights_index,
      .file = "model.safetensors.index.json", .json = true },
    { 0 },
};
