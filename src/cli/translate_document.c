/* translate_document.c - translates standard input as one document with markup. */
#include "cli/translate_document.h"

#include <stdio.h>

#include "base/input.h"
#include "cli/stream.h"

static cla_status translate(cla_model *model, const cla_document *d,
                            const cla_translate_options *options, cla_text *out)
{
    const char **text = NULL;
    cla_translation *said = NULL;
    cla_status status = cla_alloc(&text, d->count + 1, sizeof *text);
    status = status ? status : cla_alloc(&said, d->count + 1, sizeof *said);
    for (size_t i = 0; i < d->count && !status; i++) {
        text[i] = d->part[i].text;
    }
    status =
        status ? status : cla_model_translate(model, said, text, d->count, options);
    for (size_t i = 0; i < d->count && !status; i++) {
        text[i] = said[i].text;
    }
    status = status ? status : cla_document_write(d, text, out);
    free(text);
    free(said);
    return status;
}

static cla_status show_progress(void *to, size_t texts, size_t count)
{
    (void)to;
    cli_progress(texts, count, "texts");
    return CLA_OK;
}

cla_status cli_translate_document(cla_model *model, cla_markup markup,
                                  const cla_translate_options *options, size_t *cut,
                                  size_t *parts)
{
    char *source = NULL;
    size_t size = 0;
    cla_document d = { 0 };
    cla_text out = { 0 };
    CLA_TRY(cla_text_read(&source, &size, "-", CLA_SOURCE_STDIN));
    cla_status status = cla_document_read(&d, markup, source, size);
    *parts = d.count;
    status = status ? status : cla_model_watch(model, show_progress, NULL);
    cli_progress(0, 0, "texts");
    status = status ? status : translate(model, &d, options, &out);
    cli_progress_end();
    *cut = status ? 0 : cla_model_cut(model);
    if (!status) {
        fwrite(out.data, 1, out.size, stdout); // cli_flush tells of errors
        status = cli_flush();
    }
    free(source);
    cla_text_free(&out);
    cla_document_free(&d);
    return status;
}
