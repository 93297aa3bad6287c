/* reader.h - a fixture: a small reader and a batch of three questions with their
 * passages. */
#pragma once

#include "models/reader.h"
#include "support/support.h"
#include "tensor/tensor.h"

enum { SCENE_WORDS = 30, SCENE_B = 3, SCENE_QUESTIONS = 9, SCENE_PASSAGES = 21 };
enum { SCENE_HIDDEN = 4 };

/* Lengths in words of each question and of its passage. */
extern const int scene_questions[SCENE_B], scene_passages[SCENE_B];

typedef struct scene {
    cla_runtime *rt;
    cla_params params;
    reader r;
    cla_ragged *question_rows, *passage_rows;
    cla_tape *tape;
    int32_t question[SCENE_QUESTIONS], passage[SCENE_PASSAGES];
    reader_batch batch;
} scene;

/* Opens the network of that name with short word vectors, config.hidden hidden units
 * (0: SCENE_HIDDEN) and the other settings of config. */
void scene_open(scene *f, const char *network, reader_config config);
void scene_close(scene *f);

/* Returns the parameter of that name. */
cla_tensor *scene_param(const scene *f, const char *name);

/* Makes a random tensor [n,columns] on the tape and copies it to host. */
cla_tensor *scene_rows(scene *f, float *host, int64_t n, int64_t columns,
                       uint32_t what);

/* Computes the loss of the batch and runs the backward pass. Returns the loss. */
float scene_loss(scene *f);

/* Computes the scores of the batch's words as first (at[0]) and last word (at[1]) of
 * the answer. */
void scene_scores(scene *f, float at[2][SCENE_PASSAGES]);

/* Computes the log probabilities of a batch's words in the same way. */
void scene_logs(scene *f, const reader_batch *batch, float at[2][SCENE_PASSAGES]);

/* Checks that a question alone has the same log probabilities as in the batch. */
void scene_company(scene *f);

/* Checks that all gradients of f equal those of the same names in g, bit for bit, and
 * that none is zero. Returns their number. */
int scene_same_gradients(scene *f, scene *g);

/* Computes the sum of a parameter's gradient and its largest absolute value. */
void scene_gradient(scene *f, const char *name, float *sum, float *most);

/* Checks the gradient of the batch's loss by each parameter against central
 * differences. */
void scene_check_gradient(scene *f);

/* Returns the parameter whose gradient this check finds wrong when that of spoilt loses
 * its first half, or NULL. */
const char *scene_wrong_gradient(scene *f, const char *spoilt);
