/* import_ctranslate2_sizes.c - reads the sizes of a network from CTranslate2's
 * model.bin. */
#include <math.h>
#include <stdio.h>

#include "exchange/import_ctranslate2.h"

enum { NAME = 96 };

cla_status cla_ct2_wrong(const ct2_folder *f, const char *name, const char *what)
{
    return cla_fail(CLA_E_INPUT, "%s: variable '%s' %s", f->file.path, name, what);
}

static ct2_variable *find(const ct2_folder *f, const char *name)
{
    return cla_ct2_find(&f->file, name);
}

const char *cla_ct2_source(const ct2_folder *f)
{
    return find(f, "encoder/embeddings_0/weight") ? "encoder/embeddings_0/weight"
                                                  : "encoder/embeddings/weight";
}

cla_status cla_ct2_both(const ct2_folder *f, const char *name, double *value)
{
    char encoder[NAME], decoder[NAME];
    snprintf(encoder, sizeof encoder, "encoder/%s", name);
    snprintf(decoder, sizeof decoder, "decoder/%s", name);
    double other = *value;
    cla_ct2_scalar(&f->file, encoder, value);
    cla_ct2_scalar(&f->file, decoder, &other);
    return *value == other ? CLA_OK
                           : cla_ct2_wrong(f, decoder, "differs from the encoder's");
}

static cla_status read_activation(const ct2_folder *f)
{
    static const struct {
        int number;
        cla_activation activation;
    } known[] = { { 0, CLA_RELU }, { 1, CLA_GELU_TANH }, { 2, CLA_SILU },
                  { 3, CLA_GELU }, { 5, CLA_TANH },      { 6, CLA_SIGMOID } };
    double number = 0;
    CLA_TRY(cla_ct2_both(f, "activation", &number));
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].number == number) {
            f->m->activation = known[i].activation;
            return CLA_OK;
        }
    }
    return cla_ct2_wrong(f, "encoder/activation",
                         "is none of relu, gelu, swish, tanh and sigmoid");
}

/* Reads the factor of embeddings, 1 or the root of the width, which true stands for. */
static cla_status read_scale(const ct2_folder *f)
{
    static const char name[] = "encoder/scale_embeddings";
    const double root = sqrt(f->m->model);
    const ct2_variable *v = find(f, name);
    double scale = root;
    CLA_TRY(cla_ct2_both(f, "scale_embeddings", &scale));
    const bool flag = v && v->type == CT2_I8;
    f->m->scaled = flag ? scale != 0 : fabs(scale - root) <= 1e-3 * root;
    return f->m->scaled || scale == (flag ? 0 : 1)
               ? CLA_OK
               : cla_ct2_wrong(f, name, "is neither 1 nor the root of the width");
}

static int count_layers(const ct2_folder *f, const char *stack)
{
    char name[NAME];
    int layers = 0;
    do {
        snprintf(name, sizeof name, "%s/layer_%d/self_attention/linear_0/weight", stack,
                 layers);
    } while (find(f, name) && ++layers);
    return layers;
}

cla_status cla_ct2_shape(const ct2_folder *f, const char *name, int64_t *rows,
                         int64_t *columns)
{
    const ct2_variable *v = find(f, name);
    if (!v || v->rank != 2 || v->shape[0] < 1 || v->shape[1] < 1) {
        return cla_ct2_wrong(f, name, v ? "is no matrix" : "is missing");
    }
    *rows = v->shape[0];
    *columns = v->shape[1];
    return CLA_OK;
}

bool cla_ct2_same(const ct2_variable *a, const ct2_variable *b)
{
    return a && b && a->data == b->data && a->size == b->size;
}

static cla_status read_heads(const ct2_folder *f)
{
    enum { HEADS = 256 };
    double heads = 8;
    CLA_TRY(cla_ct2_both(f, "num_heads", &heads));
    if (!(heads >= 1 && heads <= HEADS) ||
        (f->m->model % (int)heads && !cla_ct2_is_t5(f))) {
        return cla_ct2_wrong(f, "encoder/num_heads", "does not divide the width");
    }
    f->m->heads = (int)heads;
    return CLA_OK;
}

cla_status cla_ct2_read_sizes(ct2_folder *f)
{
    enum { WIDEST = 1 << 14, INNER = 1 << 16 };
    static const char feed[] = "encoder/layer_0/ffn/linear_0/weight";
    marian *m = f->m;
    int64_t pieces = 0, model = 0, inner = 0;
    double pre_norm = 1, zero = 0;
    CLA_TRY(cla_ct2_shape(f, CT2_TARGET, &pieces, &model));
    CLA_TRY(cla_ct2_shape(f, feed, &inner, &(int64_t){ 0 }));
    m->layers = count_layers(f, "encoder");
    m->decoder_layers = count_layers(f, "decoder");
    if (model > WIDEST || inner > INNER || m->layers > TRANSFORMER_LAYERS ||
        m->decoder_layers > TRANSFORMER_LAYERS || !m->decoder_layers) {
        return cla_fail(CLA_E_INPUT,
                        "%s: has %d and %d layers of widths %lld and %lld: 1 to %d "
                        "layers are read, and widths up to %d and %d",
                        f->file.path, m->layers, m->decoder_layers, (long long)model,
                        (long long)inner, TRANSFORMER_LAYERS, WIDEST, INNER);
    }
    m->model = (int)model;
    m->inner = (int)inner;
    CLA_TRY(read_heads(f));
    CLA_TRY(read_activation(f));
    CLA_TRY(read_scale(f));
    CLA_TRY(cla_ct2_both(f, "pre_norm", &pre_norm));
    m->pre_norm = pre_norm != 0;
    cla_ct2_scalar(&f->file, "decoder/start_from_zero_embedding", &zero);
    f->zero = zero != 0;
    m->shared = cla_ct2_same(find(f, cla_ct2_source(f)), find(f, CT2_TARGET));
    m->tied = cla_ct2_same(find(f, CT2_OUTPUT), find(f, CT2_TARGET));
    return cla_ct2_is_t5(f) ? cla_ct2_t5_sizes(f) : CLA_OK;
}
