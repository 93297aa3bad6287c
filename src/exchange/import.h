/* import.h - imports a model that another program trained. */
#pragma once

#include "base/base.h"

/* Converts a model at from to a folder at out. Translators: a file is a package of
 * Argos; a folder with model.bin is one of CTranslate2, one with model/model.bin an
 * unpacked package, one with decoder.yml and no config.json Marian's own, and any other
 * one of Hugging Face (MarianMT, M2M-100, NLLB, mBART-50, T5, mT5, MADLAD-400).
 * Language models: a folder of Hugging Face (GPT-2, Llama, Mistral).
 *
 * transformers  in   4 or 5: its release whose search the model gets
 * signal   in   set by a handler: stop, with CLA_E_IO; may be NULL
 * watch    in   told of the tensors of the source that are read, and of how many there
 *               are; may be NULL
 * numbers  out  parameter values written
 *
 * A failed import leaves none of its files in out.
 * Errors: CLA_E_INPUT (no such model; a file that is missing, damaged or a link out of
 * the folder; a setting that translate cannot follow; a tensor that is missing, left
 * over or of another shape), CLA_E_NUMERIC (a number that is not finite), CLA_E_USAGE
 * (out holds a run; clattn was built without SentencePiece, for packages without zlib,
 * or for Marian's own folders without zlib or libyaml), CLA_E_IO, CLA_E_NOMEM. */
typedef void cla_import_watch(size_t done, size_t all);
cla_status cla_import(const char *from, const char *out, int transformers,
                      volatile const int *signal, cla_import_watch *watch,
                      int64_t *numbers);
