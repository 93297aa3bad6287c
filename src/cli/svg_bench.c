/* svg_bench.c - draws results of a benchmark as bars, and under a device's roofline. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/svg.h"

enum { COLOURS = 8, ENTRY = 18, SPACE = 10, RIGHT = 24 };

static const char *const colours[COLOURS] = { "#123a7a", "#c8641e", "#3a7a3a",
                                              "#8a2a5a", "#5a5a5a", "#2a8a8a",
                                              "#a08a1e", "#6a4ab0" };

/* The kinds of rows in order of appearance, each with a colour; kinds beyond the last
 * entry share its colour. */
typedef struct kinds {
    const char *name[2 * COLOURS];
    int count;
} kinds;

static int kind_of(kinds *k, const char *name)
{
    int i = 0;
    while (i < k->count && strcmp(k->name[i], name) != 0) {
        i++;
    }
    if (i == k->count && k->count < 2 * COLOURS) {
        k->name[k->count++] = name;
    }
    return i < 2 * COLOURS ? i : 2 * COLOURS - 1;
}

/* Appends the colour of a kind. After eight kinds the colours repeat, hollow. */
static cla_status add_paint(cla_text *out, int kind)
{
    const char *colour = colours[kind % COLOURS];
    return cla_text_add(out, "fill=\"%s\" stroke=\"%s\"",
                        kind < COLOURS ? colour : "white", colour);
}

static cla_status add_entries(cla_text *out, const kinds *k, int left, int top)
{
    for (int i = 0; i < k->count; i++) {
        const int y = top + i * ENTRY;
        CLA_TRY(cla_text_add(out, "<rect x=\"%d\" y=\"%d\" width=\"10\" height=\"10\" ",
                             left, y));
        CLA_TRY(add_paint(out, i));
        CLA_TRY(cla_text_add(out, "/>\n<text x=\"%d\" y=\"%d\">", left + 18, y + 9));
        CLA_TRY(cli_svg_escaped_whole(out, k->name[i]));
        CLA_TRY(cla_text_add(out, "</text>\n"));
    }
    return CLA_OK;
}

/* ---- bars -------------------------------------------------------------------- */

enum { BARS_WIDE = 420, BAR_STEP = 17, BAR_HIGH = 12, VALUE_WIDE = 60 };

static cla_status add_bar(cla_text *out, const svg_bar *bar, int kind, int left, int y,
                          double scale)
{
    const double wide = fmax(bar->value * scale, 1);
    CLA_TRY(cla_text_add(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", left - 6,
                         y + 10));
    CLA_TRY(cli_svg_escaped_whole(out, bar->name));
    CLA_TRY(cla_text_add(out,
                         "</text>\n<rect x=\"%d\" y=\"%d\" width=\"%.1f\" "
                         "height=\"%d\" ",
                         left, y, wide, BAR_HIGH));
    CLA_TRY(add_paint(out, kind));
    return cla_text_add(out, "/>\n<text x=\"%.1f\" y=\"%d\">%.4g</text>\n",
                        left + wide + 5, y + 10, bar->value);
}

cla_status cli_svg_bars(cla_text *out, const svg_bar *bars, int count,
                        const char *title)
{
    kinds k = { .count = 0 };
    int left = 0;
    double most = 0;
    for (int i = 0; i < count; i++) {
        const int wide = cli_svg_width_whole(bars[i].name, CLI_SVG_FONT);
        left = wide > left ? wide : left;
        most = fmax(most, bars[i].value);
        kind_of(&k, bars[i].kind);
    }
    left += 2 * SPACE;
    const int legend = CLI_SVG_TITLE + SPACE + count * BAR_STEP + SPACE;
    const int width = left + BARS_WIDE + VALUE_WIDE;
    CLA_TRY(cli_svg_begin(out, title, width, legend + k.count * ENTRY + SPACE));
    for (int i = 0; i < count; i++) {
        CLA_TRY(add_bar(out, &bars[i], kind_of(&k, bars[i].kind), left,
                        CLI_SVG_TITLE + SPACE + i * BAR_STEP,
                        most > 0 ? BARS_WIDE / most : 0));
    }
    CLA_TRY(add_entries(out, &k, left, legend));
    return cla_text_add(out, "</svg>\n");
}

/* ---- a roofline -------------------------------------------------------------- */

enum { LEFT = 70, WIDE = 600, HIGH = 400, TOP = CLI_SVG_TITLE + SPACE };

/* The ranges of the axes, as decimal logarithms. */
typedef struct plane {
    double x_low, x_high, y_low, y_high;
} plane;

static double x_of(const plane *p, double value)
{
    return LEFT + (log10(value) - p->x_low) / (p->x_high - p->x_low) * WIDE;
}

static double y_of(const plane *p, double value)
{
    return TOP + (p->y_high - log10(value)) / (p->y_high - p->y_low) * HIGH;
}

static plane find_plane(const svg_roofline *r)
{
    const double ridge = log10(r->peak_gflops / r->peak_gbs);
    plane p = { ridge, ridge, log10(r->peak_gflops), log10(r->peak_gflops) };
    for (int i = 0; i < r->count; i++) {
        const double x = log10(r->point[i].intensity), y = log10(r->point[i].gflops);
        p.x_low = fmin(p.x_low, x);
        p.x_high = fmax(p.x_high, x);
        p.y_low = fmin(p.y_low, y);
        p.y_high = fmax(p.y_high, y);
    }
    /* Whole decades, with a margin beside the ridge. */
    p.x_low = floor(p.x_low - 0.05);
    p.x_high = ceil(p.x_high + 0.05);
    p.y_low = floor(p.y_low - 0.05);
    p.y_high = ceil(p.y_high + 0.05);
    return p;
}

static cla_status add_ticks(cla_text *out, const plane *p)
{
    const int x_low = (int)p->x_low, x_high = (int)p->x_high;
    const int y_low = (int)p->y_low, y_high = (int)p->y_high;
    for (int power = x_low; power <= x_high; power++) {
        const double value = pow(10, power), x = x_of(p, value);
        CLA_TRY(cla_text_add(out,
                             "<path d=\"M%.1f %dv%d\" stroke=\"#ddd\"/>\n<text "
                             "x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
                             x, TOP, HIGH, x, TOP + HIGH + 15, value));
    }
    for (int power = y_low; power <= y_high; power++) {
        const double value = pow(10, power), y = y_of(p, value);
        CLA_TRY(cla_text_add(out,
                             "<path d=\"M%d %.1fh%d\" stroke=\"#ddd\"/>\n<text "
                             "x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                             LEFT, y, WIDE, LEFT - 6, y + 4, value));
    }
    return cla_text_add(
        out,
        "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" "
        "stroke=\"#888\"/>\n"
        "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">operations per byte</text>\n"
        "<text transform=\"translate(16,%d) rotate(-90)\" "
        "text-anchor=\"middle\">GFLOP/s</text>\n",
        LEFT, TOP, WIDE, HIGH, LEFT + WIDE / 2, TOP + HIGH + 32, TOP + HIGH / 2);
}

/* Draws the roof: bytes per second times operations per byte, up to the device's peak.
 * Prints both peaks below. */
static cla_status add_roof(cla_text *out, const svg_roofline *r, const plane *p,
                           int legend)
{
    const double ridge = r->peak_gflops / r->peak_gbs;
    const double bottom = pow(10, p->y_low);
    const double from = fmax(pow(10, p->x_low), bottom / r->peak_gbs);
    return cla_text_add(
        out,
        "<path d=\"M%.1f %.1fL%.1f %.1fH%d\" fill=\"none\" stroke=\"black\" "
        "stroke-width=\"2\"/>\n"
        "<path d=\"M%d %dh12\" stroke=\"black\" stroke-width=\"2\"/>\n"
        "<text x=\"%d\" y=\"%d\">measured peaks: %.4g GFLOP/s, %.3g GB/s</text>\n",
        x_of(p, from), y_of(p, from * r->peak_gbs), x_of(p, ridge),
        y_of(p, r->peak_gflops), LEFT + WIDE, LEFT - 1, legend + 5, LEFT + 18,
        legend + 9, r->peak_gflops, r->peak_gbs);
}

cla_status cli_svg_roofline(cla_text *out, const svg_roofline *r, const char *title)
{
    const plane p = find_plane(r);
    kinds k = { .count = 0 };
    for (int i = 0; i < r->count; i++) {
        kind_of(&k, r->point[i].kind);
    }
    const int legend = TOP + HIGH + 46;
    CLA_TRY(cli_svg_begin(out, title, LEFT + WIDE + RIGHT,
                          legend + (k.count + 1) * ENTRY + SPACE));
    CLA_TRY(add_ticks(out, &p));
    CLA_TRY(add_roof(out, r, &p, legend));
    for (int i = 0; i < r->count; i++) {
        const svg_roof_point *at = &r->point[i];
        CLA_TRY(cla_text_add(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" ",
                             x_of(&p, at->intensity), y_of(&p, at->gflops)));
        CLA_TRY(add_paint(out, kind_of(&k, at->kind)));
        CLA_TRY(cla_text_add(out, "><title>"));
        CLA_TRY(cli_svg_escaped_whole(out, at->name));
        CLA_TRY(cla_text_add(out, "</title></circle>\n"));
    }
    CLA_TRY(add_entries(out, &k, LEFT, legend + ENTRY));
    return cla_text_add(out, "</svg>\n");
}
