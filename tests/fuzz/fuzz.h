/* fuzz.h - fuzz targets: one function of bytes for each reader, and what they share.
 *
 * A target gives its bytes to a reader as a file, uses what was read, and frees it. It
 * checks what the reader's header promises; a promise that is broken aborts. */
#pragma once

#include "base/base.h"

typedef void fuzz_run(const uint8_t *data, size_t size);

typedef struct fuzz_target {
    const char *name; // also the folder below corpus/
    fuzz_run *run;
} fuzz_target;

extern const fuzz_target fuzz_targets[]; // the last has no name

fuzz_run fuzz_bpe, fuzz_chars, fuzz_codec, fuzz_config, fuzz_conllu, fuzz_ctranslate2,
    fuzz_dureader, fuzz_folder, fuzz_golden, fuzz_lexicon, fuzz_lines, fuzz_markup,
    fuzz_package, fuzz_poems, fuzz_prepared, fuzz_requests, fuzz_resume,
    fuzz_safetensors, fuzz_scores, fuzz_sentencepiece, fuzz_serve, fuzz_squad,
    fuzz_stream, fuzz_themes, fuzz_tuning, fuzz_vectors, fuzz_vocab;

/* models.c: the path of a run folder of the fixtures, copied to the scratch folder. */
const char *fuzz_run_folder(const char *name);

/* ---- support.c, runtime.c -------------------------------------------------------- */

/* Aborts with the text when a promise is broken. */
#define FUZZ_CHECK(promise, ...)                                      \
    do {                                                              \
        if (!(promise)) fuzz_broken(__FILE__, __LINE__, __VA_ARGS__); \
    } while (0)
_Noreturn void fuzz_broken(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A reader of hostile data succeeds, calls the data bad, or lacks memory; it gives no
 * other status, and a failure has a text. True for success. */
bool fuzz_ok(cla_status status);

/* The path of a file in the scratch folder of this process. Up to 8 paths are valid at
 * once. */
const char *fuzz_path(const char *name);

/* Writes that file and returns its path. */
const char *fuzz_file(const char *name, const void *data, size_t size);

/* Cuts data at bytes 0x1E into at most n parts; the last has the rest, missing ones are
 * empty. */
typedef struct fuzz_part {
    const char *data;
    size_t size;
} fuzz_part;
void fuzz_cut(const uint8_t *data, size_t size, fuzz_part *parts, size_t n);

/* A NUL-terminated copy to free; NULL when the part is not UTF-8 or holds a NUL. */
char *fuzz_text(const fuzz_part *part);

/* Gives the file to standard input, from its beginning. */
void fuzz_stdin(const char *path);

/* Standard output of the commands a target runs goes nowhere. */
void fuzz_silence(void);

/* The folder with the run folders and other fixed files of the targets. */
const char *fuzz_fixtures(void);

/* From here on whoever opens a runtime gets the same one, until it has built so many
 * programs that finding one takes long: opening one, and reading the kernels again,
 * would take most of a run's time. */
void fuzz_share_runtime(void);

/* Prepares the process: scratch folder, environment, null device. */
void fuzz_begin(const char *fixtures);
