/* svg_curves.c - draws curves over one pair of axes. */
#include <math.h>
#include <stdio.h>

#include "cli/svg.h"

enum {
    WIDTH = 900,
    HEIGHT = 420, // of the plot area
    TOP = 16,
    RIGHT = 24,
    ENTRY = 18, // a line of the legend
    COLOURS = 8,
    TICKS = 24
};

static const char *const colours[COLOURS] = { "#123a7a", "#c8641e", "#3a7a3a",
                                              "#8a2a5a", "#5a5a5a", "#2a8a8a",
                                              "#a08a1e", "#6a4ab0" };
/* After eight curves the colours repeat, dashed. */
static const char *const dashes[] = { "none", "8 4", "2 3", "10 3 2 3" };

/* An axis with its ticks and their labels. */
typedef struct axis {
    double low, high; // range
    double tick[TICKS];
    char text[TICKS][24];
    int ticks;
} axis;

/* Returns 1, 2 or 5 times a power of ten that divides span into four to ten steps. */
static double tick_step(double span)
{
    const double power = pow(10, floor(log10(span / 4)));
    const double times = span / 4 / power;
    return power * (times >= 5 ? 5 : times >= 2 ? 2 : 1);
}

/* Writes the label of a tick, with enough digits to differ from its neighbours. */
static void name_tick(char text[24], double at, double step)
{
    const double digits = fmax(0, -floor(log10(step) + 1e-9));
    if (digits > 6 || fabs(at) >= 1e9) {
        snprintf(text, 24, "%.3g", at);
    } else {
        snprintf(text, 24, "%.*f", (int)digits, at);
    }
}

static axis make_axis(double low, double high)
{
    axis a = { .low = low, .high = high };
    if (!(high > low)) {
        const double around = fmax(fabs(low) * 0.1, 1e-9);
        a.low = low - around;
        a.high = high + around;
    }
    const double step = tick_step(a.high - a.low);
    const double first = ceil(a.low / step - 1e-9);
    for (int i = 0; i < TICKS && (first + i) * step <= a.high + 1e-9 * step; i++) {
        const double at = (first + i) ? (first + i) * step : 0; // not -0
        a.tick[a.ticks] = at;
        name_tick(a.text[a.ticks++], at, step);
    }
    return a;
}

static void find_range(const svg_curve *curves, int count, axis *x, axis *y)
{
    double low[2] = { INFINITY, INFINITY }, high[2] = { -INFINITY, -INFINITY };
    for (int k = 0; k < count; k++) {
        for (int i = 0; i < curves[k].count; i++) {
            const double band = curves[k].band ? curves[k].band[i] : 0;
            low[0] = fmin(low[0], curves[k].x[i]);
            high[0] = fmax(high[0], curves[k].x[i]);
            low[1] = fmin(low[1], curves[k].y[i] - band);
            high[1] = fmax(high[1], curves[k].y[i] + band);
        }
    }
    const double margin = (high[1] - low[1]) / 20;
    *x = make_axis(low[0], high[0]);
    *y = make_axis(low[1] - margin, high[1] + margin);
}

/* ---- the picture ------------------------------------------------------------- */

/* left, wide: of the plot area. */
typedef struct plot {
    axis x, y;
    int left, wide;
} plot;

static double x_of(const plot *p, double value)
{
    return p->left + (value - p->x.low) / (p->x.high - p->x.low) * p->wide;
}

static double y_of(const plot *p, double value)
{
    return TOP + (p->y.high - value) / (p->y.high - p->y.low) * HEIGHT;
}

static cla_status draw_ticks(cla_text *out, const plot *p)
{
    for (int i = 0; i < p->x.ticks; i++) {
        const double x = x_of(p, p->x.tick[i]);
        CLA_TRY(cla_text_add(out,
                             "<path d=\"M%.1f %dV%d\" stroke=\"#ddd\"/>\n<text "
                             "x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
                             x, TOP, TOP + HEIGHT, x, TOP + HEIGHT + 16, p->x.text[i]));
    }
    for (int i = 0; i < p->y.ticks; i++) {
        const double y = y_of(p, p->y.tick[i]);
        CLA_TRY(cla_text_add(out,
                             "<path d=\"M%d %.1fh%d\" stroke=\"#ddd\"/>\n<text "
                             "x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                             p->left, y, p->wide, p->left - 6, y + 4, p->y.text[i]));
    }
    return cla_text_add(out,
                        "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
                        "fill=\"none\" stroke=\"#888\"/>\n",
                        p->left, TOP, p->wide, HEIGHT);
}

static cla_status draw_labels(cla_text *out, const plot *p, const char *x_label,
                              const char *y_label)
{
    CLA_TRY(cla_text_add(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">",
                         p->left + p->wide / 2, TOP + HEIGHT + 34));
    CLA_TRY(cli_svg_escaped_whole(out, x_label));
    CLA_TRY(cla_text_add(out,
                         "</text>\n<text transform=\"translate(16,%d) rotate(-90)\" "
                         "text-anchor=\"middle\">",
                         TOP + HEIGHT / 2));
    CLA_TRY(cli_svg_escaped_whole(out, y_label));
    return cla_text_add(out, "</text>\n");
}

/* Draws the area between y - band, left to right, and y + band, back. */
static cla_status draw_band(cla_text *out, const plot *p, const svg_curve *c, int k)
{
    if (!c->band) return CLA_OK;

    CLA_TRY(cla_text_add(out, "<polygon fill=\"%s\" fill-opacity=\"0.2\" points=\"",
                         colours[k % COLOURS]));
    for (int i = 0; i < 2 * c->count; i++) {
        const bool below = i < c->count;
        const int at = below ? i : 2 * c->count - 1 - i;
        const double y = c->y[at] + (below ? -c->band[at] : c->band[at]);
        CLA_TRY(cla_text_add(out, "%s%.1f,%.1f", i ? " " : "", x_of(p, c->x[at]),
                             y_of(p, y)));
    }
    return cla_text_add(out, "\"/>\n");
}

static cla_status draw_curve(cla_text *out, const plot *p, const svg_curve *c, int k)
{
    enum { DOTS = 60 }; // more dots would form a thick line
    const char *colour = colours[k % COLOURS];
    CLA_TRY(cla_text_add(out,
                         "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" "
                         "stroke-dasharray=\"%s\" points=\"",
                         colour, dashes[k / COLOURS % 4]));
    for (int i = 0; i < c->count; i++) {
        CLA_TRY(cla_text_add(out, "%s%.1f,%.1f", i ? " " : "", x_of(p, c->x[i]),
                             y_of(p, c->y[i])));
    }
    CLA_TRY(cla_text_add(out, "\"/>\n"));
    for (int i = 0; i < c->count && c->count <= DOTS; i++) {
        CLA_TRY(cla_text_add(out,
                             "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n",
                             x_of(p, c->x[i]), y_of(p, c->y[i]), colour));
    }
    return CLA_OK;
}

static cla_status draw_entry(cla_text *out, const plot *p, const svg_curve *c, int k)
{
    const int y = TOP + HEIGHT + 58 + k * ENTRY;
    CLA_TRY(cla_text_add(out,
                         "<path d=\"M%d %dh30\" stroke=\"%s\" stroke-width=\"2\" "
                         "stroke-dasharray=\"%s\"/>\n<text x=\"%d\" y=\"%d\">",
                         p->left, y, colours[k % COLOURS], dashes[k / COLOURS % 4],
                         p->left + 38, y + 4));
    CLA_TRY(cli_svg_escaped_whole(out, c->name));
    return cla_text_add(out, "</text>\n");
}

enum { FONT = 12 };

/* Sets the plot area, with space for the longest label of the y axis. Returns the width
 * of the picture, with space for the longest name in the legend. */
static int lay_out(plot *p, const svg_curve *curves, int count)
{
    int width = WIDTH;
    p->left = 0;
    for (int i = 0; i < p->y.ticks; i++) {
        const int wide = cli_svg_width_whole(p->y.text[i], FONT);
        p->left = wide > p->left ? wide : p->left;
    }
    p->left += 34; // the y axis' name is beside its labels
    for (int k = 0; k < count; k++) {
        const int wide = p->left + 38 + cli_svg_width_whole(curves[k].name, FONT);
        width = wide + RIGHT > width ? wide + RIGHT : width;
    }
    p->wide = WIDTH - p->left - RIGHT;
    return width;
}

cla_status cli_svg_curves(cla_text *out, const svg_curve *curves, int count,
                          const char *x_label, const char *y_label)
{
    plot p = { .left = 0 };
    find_range(curves, count, &p.x, &p.y);
    const int width = lay_out(&p, curves, count);
    CLA_TRY(cla_text_add(out,
                         "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
                         "height=\"%d\" font-family=\"sans-serif\" font-size=\"%d\">\n"
                         "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
                         width, TOP + HEIGHT + 58 + count * ENTRY, FONT));
    CLA_TRY(draw_ticks(out, &p));
    CLA_TRY(draw_labels(out, &p, x_label, y_label));
    for (int k = 0; k < count; k++) {
        CLA_TRY(draw_band(out, &p, &curves[k], k));
    }
    for (int k = 0; k < count; k++) {
        CLA_TRY(draw_curve(out, &p, &curves[k], k));
        CLA_TRY(draw_entry(out, &p, &curves[k], k));
    }
    return cla_text_add(out, "</svg>\n");
}
