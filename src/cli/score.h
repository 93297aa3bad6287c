/* score.h - shared arguments and files of the verbs of `clattn score'. */
#pragma once

#include "cli/cli.h"
#include "metrics/bleu.h"

enum { SCORE_MAX_REFS = 16 };

typedef struct score_arguments {
    const char *verb;
    const char *refs[SCORE_MAX_REFS];
    int ref_count;
    const char *hyp, *baseline; // hyp: "-" by default
    cla_bleu_options bleu;
    bool sentence, multi_bleu, json;
    int64_t samples, seed;
} score_arguments;

/* Parallel lines of a hypothesis and its references. */
typedef struct score_corpus {
    cla_lines hyp;
    cla_lines refs[SCORE_MAX_REFS];
    int ref_count;
} score_corpus;

/* Reads hyp and the references of a. Errors: those of cla_lines_read and
 * cla_lines_pair; CLA_E_INPUT when there is no line. */
cla_status score_corpus_read(score_corpus *c, const score_arguments *a,
                             const char *hyp);
void score_corpus_free(score_corpus *c);

/* Run the verbs with checked arguments. */
cla_status score_bleu(const score_arguments *given);
cla_status score_chrf(const score_arguments *a);
cla_status score_bootstrap(const score_arguments *a);
cla_status score_ngram(const score_arguments *given);
cla_status score_squad(const score_arguments *a);
cla_status score_rougel(const score_arguments *a);
cla_status score_charbleu(const score_arguments *a);

/* The verb that scores by a model, with options of its own. */
extern const cli_usage score_lm_usage;
int score_lm(int argc, char **argv);
