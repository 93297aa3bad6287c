/* translate_document.h - translates standard input as one document with markup. */
#pragma once

#include "clattn/model.h"
#include "text/markup.h"

/* Reads a document from standard input and writes it with its texts translated. cut and
 * parts are the numbers of translations that were cut at the longest length, and of
 * all. Errors: those of cla_text_read, cla_document_read and cla_model_translate. */
cla_status cli_translate_document(cla_model *model, cla_markup markup,
                                  const cla_translate_options *options, size_t *cut,
                                  size_t *parts);
