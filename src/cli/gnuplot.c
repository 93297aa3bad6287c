/* gnuplot.c - pictures by way of gnuplot. */
#include "cli/gnuplot.h"

#include <stdio.h>
#include <sys/wait.h>

cla_status cli_gnuplot(const cla_text *script)
{
    // NOLINTNEXTLINE(cert-env33-c): a fixed command, with nothing of the user's in it
    FILE *pipe = popen("gnuplot", "w");
    if (!pipe) {
        return cla_fail(CLA_E_IO, "gnuplot cannot be started");
    }
    const bool sent = fwrite(script->data, 1, script->size, pipe) == script->size;
    const int code = pclose(pipe);
    if (WIFEXITED(code) && WEXITSTATUS(code) == 127) {
        return cla_fail(CLA_E_USAGE,
                        "this picture needs gnuplot (apt install gnuplot-nox)");
    }
    return sent && code == 0 ? CLA_OK : cla_fail(CLA_E_IO, "gnuplot failed");
}

cla_status cli_gnuplot_quote(cla_text *out, const char *text)
{
    CLA_TRY(cla_text_add(out, "'"));
    for (; *text; text++) {
        const char *as = *text == '\'' ? "''" : NULL;
        CLA_TRY(as ? cla_text_add(out, "%s", as) : cla_text_append(out, text, 1));
    }
    return cla_text_add(out, "'");
}

static cla_status tics(cla_text *out, const char *axis, const char *const *tokens,
                       int count)
{
    CLA_TRY(cla_text_add(out, "set %s (", axis));
    for (int i = 0; i < count; i++) {
        CLA_TRY(cla_text_add(out, "%s", i ? "," : ""));
        CLA_TRY(cli_gnuplot_quote(out, tokens[i]));
        CLA_TRY(cla_text_add(out, " %d", i));
    }
    return cla_text_add(out, ") noenhanced\n");
}

static cla_status panel(cla_text *out, const tagger_map *m)
{
    CLA_TRY(cla_text_add(out,
                         "set title 'layer %d head %d%s'\n"
                         "plot '-' matrix with image notitle\n",
                         m->layer + 1, m->head + 1, m->convolved ? " convolved" : ""));
    for (int i = 0; i < m->tokens; i++) {
        for (int j = 0; j < m->tokens; j++) {
            CLA_TRY(cla_text_add(out, "%g ", (double)m->weight[i * m->tokens + j]));
        }
        CLA_TRY(cla_text_add(out, "\n"));
    }
    return cla_text_add(out, "e\ne\n");
}

cla_status cli_gnuplot_maps(const char *path, const tagger_map *maps, int count,
                            const char *const *tokens)
{
    cla_text script = { 0 };
    const int T = count ? maps[0].tokens : 0;
    int columns = 1;
    while (columns < count && maps[columns].layer == maps[0].layer) {
        columns++;
    }
    const int rows = count ? (count + columns - 1) / columns : 1;
    const int side = 90 + 14 * T;
    cla_status status =
        cla_text_add(&script, "set terminal pngcairo size %d,%d font ',8'\nset output ",
                     columns * side, rows * side);
    status = status ? status : cli_gnuplot_quote(&script, path);
    status = status
                 ? status
                 : cla_text_add(&script,
                                "\nset multiplot layout %d,%d\nset palette defined "
                                "(0 'white', 1 '#123a7a')\nunset colorbox\n"
                                "set yrange [%g:-0.5]\nset xtics rotate by 90 right\n",
                                rows, columns, T - 0.5);
    status = status ? status : tics(&script, "xtics", tokens, T);
    status = status ? status : tics(&script, "ytics", tokens, T);
    for (int i = 0; i < count && !status; i++) {
        status = panel(&script, &maps[i]);
    }
    status = status ? status : cla_text_add(&script, "unset multiplot\n");
    status = status ? status : cli_gnuplot(&script);
    cla_text_free(&script);
    return status;
}
