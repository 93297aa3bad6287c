/* readers.h - a sample of each reader's format, and how to read with it. */
#pragma once

#include <jansson.h>

#include "base/input.h"

/* Reads path, which lies in folder, and appends to digest what was read. */
typedef cla_status reader_read(const char *path, const char *folder, cla_text *digest);

typedef struct reader_sample {
    const char *name; // in base/readers.h
    const char *text; // lines that end in LF
    const char *bad;  // the same, refused at its last line; NULL: any text is right
    reader_read *read;
    const char *elsewhere; // the script that tries it with a model
    const char *file;      // name of the file; NULL: any
    const char *place;     // in front of a line number in messages; NULL: ":"
    bool json;             // one text: a CR is white space
    bool needs_end;        // a last line without its end counts as cut off
    bool no_lines;         // messages do not number lines
} reader_sample;

extern const reader_sample reader_samples[]; // ends with a name that is NULL

/* Writes a file; cla_file_write would wait for the disk, each of a thousand times. */
cla_status reader_write(const char *path, const char *text, size_t size);

/* Append what was read. */
cla_status reader_add_json(cla_text *out, json_t *value);
cla_status reader_add_line(void *out, size_t number, char *text, size_t size);

reader_read read_bpe, read_bpe_text, read_config, read_conllu, read_dureader,
    read_languages, read_lexicon, read_lines, read_pairs, read_pairs_of_folder,
    read_plot_lengths, read_plot_runs, read_plot_seeds, read_poems, read_ranking,
    read_report, read_report_config, read_request, read_results, read_scored,
    read_scored_squad, read_squad, read_standard_input, read_tag_lexicon,
    read_weights_index, read_themes, read_tuning, read_vector_text, read_vectors,
    read_vocabulary, read_vocabulary_ctranslate2, read_vocabulary_json,
    read_text_stream, read_tokenizer;
