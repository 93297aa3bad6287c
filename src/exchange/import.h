/* import.h - a model that another program trained, as a folder of ours. */
#pragma once

#include "base/base.h"

/* Converts the Hugging Face MarianMT folder at from (config.json, model.safetensors,
 * source.spm, target.spm, vocab.json; generation_config.json, tokenizer_config.json,
 * target_vocab.json where they are there) to a translator's folder at out.
 *
 * signal   in   set by a handler: stop, with CLA_E_IO; may be NULL
 * numbers  out  of the parameters
 *
 * Nothing of it stays in out after a failure.
 * Errors: CLA_E_INPUT (no such model; a file that is missing, damaged or a link out of
 * the folder; a setting that translate cannot follow; a tensor that is missing, left
 * over or of another shape), CLA_E_NUMERIC (a number that is not finite), CLA_E_USAGE
 * (out holds a run; clattn was built without SentencePiece), CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_import(const char *from, const char *out, volatile const int *signal,
                      int64_t *numbers);
