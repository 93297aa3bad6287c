/* score_lm.c - clattn score lm: how likely a language model finds lines. */
#include <stdio.h>
#include <string.h>

#include "cli/model.h"
#include "cli/score.h"
#include "cli/stream.h"
#include "tasks/language/language.h"
#include "tasks/model.h"

typedef struct arguments {
    const char *device, *model;
    cli_weights weights;
    bool json, documents;
} arguments;

static const cli_option options[] = {
    CLI_DEVICE(arguments, device),
    CLI_JSON(arguments, json),
    { "model", 'm', "DIR", "folder of a language model's training run", CLI_TEXT,
      .at = offsetof(arguments, model), .needed = true },
    CLI_WEIGHTS(arguments, weights),
    { "documents", 'D', NULL, "score documents, which blank lines separate", CLI_FLAG,
      .at = offsetof(arguments, documents) },
    { 0 },
};

const cli_usage score_lm_usage = {
    .options = options,
    .about = "Nats of each line of standard input under a language model: -ln p of its "
             "pieces and of its end, then the number of pieces.",
    .more = "  clattn score lm --model runs/lm < lines\n"
            "  clattn score lm --model runs/lm --documents --json < text",
};

typedef struct scorer {
    const arguments *a;
    language *t;
    cla_text text; // of the document at hand
} scorer;

static cla_status score(scorer *s, const char *text, size_t size)
{
    double nats = 0;
    int64_t pieces = 0;
    CLA_TRY(cla_language_score(s->t, text, size, &nats, &pieces));
    if (s->a->json) {
        return cli_print_json(
            json_pack("{s:f, s:I}", "nats", nats, "pieces", (json_int_t)pieces));
    }
    printf("%.4f\t%lld\n", nats, (long long)pieces);
    return cli_flush();
}

static cla_status end_document(scorer *s)
{
    const cla_status status =
        s->text.size ? score(s, s->text.data, s->text.size) : CLA_OK;
    s->text.size = 0;
    return status;
}

static cla_status take_line(void *to, const cla_line_stream *at, char *text,
                            size_t size)
{
    scorer *s = to;
    (void)at;
    if (!s->a->documents) {
        return score(s, text, size);
    }
    if (cla_line_is_blank(text, size)) {
        return end_document(s);
    }
    CLA_TRY(s->text.size ? cla_text_append(&s->text, "\n", 1) : CLA_OK);
    return cla_text_append(&s->text, text, size);
}

static cla_status finish(void *to, bool ended)
{
    return ended ? end_document(to) : CLA_OK;
}

static cla_status score_all(const arguments *a)
{
    cli_model m;
    scorer s = { .a = a };
    cla_status status = cli_model_open(&m, a->device, a->model, &a->weights, "lm",
                                       "score lm needs a language model");
    if (!status) {
        const cli_stream input = { take_line, finish, &s };
        s.t = (language *)cla_model_task(m.model);
        status = cli_stream_run(&input);
    }
    cla_text_free(&s.text);
    cli_model_close(&m);
    return status;
}

int score_lm(int argc, char **argv)
{
    arguments a = { .device = NULL };
    cla_status status = cli_read(&score_lm_usage, argc, argv, &a);
    status = status ? status : score_all(&a);
    return status ? cli_fail_data(status) : CLI_OK;
}
