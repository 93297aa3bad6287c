/* score_reading.c - clattn score squad, rougel, charbleu. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/score.h"
#include "metrics/reading.h"

/* ---- squad ------------------------------------------------------------------- */

/* Adds the scores of a part of SQuAD 2.0 under the names of evaluate-v2.0. */
static int add_share(json_t *object, const char *name, const cla_squad_share *s)
{
    char key[32];
    snprintf(key, sizeof key, "%s_exact", name);
    int failed =
        s->questions ? json_object_set_new(object, key, json_real(s->exact)) : 0;
    snprintf(key, sizeof key, "%s_f1", name);
    failed |= s->questions ? json_object_set_new(object, key, json_real(s->f1)) : 0;
    snprintf(key, sizeof key, "%s_total", name);
    return failed | json_object_set_new(object, key, json_integer(s->questions));
}

static cla_status print_squad_json(const cla_squad_scores *s)
{
    json_t *object = json_pack(
        "{ss sf sf sI sI ss}", "metric", "SQuAD", "em", s->all.exact, "f1", s->all.f1,
        "questions", (json_int_t)s->all.questions, "unanswered",
        (json_int_t)s->unanswered, "norm", s->version_2 ? "squad2" : "squad1");
    if (object && s->version_2 &&
        (add_share(object, "HasAns", &s->has_answer) |
         add_share(object, "NoAns", &s->no_answer))) {
        json_decref(object);
        object = NULL;
    }
    return cli_print_json(object);
}

static cla_status print_squad(const score_arguments *a, const cla_squad_scores *s)
{
    const char *const norm = s->version_2 ? "squad2" : "squad1";
    const struct {
        const char *name;
        const cla_squad_share *share;
    } parts[] = { { "HasAns", &s->has_answer }, { "NoAns", &s->no_answer } };
    if (a->json) {
        return print_squad_json(s);
    }
    printf("EM|norm:%s|n:%lld|version:clattn-%s = %.2f\n", norm,
           (long long)s->all.questions, cla_version(), s->all.exact);
    printf("F1|norm:%s|n:%lld|version:clattn-%s = %.2f (%lld unanswered)\n", norm,
           (long long)s->all.questions, cla_version(), s->all.f1,
           (long long)s->unanswered);
    for (int i = 0; s->version_2 && i < 2; i++) {
        if (parts[i].share->questions) {
            printf("%s|norm:%s|n:%lld|version:clattn-%s = EM %.2f F1 %.2f\n",
                   parts[i].name, norm, (long long)parts[i].share->questions,
                   cla_version(), parts[i].share->exact, parts[i].share->f1);
        }
    }
    return CLA_OK;
}

cla_status score_squad(const score_arguments *a)
{
    json_t *data = NULL, *answers = NULL;
    cla_squad *squad = NULL;
    cla_squad_scores scores = { 0 };
    cla_status status = cla_json_file(&data, a->refs[0], CLA_SOURCE_STDIN, 0);
    status = status ? status : cla_json_file(&answers, a->hyp, CLA_SOURCE_STDIN, 0);
    status = status ? status : cla_squad_new(&squad);
    status = status
                 ? status
                 : cla_squad_score(squad, data, a->refs[0], answers, a->hyp, &scores);
    status = status ? status : print_squad(a, &scores);
    cla_squad_free(&squad);
    json_decref(data);
    json_decref(answers);
    return status;
}

/* ---- references separated by tabs ----------------------------------------------- */

/* The references of a line. */
typedef struct references {
    cla_line *line;
    size_t count, cap;
} references;

static cla_status gather(const score_corpus *c, size_t i, references *r)
{
    r->count = 0;
    for (int k = 0; k < c->ref_count; k++) {
        const cla_line *line = &c->refs[k].line[i];
        for (const char *at = line->text; at;) {
            const char *tab = memchr(at, '\t', (size_t)(line->text + line->size - at));
            const char *end = tab ? tab : line->text + line->size;
            CLA_TRY(cla_grow(&r->line, &r->cap, r->count + 1, sizeof *r->line));
            r->line[r->count++] = (cla_line){ at, (size_t)(end - at) };
            at = tab ? tab + 1 : NULL;
        }
    }
    return CLA_OK;
}

/* ---- rougel ------------------------------------------------------------------ */

static cla_status print_line_score(const score_arguments *a, size_t i, double score)
{
    if (a->json) {
        return cli_print_json(
            json_pack("{sI sf}", "line", (json_int_t)i + 1, "score", score));
    }
    printf("%.4f\n", score);
    return CLA_OK;
}

static cla_status rouge_lines(const score_arguments *a, const score_corpus *c,
                              cla_tokenizer *t)
{
    references refs = { 0 };
    double sum = 0;
    cla_status status = CLA_OK;
    for (size_t i = 0; i < c->hyp.count && !status; i++) {
        double score = 0;
        status = gather(c, i, &refs);
        status = status ? status
                        : cla_rouge_l_line(t, &c->hyp.line[i], refs.line, refs.count,
                                           &score);
        status =
            status || !a->sentence ? status : print_line_score(a, i, 100.0 * score);
        sum += score;
    }
    free(refs.line);
    const double mean = 100.0 * sum / (double)c->hyp.count;
    if (status || a->sentence) {
        return status;
    }
    if (a->json) {
        return cli_print_json(json_pack("{ss sf ss}", "metric", "ROUGE-L", "score",
                                        mean, "tokenize",
                                        cla_token_kind_name(a->bleu.tokens)));
    }
    printf("ROUGE-L|case:%s|tok:%s|beta:1.2|n:%zu|version:clattn-%s = %.2f\n",
           a->bleu.lowercase ? "lc" : "mixed", cla_token_kind_name(a->bleu.tokens),
           c->hyp.count, cla_version(), mean);
    return CLA_OK;
}

cla_status score_rougel(const score_arguments *a)
{
    score_corpus c;
    cla_tokenizer *t = NULL;
    CLA_TRY(score_corpus_read(&c, a, a->hyp));
    const cla_token_kind kind =
        a->bleu.tokens == CLA_TOKENS_NONE ? CLA_TOKENS_SPACES : a->bleu.tokens;
    cla_status status = cla_tokenizer_new(&t, kind, a->bleu.lowercase);
    status = status ? status : rouge_lines(a, &c, t);
    cla_tokenizer_free(&t);
    score_corpus_free(&c);
    return status;
}

/* ---- charbleu ---------------------------------------------------------------- */

enum { CAPTION_ORDERS = 4 };

static cla_status print_charbleu(const score_arguments *a, const cla_bleu_counts *sum)
{
    char name[] = "BLEU-0";
    for (int n = 1; n <= CAPTION_ORDERS; n++) {
        const double score = 100.0 * cla_bleu_captions(sum, n);
        name[5] = (char)('0' + n);
        if (a->json) {
            CLA_TRY(cli_print_json(json_pack("{ss sf ss}", "metric", name, "score",
                                             score, "tokenize",
                                             cla_token_kind_name(a->bleu.tokens))));
        } else {
            printf("%s|case:%s|tok:%s|smooth:captions|version:clattn-%s = %.2f\n", name,
                   a->bleu.lowercase ? "lc" : "mixed",
                   cla_token_kind_name(a->bleu.tokens), cla_version(), score);
        }
    }
    return CLA_OK;
}

static cla_status charbleu_lines(const score_arguments *a, const score_corpus *c,
                                 cla_bleu *bleu)
{
    references refs = { 0 };
    cla_bleu_counts sum = { 0 }, one = { 0 };
    cla_status status = CLA_OK;
    for (size_t i = 0; i < c->hyp.count && !status; i++) {
        status = gather(c, i, &refs);
        status =
            status ? status
                   : cla_bleu_count(bleu, &c->hyp.line[i], refs.line, refs.count, &one);
        status = status || !a->sentence
                     ? status
                     : print_line_score(
                           a, i, 100.0 * cla_bleu_captions(&one, CAPTION_ORDERS));
        cla_bleu_add(&sum, &one);
    }
    free(refs.line);
    return status || a->sentence ? status : print_charbleu(a, &sum);
}

cla_status score_charbleu(const score_arguments *a)
{
    score_corpus c;
    cla_bleu *bleu = NULL;
    CLA_TRY(score_corpus_read(&c, a, a->hyp));
    cla_status status = cla_bleu_new(&bleu, &a->bleu);
    status = status ? status : charbleu_lines(a, &c, bleu);
    cla_bleu_free(&bleu);
    score_corpus_free(&c);
    return status;
}
