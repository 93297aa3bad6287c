/* reader.h - a small reader between three questions and their passages. */
#pragma once

#include "models/reader.h"
#include "support/support.h"
#include "tensor/tensor.h"

enum { SCENE_WORDS = 30, SCENE_B = 3, SCENE_QUESTIONS = 9, SCENE_PASSAGES = 21 };
enum { SCENE_HIDDEN = 4 };

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

/* The network of a name, words of few numbers, states of SCENE_HIDDEN where config says
 * nothing of them; what else config says. */
void scene_open(scene *f, const char *network, reader_config config);
void scene_close(scene *f);

cla_tensor *scene_param(const scene *f, const char *name);

/* Random rows of the step: [n,columns], host too. */
cla_tensor *scene_rows(scene *f, float *host, int64_t n, int64_t columns,
                       uint32_t what);

/* The loss, and the way back. */
float scene_loss(scene *f);

/* What the batch's words score as first and as last. */
void scene_scores(scene *f, float at[2][SCENE_PASSAGES]);

/* Logarithms of the probabilities of a batch's words. */
void scene_logs(scene *f, const reader_batch *batch, float at[2][SCENE_PASSAGES]);

/* Each question alone has the answers that it has among others. */
void scene_company(scene *f);

/* All gradients of f against those of the same names of g, bit for bit; none of them is
 * zero. Gives how many there are. */
int scene_same_gradients(scene *f, scene *g);

/* The sum of a parameter's gradient, and its largest number. */
void scene_gradient(scene *f, const char *name, float *sum, float *most);

/* The gradient of the batch's loss by each parameter, against central differences. */
void scene_check_gradient(scene *f);

/* The parameter whose gradient that check finds wrong, when it counts that of spoilt as
 * a tenth more; NULL: none. */
const char *scene_wrong_gradient(scene *f, const char *spoilt);
