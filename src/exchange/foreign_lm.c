/* foreign_lm.c - writes the weights of a language model for transformers. */
#include "exchange/foreign_lm.h"

#include <assert.h>

#include "exchange/foreign_huggingface.h"

/* Adds the k-th tensor of a row: columns of the parameter from `first` on. */
static cla_status add_part(cla_made *made, const lm_weight *w, const cla_param *p,
                           const char *name, int64_t first, int64_t width,
                           const float *from)
{
    const int64_t rows = p->rank == 2 ? p->shape[0] : 0, each = rows ? rows : 1;
    const int64_t columns = p->shape[p->rank - 1];
    const bool turned = w->turned && rows;
    float *to = NULL;
    CLA_TRY(
        cla_made_add(made, name, turned ? width : rows, turned ? rows : width, &to));
    assert(to);
    for (int64_t r = 0; r < each; r++) {
        for (int64_t c = 0; c < width; c++) {
            to[turned ? c * rows + r : r * width + c] = from[r * columns + first + c];
        }
    }
    return CLA_OK;
}

static cla_status add(const foreign *f, const lm_family *family, const cla_param *p,
                      cla_made *made)
{
    int layer = 0;
    int64_t first = 0;
    float *from = NULL;
    cla_text name = { 0 };
    const lm_weight *w = cla_lm_weight(family, p->name, &layer);
    if (!w || p->rank > 2) {
        return cla_fail(CLA_E_INPUT, "%s: tensor '%s' has no place in '%s'", f->path,
                        p->name, family->type);
    }
    cla_status status = cla_foreign_take(f, p->name, &from);
    for (int k = 0; k < 3 && w->theirs[k] && !status; k++) {
        const int64_t width =
            cla_lm_columns(w, p, ((language *)f->task)->config.coder.model, k);
        name.size = 0;
        status = cla_lm_name(family, w, layer, k, &name);
        status = status ? status : add_part(made, w, p, name.data, first, width, from);
        first += width;
    }
    free(from);
    cla_text_free(&name);
    return status;
}

static cla_status write_weights(const foreign *f, const lm_family *family,
                                cla_publish *p, bool half, int64_t *numbers)
{
    cla_made made = { 0 };
    const huggingface h = { .f = f, .half = half };
    cla_status status = CLA_OK;
    for (size_t i = 0; i < f->task->params.count && !status; i++) {
        status = add(f, family, &f->task->params.list[i], &made);
    }
    *numbers = made.numbers;
    status = status ? status : cla_huggingface_save(&h, p, &made);
    cla_made_free(&made);
    return status;
}

cla_status cla_foreign_lm(const foreign *f, cla_publish *p, bool half, int64_t *numbers)
{
    const lm_family *family = NULL;
    CLA_TRY(cla_lm_family_of(f, &family));
    CLA_TRY(write_weights(f, family, p, half, numbers));
    CLA_TRY(cla_lm_write_pieces(f, p));
    return cla_lm_write_settings(f, family, p, half);
}
