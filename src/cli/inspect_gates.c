/* inspect_gates.c - draws how a translator's last layer attends to the source for each
 * piece of the translation: the gates of a hard layer, or the weights of each head; or
 * how the encoder's layers attend to the source. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "cli/inspect.h"
#include "cli/svg.h"
#include "models/generate.h"

enum { MOST = 512, MAPS = 512 };

/* A sentence, its translation, and the maps between them. */
typedef struct look {
    translation *t;
    cla_ids source;
    generated said;
    cla_ragged *source_rows, *said_rows;
    int32_t position[MOST], input[MOST];
    cla_tape *tape;
    float *weight[MAPS];
    char name[MAPS][40];
    int maps;
} look;

static void look_fini(look *l)
{
    cla_ids_free(&l->source);
    cla_generated_free(&l->said);
    cla_ragged_free(&l->source_rows);
    cla_ragged_free(&l->said_rows);
    cla_tape_free(&l->tape);
    for (int i = 0; i < MAPS; i++) {
        free(l->weight[i]);
    }
}

static cla_status read_source(look *l, const char *text)
{
    cla_ids *ids = &l->source;
    CLA_TRY(cla_subwords_encode(&l->t->source, text, strlen(text), ids));
    if (!ids->count || ids->count >= MOST - TRANSLATION_EXTRA - 1) {
        return cla_fail(CLA_E_INPUT, "inspect: %zu pieces, must be 1 to %d", ids->count,
                        MOST - TRANSLATION_EXTRA - 2);
    }
    CLA_TRY(cla_grow(&ids->id, &ids->cap, ids->count + 1, sizeof *ids->id));
    ids->id[ids->count++] = CLA_EOS;
    for (int i = 0; i < MOST; i++) {
        l->position[i] = i;
    }
    return cla_ragged_new(&l->source_rows, l->t->task.rt, 1,
                          (int32_t[]){ 0, (int32_t)ids->count });
}

/* Translates greedily, then decodes all pieces at once to record the maps. */
static cla_status say(look *l, cross_hard_pass *pass)
{
    cla_runtime *rt = l->t->task.rt;
    const transformer_tokens source = { (int64_t)l->source.count, l->source.id,
                                        l->position, l->source_rows, 0 };
    const generate_options options = { .extra = TRANSLATION_EXTRA, .end = CLA_EOS };
    cla_tensor *memory = NULL, *logits = NULL;
    CLA_TRY(cla_transformer_generate(&l->t->model, rt, &source, &options, &l->said));
    CLA_TRY(cla_ragged_new(&l->said_rows, rt, 1, l->said.at));
    const int32_t count = l->said.at[1];
    l->input[0] = -1;
    memcpy(l->input + 1, l->said.id, (size_t)(count - 1) * sizeof *l->input);
    const transformer_batch batch = {
        .source = source,
        .input = { count, l->input, l->position, l->said_rows, 0 },
        .pass = pass,
    };
    CLA_TRY(cla_tape_new(&l->tape, rt, false));
    CLA_TRY(cla_transformer_encode(&l->t->model, l->tape, &memory, &batch));
    return cla_transformer_logits(&l->t->model, l->tape, &logits, memory, &batch);
}

/* Takes the maps of a tensor, which have one size and follow each other. */
static cla_status take_maps(look *l, const cla_tensor *from, const char *name)
{
    const size_t size = l->source.count * (size_t)l->said.at[1];
    const int count = (int)((size_t)cla_tensor_size(from) / size);
    float *all = NULL;
    CLA_TRY(cla_alloc(&all, size * (size_t)count, sizeof *all));
    cla_status status = cla_tensor_download(from, all);
    for (int i = 0; i < count && l->maps < MAPS && !status; i++, l->maps++) {
        status = cla_alloc(&l->weight[l->maps], size, sizeof **l->weight);
        if (!status) {
            memcpy(l->weight[l->maps], all + (size_t)i * size, size * sizeof *all);
            const char *space = count > 1 ? " " : "";
            snprintf(l->name[l->maps], sizeof *l->name, "%s%s%.0d", name, space,
                     count > 1 ? i + 1 : 0);
        }
    }
    free(all);
    return status;
}

static cla_status take_gates(look *l, const cross_hard_pass *pass)
{
    const size_t size = l->source.count * (size_t)l->said.at[1];
    CLA_TRY(take_maps(l, pass->gates, "open gates"));
    CLA_TRY(take_maps(l, pass->scores, "probability"));
    float *p = l->weight[1];
    for (size_t i = 0; i < size; i++) {
        p[i] = 1 / (1 + expf(-p[i]));
    }
    return CLA_OK;
}

/* Adds the map that is made of the weights p [T,parts*T] of a head; convolved: as the
 * layer's way shows it. */
static cla_status add_map(look *l, int layer, int head, const float *p, int parts)
{
    attn_layer *self = &l->t->model.encoder[layer].self;
    attn_show *show = cla_attn_way(&self->config)->show;
    const int T = (int)l->source.count, count = show ? 2 : 1;
    if (l->maps + count > MAPS) {
        return cla_fail(CLA_E_INPUT, "inspect: more than %d maps", MAPS);
    }
    for (int i = 0; i < count; i++) {
        float **map = &l->weight[l->maps + i];
        CLA_TRY(cla_alloc(map, (size_t)T * (size_t)T, sizeof **map));
        snprintf(l->name[l->maps + i], sizeof *l->name, "layer %d head %d%s", layer + 1,
                 head + 1, i ? " convolved" : "");
    }
    float *map = l->weight[l->maps];
    cla_attn_sum_parts(map, p, T, parts);
    l->maps += count;
    return show ? show(self, map, head, T, l->weight[l->maps - 1]) : CLA_OK;
}

/* Takes the maps [1,H,T,parts*T] of a layer of the encoder. */
static cla_status take_layer(look *l, int layer, const cla_tensor *maps)
{
    const int64_t T = (int64_t)l->source.count, row = cla_tensor_dim(maps, 3);
    float *all = NULL;
    CLA_TRY(cla_alloc(&all, (size_t)cla_tensor_size(maps), sizeof *all));
    cla_status status = cla_tensor_download(maps, all);
    for (int h = 0; h < cla_tensor_dim(maps, 1) && !status; h++) {
        status = add_map(l, layer, h, all + h * T * row, (int)(row / T));
    }
    free(all);
    return status;
}

/* Runs the encoder and takes the maps of all layers that have some. */
static cla_status take_encoder(look *l)
{
    transformer *m = &l->t->model;
    cla_tensor *memory = NULL, *maps[TRANSFORMER_LAYERS] = { NULL };
    const transformer_batch batch = {
        .source = { (int64_t)l->source.count, l->source.id, l->position, l->source_rows,
                    0 },
        .maps = maps,
    };
    CLA_TRY(cla_tape_new(&l->tape, l->t->task.rt, false));
    CLA_TRY(cla_transformer_encode(m, l->tape, &memory, &batch));
    for (int i = 0; i < m->config.layers; i++) {
        CLA_TRY(maps[i] ? take_layer(l, i, maps[i]) : CLA_OK);
    }
    return l->maps ? CLA_OK
                   : cla_fail(CLA_E_INPUT,
                              "attention is '%s': it has no map of pieces by pieces",
                              m->config.coder.self.way->name);
}

static cla_status draw(const look *l, bool encoder, const char *title, const char *path)
{
    const char *rows[MOST], *columns[MOST], *names[MAPS];
    const float *weights[MAPS];
    const svg_grids grids = {
        .count = l->maps,
        .rows = encoder ? (int)l->source.count : l->said.at[1],
        .columns = (int)l->source.count,
        .row = rows,
        .column = columns,
        .name = names,
        .weight = weights,
    };
    cla_text picture = { 0 };
    for (int i = 0; i < grids.rows; i++) {
        rows[i] = encoder ? l->t->source.vocab.tokens[l->source.id[i]]
                          : l->t->target.vocab.tokens[l->said.id[i]];
    }
    for (int i = 0; i < grids.columns; i++) {
        columns[i] = l->t->source.vocab.tokens[l->source.id[i]];
    }
    for (int i = 0; i < l->maps; i++) {
        names[i] = l->name[i];
        weights[i] = l->weight[i];
    }
    cla_status status = cli_svg_grids(&picture, &grids, 1, title,
                                      encoder ? "rows are queries, columns are keys"
                                              : "rows are said, columns are read");
    status = status ? status : cla_file_write(path, picture.data, picture.size);
    cla_text_free(&picture);
    return status;
}

static cla_status take_cross(look *l)
{
    cross_hard_pass pass = { .look = true };
    CLA_TRY(say(l, &pass));
    return pass.gates ? take_gates(l, &pass) : take_maps(l, pass.map, "head");
}

cla_status cli_inspect_translation(translation *t, const char *text,
                                   const inspect_output *to)
{
    const bool encoder = to->site && strcmp(to->site, "encoder") == 0;
    if (to->site && !encoder && strcmp(to->site, "cross") != 0) {
        return cla_fail(CLA_E_USAGE,
                        "inspect: --site is '%s', must be one of cross, encoder",
                        to->site);
    }
    look l = { .t = t };
    cla_status status = read_source(&l, text);
    status = status ? status : encoder ? take_encoder(&l) : take_cross(&l);
    status = status ? status : draw(&l, encoder, to->title, to->path);
    look_fini(&l);
    return status;
}
