/* reading.h - passages, questions and answers as ids, and the readers trained on them.
 */
#pragma once

#include "models/reader.h"
#include "models/span.h"
#include "text/squad.h"
#include "train/task.h"

/* The distinct words of a file, as they are written, as characters. */
typedef struct reading_spellings {
    int32_t *word;         // [words] which of them a word is; NULL: they are not wanted
    int32_t *at, *letters; // [count+1]; of spelling i the numbers at[i] .. at[i+1]-1
    int32_t *local;        // [count] scratch: which one of a batch it is, -1 at rest
    size_t count;
} reading_spellings;

/* One file as ids. */
typedef struct reading_split {
    cla_reading text;
    int32_t *id;     // [words] number of the vocabulary
    int32_t *form;   // [words] which word of this file it is, in lower case
    int32_t *root;   // [words] the same for its first letters
    int32_t *look;   // [words] shape and rank, a trait of a word that nothing shares
    uint8_t *shared; // [forms + roots] scratch: what the other text has
    size_t forms;
    reading_spellings spellings;
} reading_split;

typedef struct reading {
    cla_task task; // first: a reading is a cla_task
    const char *data, *train_stem, *dev_stem, *test_stem;
    const char *vectors; // path; "": words begin at random
    int min_count, limit, batch;
    int passage_limit, question_limit, answer_limit, char_limit;
    int ask_limit; // words of a passage that reading_ask takes; 0: any number
    bool lower;
    reader_config config;
    reader model;
    cla_vocab words, chars;
    reading_split train;
    int64_t first_question, first_passage; // rows before the part that comes next
} reading;

/* In a run's folder where the network has characters of words. */
extern const char reading_chars_file[];

/* data.c: words counted in the training text, and characters where the network
 * has them, and kept in dir (NULL: nowhere).
 * Errors: CLA_E_INPUT (resumed: dir holds others), CLA_E_IO, CLA_E_NOMEM. */
cla_status reading_open_training(reading *t, const char *dir, cla_task_mode mode);
cla_status reading_load_words(reading *t, const char *dir);

/* files.c: the questions of data/split.jsonl (the layout of DuReader) or
 * split.json (SQuAD's), or of data itself where it is a file: of the run's own one what
 * belongs to split, else all. Errors: those of cla_squad_read, cla_dureader_read. */
cla_status reading_read_split(const reading *t, const char *data, const char *split,
                              cla_reading *text);

/* All questions of a file, to be answered. Errors: the same. */
cla_status reading_read_file(const reading *t, const char *path, cla_reading *text);

/* Takes over the text. Errors: CLA_E_NOMEM. */
cla_status reading_split_build(const reading *t, reading_split *s, cla_reading *text);
void reading_split_free(reading_split *s);

/* Words of a question's passages. */
int64_t reading_length(const reading_split *s, int64_t question);

/* batch.c: some questions on the device, longest passages first. */
typedef struct reading_batch {
    reader_batch ids;
    int64_t n;
    int64_t *question;                        // [n] of the split, in the batch's order
    int32_t *block;                           // of ids
    int32_t *letters;                         // of ids.chars
    cla_ragged *question_rows, *passage_rows; // the caller's to free or give to a tape
    cla_ragged *asked_rows, *letter_rows; // likewise; NULL without several, characters
} reading_batch;

/* Errors: CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status reading_batch_make(const reading *t, const reading_split *s,
                              const int64_t *questions, int64_t n,
                              reading_batch *batch);
void reading_batch_free(reading_batch *batch);

/* chars.c: characters of the words of a text as a vocabulary.
 * Errors: CLA_E_NOMEM. */
cla_status reading_count_chars(reading *t, const cla_reading *text);

/* Spellings of a split's words, at most the run's number of characters of each.
 * Errors: CLA_E_NOMEM. */
cla_status reading_spell(const reading *t, reading_split *s);
void reading_spellings_free(reading_spellings *s);

/* Of n words that are numbers of spellings: words [n] become numbers of the batch's own
 * distinct words, whose characters the batch then has. Errors: CLA_E_NOMEM,
 * CLA_E_DEVICE. */
cla_status reading_batch_spell(const reading *t, const reading_spellings *s,
                               int32_t *words, int64_t n, reading_batch *batch);

/* Puts questions into falling order of the length of their passages; stable. */
cla_status reading_sort(const reading_split *s, int64_t *questions, int64_t n);

/* predict.c: the best answers to each question of a split, of at most the
 * run's number of words: out [questions,best], found [questions].
 * Errors: CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status reading_answers(reading *t, const reading_split *s, size_t best,
                           cla_answer *out, size_t *found);

/* score.c: "f1", "em", "span"; "f1_char", "bleu4" and "rouge_l" over characters
 * where the questions are written in ideographs or answers in free words. */
cla_status reading_evaluate(cla_task *task, const char *data, const char *split,
                            cla_metrics *metrics);

/* The most answers to a question that may be asked for. */
enum { READING_MOST = 1000 };

/* An answer where it stands in its passage. */
typedef struct reading_answer {
    size_t passage; // of those given
    cla_span place;
    double score; // logarithm of both words' probabilities, natural
} reading_answer;

/* ask.c: the best answers to n questions about m passages, each anywhere in one
 * of them; none without words in passage and question.
 *
 * out    out  [n,best]
 * found  out  [n] how many there are
 *
 * Errors: CLA_E_INPUT (text that is not UTF-8: which, and the byte; a passage of more
 * than ask_limit words; several passages for a network that reads one), CLA_E_NOMEM,
 * CLA_E_DEVICE. */
cla_status reading_ask(reading *t, const char *const *passages, size_t m,
                       const char *const *questions, size_t n, size_t best,
                       reading_answer *out, size_t *found);

/* The same for questions that each have a passage of their own, and are worked on
 * together: question i is about passages[i] alone. Questions that follow each other and
 * have the same passage, as a pointer, share it; the answers' passage is the first of
 * them.
 *
 * passages  in  [n]
 *
 * Errors: as reading_ask. */
cla_status reading_ask_each(reading *t, const char *const *passages,
                            const char *const *questions, size_t n, size_t best,
                            reading_answer *out, size_t *found);

/* Those passages and questions that have words, and which ones they are; no question
 * where no passage has any. Free it in any case. Errors: as reading_ask. */
typedef struct reading_asked {
    cla_reading text;
    size_t *passage, *question; // [passage_count], [question_count]
} reading_asked;
cla_status reading_put(reading_asked *a, const reading *t, const char *const *passages,
                       size_t m, const char *const *questions, size_t n);
void reading_asked_free(reading_asked *a);

/* look.c: what the passage's words look at for one question, level by level:
 * the network's sites, with words on both axes. Free seen in any case.
 * Errors: as reading_ask; CLA_E_USAGE (a network without levels), CLA_E_INPUT (no word
 * in passage or question), CLA_E_NUMERIC. */
cla_status reading_look(reading *t, const char *passage, const char *question,
                        look_log *seen);

extern const cla_task_kind reading_kind;
