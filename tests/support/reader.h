/* reader.h - a small reader between three questions and their passages. */
#pragma once

#include "models/reader.h"
#include "support/support.h"
#include "tensor/tensor.h"

enum { SCENE_WORDS = 30, SCENE_B = 3, SCENE_QUESTIONS = 9, SCENE_PASSAGES = 21 };

/* Words of each question and of its passage. */
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

/* The network of a name, words and states of few numbers; what else config says. */
void scene_open(scene *f, const char *network, reader_config config);
void scene_close(scene *f);

/* The loss, and the way back. */
float scene_loss(scene *f);

/* What the batch's words score as first and as last. */
void scene_scores(scene *f, float at[2][SCENE_PASSAGES]);

/* All gradients of f against those of the same names of g, bit for bit; none of them is
 * zero. Gives how many there are. */
int scene_same_gradients(scene *f, scene *g);

/* The sum of a parameter's gradient, and its largest number. */
void scene_gradient(scene *f, const char *name, float *sum, float *most);
