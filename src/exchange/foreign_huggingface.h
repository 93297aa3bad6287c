/* foreign_huggingface.h - what the folders of Hugging Face have in common. */
#pragma once

#include "exchange/foreign.h"

typedef struct huggingface {
    const foreign *f;
    const char *type, *network; // model_type and the class of transformers
    int64_t rows;               // of each table
    int start, end, pad;        // ids of special pieces
    bool half;                  // weights are stored as float16
    bool shared;                // the network has one table for both languages
} huggingface;

/* Adds the layers of both stacks. Errors: CLA_E_NOMEM. */
cla_status cla_huggingface_layers(const foreign *f, cla_made *made);

/* Write model.safetensors, generation_config.json and config.json. Errors: CLA_E_INPUT
 * (a number that is too large for float16), CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_huggingface_save(const huggingface *h, cla_publish *p, cla_made *made);
cla_status cla_huggingface_search(const huggingface *h, cla_publish *p);
cla_status cla_huggingface_config(const huggingface *h, cla_publish *p);

/* Writes all files of an M2M-100 or NLLB folder, config.json last. Errors: those of
 * cla_foreign_huggingface. */
cla_status cla_foreign_m2m(const foreign *f, cla_publish *p, bool half,
                           int64_t *numbers);
/* Writes those of a T5 folder. Errors: the same. */
cla_status cla_foreign_t5(const foreign *f, cla_publish *p, bool half,
                          int64_t *numbers);
