/* self.c - the table of ways of attending, and plain attention. */
#include "nn/self.h"

/* ---- plain attention --------------------------------------------------------- */

static cla_status softmax(self_layer *layer, cla_tape *tape, cla_tensor **o,
                          const self_input *in)
{
    (void)layer;
    return cla_attention(tape, o, in->q, in->k, in->v, in->q_rows, in->k_rows,
                         &in->options);
}

const self_variant self_softmax = { .name = "softmax",
                                    .forward = softmax,
                                    .decoder = true };

/* ---- the table --------------------------------------------------------------- */

// clang-format off
static const self_variant *const variants[] = {
    &self_softmax,
    &self_csan1d,
    &self_csan2d,
    &self_bi_direct,
    &self_block,
    &self_rel_pos,
    &self_neighbor,
    &self_neighbor_predicted,
    &self_local_hard,
    &self_local_soft,
    &self_custom,
};
// clang-format on

enum { VARIANTS = sizeof variants / sizeof *variants };

/* The keys of a variant that was not chosen are known, so that a config with them takes
 * another way of attending by one changed line; they are neither checked nor
 * completed. */
static cla_status know(const self_variant *variant, const cla_config *settings)
{
    cla_config copy = *settings;
    self_config unused = { .model = 1, .heads = 1, SELF_DEFAULTS };
    copy.values = json_object();
    const cla_status status = copy.values ? variant->configure(&unused, &copy)
                                          : cla_fail(CLA_E_NOMEM, "out of memory");
    json_decref(copy.values);
    return status == CLA_E_NOMEM ? status : CLA_OK;
}

cla_status self_configure(self_config *config, cla_config *settings)
{
    const char *names[VARIANTS + 1] = { NULL };
    const self_config given = *config;
    int chosen = 0;
    for (int i = 0; i < VARIANTS; i++) {
        names[i] = variants[i]->name;
    }
    *config = (self_config){ .model = given.model,
                             .heads = given.heads,
                             .custom = given.custom,
                             SELF_DEFAULTS };
    CLA_TRY(cla_config_choice(settings, "attention", names, &chosen));
    config->variant = variants[chosen];
    for (int i = 0; i < VARIANTS; i++) {
        if (i != chosen && variants[i]->configure) {
            CLA_TRY(know(variants[i], settings));
        }
    }
    return config->variant->configure ? config->variant->configure(config, settings)
                                      : CLA_OK;
}

/* ---- a layer ----------------------------------------------------------------- */

static const self_variant *variant_of(const self_layer *layer)
{
    return layer->config.variant ? layer->config.variant : &self_softmax;
}

int self_parts(const self_layer *layer)
{
    const int parts = variant_of(layer)->parts;
    return parts ? parts : 1;
}

cla_status self_init(self_layer *layer, cla_params *params, const char *prefix)
{
    const self_variant *variant = variant_of(layer);
    return variant->init ? variant->init(layer, params, prefix) : CLA_OK;
}

cla_status self_forward(self_layer *layer, cla_tape *tape, cla_tensor **o,
                        const self_input *in)
{
    return variant_of(layer)->forward(layer, tape, o, in);
}
