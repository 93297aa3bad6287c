/* cmd_score.c - clattn score: the words of its verbs. */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "cli/score.h"

enum { KEY_VALUE = 256, KEY_MULTI, KEY_SEED, MAX_SAMPLES = 1000000 };

/* ---- one option -------------------------------------------------------------- */

static error_t refuse(const char *option, const char *value, const char *must)
{
    cla_fail(CLA_E_USAGE, "--%s is '%s', must be %s", option, value, must);
    return EINVAL;
}

static error_t take_ref(score_arguments *a, const char *path)
{
    if (a->ref_count == SCORE_MAX_REFS) {
        return refuse("ref", path, "given at most 16 times");
    }
    a->refs[a->ref_count++] = path;
    return 0;
}

static error_t take_tokens(score_arguments *a, const char *value)
{
    for (int i = 0; i < CLA_TOKEN_KINDS; i++) {
        if (strcmp(value, cla_token_kind_name((cla_token_kind)i)) == 0) {
            a->bleu.tokens = (cla_token_kind)i;
            return 0;
        }
    }
    return refuse("tokenize", value, "none, 13a, intl or char");
}

static error_t take_smooth(score_arguments *a, const char *value)
{
    for (int i = 0; i < CLA_SMOOTHS; i++) {
        if (strcmp(value, cla_smooth_name((cla_smooth)i)) == 0) {
            a->bleu.smooth = (cla_smooth)i;
            return 0;
        }
    }
    return refuse("smooth", value, "exp, floor, add-k or none");
}

static error_t take_value(score_arguments *a, const char *value)
{
    if (cla_parse_double(value, &a->bleu.value) && a->bleu.value >= 0) {
        return 0;
    }
    return refuse("smooth-value", value, "a number of at least 0");
}

/* ---- all of them ------------------------------------------------------------- */

static error_t check(const score_arguments *a, bool paired)
{
    const char *lacks =
        !a->ref_count            ? "--ref FILE"
        : paired && !a->baseline ? "--baseline FILE"
        : paired && strcmp(a->hyp, a->baseline) == 0 && strcmp(a->hyp, "-") == 0
            ? "two files to compare"
            : NULL;
    if (!lacks) {
        return 0;
    }
    cla_fail(CLA_E_USAGE, "score %s needs %s (see clattn score %s --help)", a->verb,
             lacks, a->verb);
    return EINVAL;
}

/* The options of BLEU and how it is reported. */
static error_t parse_bleu(int key, char *value, score_arguments *a)
{
    switch (key) {
    case 't':
        return take_tokens(a, value);
    case 's':
        return take_smooth(a, value);
    case KEY_VALUE:
        return take_value(a, value);
    case 'o':
        return cli_take_int("order", value, 1, CLA_MAX_ORDER, &a->bleu.order);
    case 'l':
        a->bleu.lowercase = true;
        return 0;
    case KEY_MULTI:
        a->multi_bleu = true;
        return 0;
    case 'e':
        a->sentence = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// NOLINTNEXTLINE(readability-non-const-parameter): the type is argp's
static error_t parse(int key, char *value, struct argp_state *state)
{
    score_arguments *a = state->input;
    switch (key) {
    case 'r':
        return take_ref(a, value);
    case 'h':
        a->hyp = value;
        return 0;
    case 'b':
        a->baseline = value;
        return 0;
    case 'n':
        return cli_take_number("samples", value, 1, MAX_SAMPLES, &a->samples);
    case KEY_SEED:
        return cli_take_number("seed", value, 0, UINT32_MAX, &a->seed);
    case 'j':
        a->json = true;
        return 0;
    case ARGP_KEY_END:
        return check(a, a->verb[0] == 'n' || strcmp(a->verb, "bootstrap") == 0);
    default:
        return parse_bleu(key, value, a);
    }
}

#define REF_HYP                                                                    \
    { "ref", 'r', "FILE", 0, "reference, line for line; several for several", 0 }, \
        { "hyp", 'h', "FILE", 0, "what is scored (default: standard input)", 0 },  \
    {                                                                              \
        "json", 'j', NULL, 0, "one JSON object a line", 0                          \
    }
#define TOKENS                                                    \
    { "tokenize", 't', "KIND", 0, "none, 13a, intl or char", 0 }, \
    {                                                             \
        "lowercase", 'l', NULL, 0, "compare in lower case", 0     \
    }
#define SMOOTH                                                                   \
    { "smooth", 's', "METHOD", 0, "exp (default), floor, add-k or none", 0 },    \
        { "smooth-value", KEY_VALUE, "X", 0, "of floor (0.1) or add-k (1)", 0 }, \
    {                                                                            \
        "order", 'o', "N", 0, "longest n-grams, 1 to 8 (4)", 0                   \
    }

static const struct argp_option bleu_options[] = {
    REF_HYP,
    TOKENS,
    SMOOTH,
    { "sentence", 'e', NULL, 0, "a score for each line", 0 },
    { "multi-bleu", KEY_MULTI, NULL, 0,
      "as Moses' multi-bleu.perl: tokens parted by blanks, no smoothing", 0 },
    { 0 },
};

static const struct argp_option bootstrap_options[] = {
    REF_HYP,
    TOKENS,
    SMOOTH,
    { "baseline", 'b', "FILE", 0, "what it is held against", 0 },
    { "samples", 'n', "N", 0, "resamples (1000)", 0 },
    { "seed", KEY_SEED, "N", 0, "of the draws (12345)", 0 },
    { 0 },
};

static const struct argp_option ngram_options[] = {
    REF_HYP,
    TOKENS,
    { "baseline", 'b', "FILE", 0, "what it is held against", 0 },
    { 0 },
};

static const struct argp_option squad_options[] = {
    { "ref", 'r', "FILE", 0, "data set, SQuAD 1.1 JSON", 0 },
    { "hyp", 'h', "FILE", 0, "JSON object of question ids and answers", 0 },
    { "json", 'j', NULL, 0, "one JSON object a line", 0 },
    { 0 },
};

static const struct argp_option overlap_options[] = {
    REF_HYP,
    TOKENS,
    { "sentence", 'e', NULL, 0, "a score for each line", 0 },
    { 0 },
};

/* ---- verbs ------------------------------------------------------------------- */

static int run(const struct argp *argp, const char *verb, cla_token_kind tokens,
               cla_status (*act)(const score_arguments *a), int argc, char **argv)
{
    score_arguments a = { .verb = verb, .hyp = "-", .samples = 1000, .seed = 12345 };
    a.bleu = cla_bleu_defaults();
    a.bleu.tokens = tokens;
    a.bleu.value = -1; // not given
    cla_status status = cli_parse(argp, argc, argv, &a);
    if (a.bleu.value < 0) {
        a.bleu.value = cla_smooth_default(a.bleu.smooth);
    }
    status = status ? status : act(&a);
    return status ? cli_fail(status) : CLI_OK;
}

static int run_bleu(int argc, char **argv)
{
    static const struct argp argp = {
        .options = bleu_options,
        .parser = parse,
        .doc = "BLEU of a corpus as sacreBLEU computes it, with its signature.\v"
               "  clattn translate --model runs/m < test.en | clattn score bleu --ref "
               "test.de",
    };
    return run(&argp, "bleu", CLA_TOKENS_13A, score_bleu, argc, argv);
}

static int run_bootstrap(int argc, char **argv)
{
    static const struct argp argp = {
        .options = bootstrap_options,
        .parser = parse,
        .doc = "Paired bootstrap resampling (Koehn 2004): p is the share of resamples "
               "in which the baseline's BLEU is at least as high.",
    };
    return run(&argp, "bootstrap", CLA_TOKENS_13A, score_bootstrap, argc, argv);
}

static int run_ngram(int argc, char **argv)
{
    static const struct argp argp = {
        .options = ngram_options,
        .parser = parse,
        .doc = "For n = 1 to 8: brevity penalty times the precision of n-grams, for "
               "the hypothesis, the baseline, and the gap; then BLEU up to order n.",
    };
    return run(&argp, "ngram", CLA_TOKENS_13A, score_ngram, argc, argv);
}

static int run_squad(int argc, char **argv)
{
    static const struct argp argp = {
        .options = squad_options,
        .parser = parse,
        .doc = "Exact match and F1 of answers as SQuAD 1.1 computes them.",
    };
    return run(&argp, "squad", CLA_TOKENS_NONE, score_squad, argc, argv);
}

static int run_rougel(int argc, char **argv)
{
    static const struct argp argp = {
        .options = overlap_options,
        .parser = parse,
        .doc = "ROUGE-L with beta 1.2, the mean over lines, as for DuReader "
               "(--tokenize char) and MS MARCO. A reference line may hold several, "
               "parted by tabs.",
    };
    return run(&argp, "rougel", CLA_TOKENS_NONE, score_rougel, argc, argv);
}

static int run_charbleu(int argc, char **argv)
{
    static const struct argp argp = {
        .options = overlap_options,
        .parser = parse,
        .doc = "BLEU-1 to BLEU-4 of characters (or --tokenize none: words) as for "
               "DuReader, MS MARCO and poems. A reference line may hold several, "
               "parted by tabs.",
    };
    return run(&argp, "charbleu", CLA_TOKENS_CHAR, score_charbleu, argc, argv);
}

int cli_score(int argc, char **argv)
{
    static const cli_command verbs[] = {
        { "bleu", "BLEU as sacreBLEU or multi-bleu", run_bleu },
        { "bootstrap", "is one system better than another?", run_bootstrap },
        { "ngram", "two systems by the length of n-grams", run_ngram },
        { "squad", "exact match and F1 of answers", run_squad },
        { "rougel", "ROUGE-L of answers", run_rougel },
        { "charbleu", "BLEU of characters", run_charbleu },
        { 0 },
    };
    return cli_run_verb(verbs, "Scores against references. No device is used.", argc,
                        argv);
}
