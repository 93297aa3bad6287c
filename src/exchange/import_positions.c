/* import_positions.c - positions of a Hugging Face folder: sines or learned ones. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "exchange/import_writer.h"
#include "nn/coder.h"

enum { NAME = 64 };

static bool close_to(const float *got, const float *want, int64_t n, float bar)
{
    for (int64_t i = 0; i < n; i++) {
        if (fabsf(got[i] - want[i]) > bar) {
            return false;
        }
    }
    return true;
}

/* Finds the kind of a table of position encodings. An absent one counts as Marian's. */
static cla_status find_positions(const writer *w, const char *name, int *kind)
{
    const cla_st_tensor *t = cla_st_find(&w->file, name);
    float *want = NULL, *got = NULL;
    *kind = TRANSFORMER_MARIAN;
    if (!t) return CLA_OK;
    const int64_t rows = t->rank == 2 ? t->shape[0] : 1, D = w->m->model;
    CLA_TRY(cla_writer_take(w, name, rows, D, &got));
    cla_status status = cla_alloc(&want, (size_t)(rows * D) + 1, sizeof *want);
    const float bar = t->dtype == CLA_ST_F16    ? 1e-3f
                      : t->dtype == CLA_ST_BF16 ? 8e-3f
                                                : 1e-5f; // rounding of a sine
    bool found = false;
    if (!status) {
        cla_coder_signal_marian(want, rows, D);
        found = close_to(got, want, rows * D, bar);
    }
    if (!status && !found) {
        *kind = TRANSFORMER_TENSOR2TENSOR;
        cla_coder_signal(want, rows, D);
        found = close_to(got, want, rows * D, bar);
    }
    free(want);
    free(got);
    return status || found
               ? status
               : cla_fail(CLA_E_INPUT,
                          "%s: tensor '%s' holds other numbers than Marian's or "
                          "tensor2tensor's sines: learned positions are not read",
                          w->path, name);
}

cla_status cla_writer_sines(writer *w)
{
    static const char encoder[] = "model.encoder.embed_positions.weight",
                      decoder[] = "model.decoder.embed_positions.weight";
    int other = 0;
    CLA_TRY(find_positions(w, encoder, &w->positions));
    CLA_TRY(find_positions(w, decoder, &other));
    return w->positions == other
               ? CLA_OK
               : cla_fail(CLA_E_INPUT,
                          "%s: the sines of tensor '%s' are not those of the decoder",
                          w->path, encoder);
}

cla_status cla_writer_learned(writer *w)
{
    static const char *const stacks[] = { "encoder", "decoder" };
    enum { UNUSED = 2 };
    const int64_t D = w->m->model, rows = w->m->max_positions;
    w->positions = TRANSFORMER_LEARNED;
    for (int i = 0; i < 2; i++) {
        char to[NAME], from[NAME];
        float *made = NULL, *numbers = NULL;
        snprintf(to, sizeof to, "%s.positions", stacks[i]);
        snprintf(from, sizeof from, "model.%s.embed_positions.weight", stacks[i]);
        CLA_TRY(cla_made_add(&w->made, to, rows, D, &made));
        CLA_TRY(cla_writer_take(w, from, rows + UNUSED, D, &numbers));
        assert(made && numbers);
        memcpy(made, numbers + UNUSED * D, (size_t)(rows * D) * sizeof *made);
        free(numbers);
        snprintf(to, sizeof to, "%s.embedding_norm", stacks[i]);
        snprintf(from, sizeof from, "model.%s.layernorm_embedding", stacks[i]);
        CLA_TRY(cla_writer_norm(w, to, from));
    }
    return CLA_OK;
}
