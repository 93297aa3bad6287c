/* reading.h - the reading task: passages, questions and answers as ids, and the readers
 * trained on them. */
#pragma once

#include "models/reader.h"
#include "models/span.h"
#include "text/squad.h"
#include "train/task.h"

/* The distinct words of a file, in their original case, as ids of characters. */
typedef struct reading_spellings {
    int32_t *word;         // [words] spelling of each word; NULL: no characters
    int32_t *at, *letters; // [count+1]; spelling i is letters[at[i] .. at[i+1])
    int32_t *local;        // [count] scratch: its number in a batch, -1 at rest
    size_t count;
} reading_spellings;

/* One file as ids. */
typedef struct reading_split {
    cla_reading text;
    int32_t *id;     // [words] id of the vocabulary
    int32_t *form;   // [words] number of its lower-case form in this file
    int32_t *root;   // [words] the same for the form's first bytes
    int32_t *look;   // [words] shape and rank, the trait of a word that is not shared
    uint8_t *shared; // [forms + roots] scratch: marks of those in the other text
    size_t forms;
    reading_spellings spellings;
} reading_split;

typedef struct reading {
    cla_task task; // first: a reading is a cla_task
    const char *data, *train_stem, *dev_stem, *test_stem;
    const char *vectors; // path; "": random initial word vectors
    int min_count, limit, batch;
    int passage_limit, question_limit, answer_limit, char_limit;
    bool lower;
    reader_config config;
    reader model;
    cla_vocab words, chars;
    reading_split train;
    int64_t first_question, first_passage; // rows of the batch before its next part
} reading;

/* The file of the run folder with the characters, if the network uses them. */
extern const char cla_reading_chars_file[];

/* data.c: reads the training text, counts its words, and its characters if the network
 * uses them, and writes the vocabularies to dir (NULL: nowhere). cla_reading_load_words
 * reads them from dir.
 * Errors: CLA_E_INPUT (resumed: dir holds others), CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_reading_open_training(reading *t, const char *dir, cla_task_mode mode);
cla_status cla_reading_load_words(reading *t, const char *dir);

/* files.c: reads the questions of split from data/split.json (SQuAD's layout), else
 * data/split.jsonl (DuReader's); data NULL is the run's own. When data is a file, reads
 * all its questions; of the run's own file, those that belong to split. Errors: those
 * of cla_squad_read, cla_dureader_read. */
cla_status cla_reading_read_split(const reading *t, const char *data, const char *split,
                                  cla_reading *text);

/* Fails if the file of a split in the run's own data cannot be opened: CLA_E_IO, naming
 * it. Reads nothing. Errors: CLA_E_NOMEM, too. */
cla_status cla_reading_check_split(const reading *t, const char *split);

/* Reads all questions of a file for prediction. Errors: those of
 * cla_reading_read_split. */
cla_status cla_reading_read_file(const reading *t, const char *path, cla_reading *text);

/* Builds the ids of text, which s then owns (NULL: of s->text). Errors: CLA_E_NOMEM. */
cla_status cla_reading_split_build(const reading *t, reading_split *s,
                                   cla_reading *text);
void cla_reading_split_free(reading_split *s);

/* Returns the number of words in a question's passages. */
int64_t cla_reading_length(const reading_split *s, int64_t question);

/* batch.c: a batch of questions on the device, longest passages first. */
typedef struct reading_batch {
    reader_batch ids;
    int64_t n;
    int64_t *question; // [n] numbers in the split, in the batch's order
    int32_t *block;    // memory of ids
    int32_t *letters;  // memory of ids.chars
    /* The caller frees the rows or gives them to a tape. asked_rows is NULL when every
     * question has one passage, letter_rows when the network has no characters. */
    cla_ragged *question_rows, *passage_rows;
    cla_ragged *asked_rows, *letter_rows;
} reading_batch;

/* Makes a batch of n questions. Errors: CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_reading_batch_make(const reading *t, const reading_split *s,
                                  const int64_t *questions, int64_t n,
                                  reading_batch *batch);
void cla_reading_batch_free(reading_batch *batch);

/* chars.c: fills the vocabulary of characters from the words of text.
 * Errors: CLA_E_NOMEM. */
cla_status cla_reading_count_chars(reading *t, const cla_reading *text);

/* Makes the spellings of a split's words, of at most char_limit characters each.
 * Errors: CLA_E_NOMEM. */
cla_status cla_reading_spell(const reading *t, reading_split *s);
void cla_reading_spellings_free(reading_spellings *s);

/* Replaces words [n], numbers of spellings, by numbers of the batch's distinct words,
 * and gives the batch their characters. Errors: CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_reading_batch_spell(const reading *t, const reading_spellings *s,
                                   int32_t *words, int64_t n, reading_batch *batch);

/* Sorts questions by falling length of their passages; stable. */
cla_status cla_reading_sort(const reading_split *s, int64_t *questions, int64_t n);

/* predict.c: finds the best answers to each question of a split, of at most
 * answer_limit words: out [questions,best], and their numbers: found [questions].
 * Errors: CLA_E_NUMERIC (a question with words has a score of NaN), CLA_E_NOMEM,
 * CLA_E_DEVICE. */
cla_status cla_reading_answers(reading *t, const reading_split *s, size_t best,
                               cla_answer *out, size_t *found);

/* score.c: computes "f1", "em" and "span". Free-form answers add "bleu4", "rouge_l" and
 * "bleu1" in front. When most questions have ideographs, or free-form answers have no
 * blanks, adds "f1_char", "bleu4" and "rouge_l", the last two over characters. */
cla_status cla_reading_evaluate(cla_task *task, const char *data, const char *split,
                                cla_metrics *metrics);

/* ask.c: finds the best answers to n questions about passages of their own, in common
 * batches. A passage or question without words has no answer.
 *
 * options  in   all fields set
 * out      out  [n,best]
 * found    out  [n] number of answers
 *
 * Errors: those of cla_model_ask. */
cla_status cla_reading_ask(reading *t, const cla_question *questions, size_t n,
                           const cla_answer_options *options, cla_passage_quote *out,
                           size_t *found);

/* The passages and questions that have words, and their indices; no questions when no
 * passage has words. Free it in any case. Errors: those of cla_reading_ask. */
typedef struct reading_asked {
    cla_reading text;
    size_t *passage;  // [passage_count] index in its question's list
    size_t *question; // [question_count]
    size_t room;      // of passage
} reading_asked;
cla_status cla_reading_put(reading_asked *a, const reading *t,
                           const cla_question *questions, size_t n, int max_words);
void cla_reading_asked_free(reading_asked *a);

/* look.c: records the network's attention in levels for a passage and a question, with
 * words on both axes. Free seen in any case. Errors: those of cla_reading_ask;
 * CLA_E_USAGE (a network without levels), CLA_E_INPUT (no word in passage or question),
 * CLA_E_NUMERIC. */
cla_status cla_reading_look(reading *t, const char *passage, const char *question,
                            look_log *seen);

extern const cla_task_kind cla_reading_kind;
