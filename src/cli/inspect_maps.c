/* inspect_maps.c - writes attention maps of one sequence; those of language models. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/safetensors.h"
#include "base/utf8.h"
#include "cli/inspect.h"
#include "cli/svg.h"

/* ---- files ----------------------------------------------------------------------- */

static cla_status write_tensors(const char *path, int64_t columns,
                                const tagger_view *view)
{
    const int64_t T = view->maps[0].tokens;
    const size_t n = (size_t)view->count + 1;
    cla_st_tensor *tensors = NULL;
    char(*names)[32] = NULL;
    cla_status status = cla_alloc(&tensors, n, sizeof *tensors);
    status = status ? status : cla_alloc(&names, n, sizeof *names);
    if (!status) {
        tensors[0] = (cla_st_tensor){ "logits",       CLA_ST_F32,  2,
                                      { T, columns }, T * columns, view->logits };
        for (int i = 0; i < view->count; i++) {
            const tagger_map *m = &view->maps[i];
            snprintf(names[i], sizeof names[i], "%s.%d.%d",
                     m->convolved ? "convolved" : "map", m->layer, m->head);
            tensors[i + 1] =
                (cla_st_tensor){ names[i], CLA_ST_F32, 2, { T, T }, T * T, m->weight };
        }
        status = cla_st_save(path, tensors, n, NULL);
    }
    free(names);
    free(tensors);
    return status;
}

cla_status cli_inspect_view(const tagger_view *view, int64_t columns,
                            const char *const *tokens, const inspect_output *to)
{
    cla_text picture = { 0 };
    if (cla_ends_in(to->path, ".safetensors")) {
        return write_tensors(to->path, columns, view);
    }
    cla_status status =
        cli_svg_maps(&picture, view->maps, view->count, tokens, to->title);
    status = status ? status : cla_file_write(to->path, picture.data, picture.size);
    cla_text_free(&picture);
    return status;
}

/* ---- language models ------------------------------------------------------------- */

cla_status cli_inspect_language(language *t, const char *text, const inspect_output *to)
{
    const size_t size = strlen(text), good = cla_utf8_check(text, size);
    tagger_view view = { 0 };
    cla_text names = { 0 };
    const char **tokens = NULL;
    size_t pieces = 0;
    if (good < size) {
        return cla_fail(CLA_E_INPUT, "--text is not UTF-8 (byte %zu)", good);
    }
    cla_status status = cla_language_look(t, text, size, &view, &names, &pieces);
    status = status ? status : cla_text_strings(&names, pieces, &tokens);
    status = status ? status : cli_inspect_view(&view, t->config.pieces, tokens, to);
    cla_tagger_view_free(&view);
    cla_text_free(&names);
    free(tokens);
    return status;
}
