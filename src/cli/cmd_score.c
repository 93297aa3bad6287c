/* cmd_score.c - clattn score: the options of its verbs. */
#include <string.h>

#include "base/text.h"
#include "cli/score.h"

enum { MAX_SAMPLES = 1000000 };

/* The arguments, and which of their options were given. */
typedef struct given {
    score_arguments a;
    bool tokens, smooth;
} given;

/* ---- values other than plain texts and numbers -------------------------------- */

static cla_status refuse(const char *option, const char *value, const char *must)
{
    return cla_fail(CLA_E_USAGE, "--%s is '%s', must be %s", option, value, must);
}

static cla_status take_ref(void *arguments, const char *path)
{
    score_arguments *a = arguments;
    if (a->ref_count == SCORE_MAX_REFS) {
        return refuse("ref", path, "given at most 16 times");
    }
    a->refs[a->ref_count++] = path;
    return CLA_OK;
}

/* Refuses the tokenizers of sacreBLEU that are not there with the reason. */
static cla_status refuse_tokens(const char *value)
{
    static const char *const lacking[][2] = {
        { "ja-mecab", "MeCab and its dictionary" },
        { "ko-mecab", "MeCab and its dictionary" },
        { "spm", "a SentencePiece model that is downloaded" },
        { "flores101", "a SentencePiece model that is downloaded" },
        { "flores200", "a SentencePiece model that is downloaded" },
        { "spBLEU-1K", "a SentencePiece model that is downloaded" },
    };
    for (size_t i = 0; i < sizeof lacking / sizeof *lacking; i++) {
        if (strcmp(value, lacking[i][0]) == 0) {
            return cla_fail(
                CLA_E_USAGE,
                "--tokenize %s needs %s, which clattn does not have: cut the "
                "text with sacreBLEU and use --tokenize none",
                value, lacking[i][1]);
        }
    }
    return refuse("tokenize", value, "none, 13a, intl, char or zh");
}

static cla_status take_tokens(void *arguments, const char *value)
{
    given *g = arguments;
    for (int i = 0; i < CLA_TOKEN_KINDS; i++) {
        if (strcmp(value, cla_token_kind_name((cla_token_kind)i)) == 0) {
            g->a.bleu.tokens = (cla_token_kind)i;
            g->tokens = true;
            return CLA_OK;
        }
    }
    return refuse_tokens(value);
}

static cla_status take_smooth(void *arguments, const char *value)
{
    given *g = arguments;
    for (int i = 0; i < CLA_SMOOTHS; i++) {
        if (strcmp(value, cla_smooth_name((cla_smooth)i)) == 0) {
            g->a.bleu.smooth = (cla_smooth)i;
            g->smooth = true;
            return CLA_OK;
        }
    }
    return refuse("smooth", value, "exp, floor, add-k or none");
}

static cla_status take_value(void *arguments, const char *value)
{
    given *g = arguments;
    return cla_parse_double(value, &g->a.bleu.value) && g->a.bleu.value >= 0
               ? CLA_OK
               : refuse("smooth-value", value, "a number of at least 0");
}

/* ---- options ------------------------------------------------------------------- */

#define AT(member) .at = offsetof(given, a.member)
#define REF                                                                            \
    {                                                                                  \
        "ref", 'r', "FILE", "reference, line for line; several for several", CLI_TAKE, \
            AT(refs), .needed = true, .take = take_ref                                 \
    }
#define HYP                                                                       \
    {                                                                             \
        "hyp", 'h', "FILE", "what is scored (default: standard input)", CLI_TEXT, \
            AT(hyp)                                                               \
    }
#define TOKENS                                                            \
    {                                                                     \
        "tokenize", 't', "KIND", "none, 13a, intl, char or zh", CLI_TAKE, \
            .take = take_tokens, .choices = "none 13a intl char zh"       \
    }
#define LOWER                                                                         \
    {                                                                                 \
        "lowercase", 'l', NULL, "compare in lower case", CLI_FLAG, AT(bleu.lowercase) \
    }
#define SMOOTH                                                                    \
    {                                                                             \
        "smooth", 's', "METHOD", "exp (default), floor, add-k or none", CLI_TAKE, \
            .take = take_smooth, .choices = "exp floor add-k none"                \
    }
#define SMOOTH_VALUE                                                     \
    {                                                                    \
        "smooth-value", 0, "X", "of floor (0.1) or add-k (1)", CLI_TAKE, \
            .take = take_value                                           \
    }
#define ORDER                                                                      \
    {                                                                              \
        "order", 'o', "N", "longest n-grams, 1 to 8 (4)", CLI_INT, AT(bleu.order), \
            .low = 1, .high = CLA_MAX_ORDER                                        \
    }
#define SENTENCE                                                               \
    {                                                                          \
        "sentence", 'e', NULL, "a score for each line", CLI_FLAG, AT(sentence) \
    }
#define BASELINE                                                                       \
    {                                                                                  \
        "baseline", 'b', "FILE", "the system to compare with", CLI_TEXT, AT(baseline), \
            .needed = true                                                             \
    }
#define SAMPLES                                                          \
    {                                                                    \
        "samples", 'n', "N", "resamples (1000)", CLI_INT64, AT(samples), \
            .low = 1, .high = MAX_SAMPLES                                \
    }
#define SEED                                                         \
    {                                                                \
        "seed", 0, "N", "of the draws (12345)", CLI_INT64, AT(seed), \
            .low = 0, .high = UINT32_MAX                             \
    }

static const cli_option bleu_options[] = {
    REF,
    HYP,
    CLI_JSON(given, a.json),
    TOKENS,
    LOWER,
    SMOOTH,
    SMOOTH_VALUE,
    ORDER,
    SENTENCE,
    { "multi-bleu", 0, NULL,
      "as Moses' multi-bleu.perl: tokens separated by blanks, no smoothing", CLI_FLAG,
      AT(multi_bleu) },
    { 0 },
};

static const cli_option chrf_options[] = {
    REF, HYP, CLI_JSON(given, a.json), LOWER, SENTENCE, { 0 },
};

static const cli_option bootstrap_options[] = {
    REF,          HYP,   CLI_JSON(given, a.json),
    TOKENS,       LOWER, SMOOTH,
    SMOOTH_VALUE, ORDER, BASELINE,
    SAMPLES,      SEED,  { 0 },
};

static const cli_option ngram_options[] = {
    REF, HYP, CLI_JSON(given, a.json), TOKENS, LOWER, BASELINE, SAMPLES, SEED, { 0 },
};

static const cli_option squad_options[] = {
    { "ref", 'r', "FILE", "data set, SQuAD 1.1 or 2.0 JSON", CLI_TAKE, AT(refs),
      .needed = true, .take = take_ref },
    { "hyp", 'h', "FILE", "JSON object of question ids and answers", CLI_TEXT,
      AT(hyp) },
    CLI_JSON(given, a.json),
    { 0 },
};

static const cli_option overlap_options[] = {
    REF, HYP, CLI_JSON(given, a.json), TOKENS, LOWER, SENTENCE, { 0 },
};

/* Refuses a value for a smoothing that has none. */
static cla_status check_value(const void *arguments)
{
    const given *g = arguments;
    const cla_smooth smooth = g->a.bleu.smooth;
    return g->a.bleu.value < 0 || smooth == CLA_SMOOTH_FLOOR ||
                   smooth == CLA_SMOOTH_ADD_K
               ? CLA_OK
               : cla_fail(CLA_E_USAGE,
                          "--smooth-value is for --smooth floor or add-k, not for %s",
                          cla_smooth_name(smooth));
}

static cla_status check_bleu(const void *arguments)
{
    const given *g = arguments;
    if (g->a.multi_bleu && (g->tokens || g->smooth || g->a.bleu.value >= 0)) {
        return cla_fail(CLA_E_USAGE,
                        "--multi-bleu takes no --tokenize, --smooth or --smooth-value");
    }
    return check_value(arguments);
}

static cla_status check_squad(const void *arguments)
{
    const given *g = arguments;
    return g->a.ref_count == 1
               ? CLA_OK
               : cla_fail(CLA_E_USAGE, "score squad takes one --ref, not %d",
                          g->a.ref_count);
}

/* Refuses standard input for both systems. */
static cla_status check_two(const void *arguments)
{
    const score_arguments *a = &((const given *)arguments)->a;
    return strcmp(a->hyp, "-") == 0 && strcmp(a->baseline, "-") == 0
               ? cla_fail(CLA_E_USAGE,
                          "score %s needs two files to compare (see clattn score %s "
                          "--help)",
                          a->verb, a->verb)
               : CLA_OK;
}

static cla_status check_bootstrap(const void *arguments)
{
    CLA_TRY(check_value(arguments));
    return check_two(arguments);
}

/* ---- verbs ------------------------------------------------------------------- */

static int run(const cli_usage *usage, const char *verb, cla_token_kind tokens,
               cla_status (*act)(const score_arguments *a), int argc, char **argv)
{
    given g = { .a = { .verb = verb, .hyp = "-", .samples = 1000, .seed = 12345 } };
    g.a.bleu = cla_bleu_defaults();
    g.a.bleu.tokens = tokens;
    g.a.bleu.value = -1; // not given
    cla_status status = cli_read(usage, argc, argv, &g);
    if (g.a.bleu.value < 0) {
        g.a.bleu.value = cla_smooth_default(g.a.bleu.smooth);
    }
    status = status ? status : act(&g.a);
    return status ? cli_fail(status) : CLI_OK;
}

static const cli_usage bleu_usage = {
    .options = bleu_options,
    .check = check_bleu,
    .about = "BLEU of a corpus as sacreBLEU computes it, with its signature.",
    .more = "  clattn translate --model runs/m < test.en | clattn score bleu --ref "
            "test.de",
};

static int run_bleu(int argc, char **argv)
{
    return run(&bleu_usage, "bleu", CLA_TOKENS_13A, score_bleu, argc, argv);
}

static const cli_usage chrf_usage = {
    .options = chrf_options,
    .about = "chrF2 (Popovic 2015), the F-score of character n-grams, as sacreBLEU "
             "computes it, with its signature.",
};

static int run_chrf(int argc, char **argv)
{
    return run(&chrf_usage, "chrf", CLA_TOKENS_NONE, score_chrf, argc, argv);
}

static const cli_usage bootstrap_usage = {
    .options = bootstrap_options,
    .check = check_bootstrap,
    .about = "Paired bootstrap resampling (Koehn 2004): p is the share of resamples "
             "in which the baseline's BLEU is at least as high.",
};

static int run_bootstrap(int argc, char **argv)
{
    return run(&bootstrap_usage, "bootstrap", CLA_TOKENS_13A, score_bootstrap, argc,
               argv);
}

static const cli_usage ngram_usage = {
    .options = ngram_options,
    .check = check_two,
    .about = "For n = 1 to 8: brevity penalty times the precision of n-grams, for "
             "the hypothesis, the baseline, the gap and its p, the share of resamples "
             "in which the baseline is at least as good (paired bootstrap); then BLEU "
             "up to order n.",
};

static int run_ngram(int argc, char **argv)
{
    return run(&ngram_usage, "ngram", CLA_TOKENS_13A, score_ngram, argc, argv);
}

static const cli_usage squad_usage = {
    .options = squad_options,
    .check = check_squad,
    .about = "Exact match and F1 of answers as SQuAD computes them: data with "
             "impossible questions by the rules of 2.0, other data by those of 1.1.",
};

static int run_squad(int argc, char **argv)
{
    return run(&squad_usage, "squad", CLA_TOKENS_NONE, score_squad, argc, argv);
}

static const cli_usage rougel_usage = {
    .options = overlap_options,
    .about = "ROUGE-L with beta 1.2, the mean over lines, as for DuReader "
             "(--tokenize char) and MS MARCO. A reference line may hold several, "
             "separated by tabs.",
};

static int run_rougel(int argc, char **argv)
{
    return run(&rougel_usage, "rougel", CLA_TOKENS_NONE, score_rougel, argc, argv);
}

static const cli_usage charbleu_usage = {
    .options = overlap_options,
    .about = "BLEU-1 to BLEU-4 of characters (or --tokenize none: words) as for "
             "DuReader, MS MARCO and poems. A reference line may hold several, "
             "separated by tabs.",
};

static int run_charbleu(int argc, char **argv)
{
    return run(&charbleu_usage, "charbleu", CLA_TOKENS_CHAR, score_charbleu, argc,
               argv);
}

static const cli_command verbs[] = {
    { "bleu", "BLEU as sacreBLEU or multi-bleu", run_bleu, &bleu_usage },
    { "chrf", "chrF of characters as sacreBLEU", run_chrf, &chrf_usage },
    { "bootstrap", "is one system better than another?", run_bootstrap,
      &bootstrap_usage },
    { "ngram", "two systems by the length of n-grams", run_ngram, &ngram_usage },
    { "squad", "exact match and F1 of answers", run_squad, &squad_usage },
    { "rougel", "ROUGE-L of answers", run_rougel, &rougel_usage },
    { "charbleu", "BLEU of characters", run_charbleu, &charbleu_usage },
    { "lm", "how likely lines are to a language model", score_lm, &score_lm_usage },
    { 0 },
};

const cli_usage cli_score_usage = {
    .words = "VERB [ARGUMENT...]",
    .about = "Scores against references; no device is used, but by lm.",
    .verbs = verbs,
};

int cli_score(int argc, char **argv)
{
    return cli_run_verb(&cli_score_usage, argc, argv);
}
