/* svg.c - shared parts of all pictures: text, its width, the frame. */
#include "cli/svg.h"

#include <limits.h>
#include <string.h>

#include "base/utf8.h"

enum { TOKEN_LETTERS = 14, TITLE_FONT = 14, MARGIN = 8 };

cla_status cli_svg_check_name(const char *command, const char *path)
{
    const size_t size = strlen(path);
    return size > 4 && strcmp(path + size - 4, ".svg") == 0
               ? CLA_OK
               : cla_fail(CLA_E_USAGE,
                          "%s: --out is '%s', pictures are .svg files (rsvg-convert, "
                          "Inkscape or a browser converts them)",
                          command, path);
}

/* Reads the letter at text (not at its end); returns its length in bytes. Control
 * characters other than tab, which XML does not allow, and bytes that are not UTF-8 are
 * read as U+FFFD. */
static int next_letter(const char *text, int32_t *code)
{
    const int bytes = cla_utf8_step(text, strnlen(text, 4), code);
    const bool control = (*code < 0x20 && *code != '\t') ||
                         (*code >= 0x7F && *code < 0xA0) || *code == 0xFFFE ||
                         *code == 0xFFFF;
    *code = control ? 0xFFFD : *code;
    return bytes;
}

static cla_status escaped_to(cla_text *out, const char *text, int most)
{
    static const char special[] = "<>&\"'";
    static const char *const entity[] = { "&lt;", "&gt;", "&amp;", "&quot;", "&apos;" };
    int letters = 0;
    while (*text) {
        int32_t code = 0;
        char letter[5];
        text += next_letter(text, &code);
        const char *at = code < 128 ? strchr(special, (int)code) : NULL;
        if (letters++ == most) {
            return cla_text_add(out, "…");
        }
        CLA_TRY(at ? cla_text_add(out, "%s", entity[at - special])
                   : cla_text_append(out, letter, (size_t)cla_utf8_put(code, letter)));
    }
    return CLA_OK;
}

cla_status cli_svg_escaped(cla_text *out, const char *text)
{
    return escaped_to(out, text, TOKEN_LETTERS);
}

cla_status cli_svg_escaped_whole(cla_text *out, const char *text)
{
    return escaped_to(out, text, INT_MAX);
}

/* Returns the width of a letter in tenths of the font size: at least its width in
 * DejaVu Sans, a wide font. */
static int letter_width(int32_t code)
{
    static const char narrow[] = "fijlrt.,:;'|!()[]/ ";
    static const char broad[] = "mwMW@%";
    if (code >= 0x1100) {
        return cla_utf8_kind_of(code) == CLA_UTF8_IDEOGRAPH ? 10 : 8;
    }
    if (code < 128 && strchr(narrow, (int)code)) {
        return 4;
    }
    if (code < 128 && strchr(broad, (int)code)) {
        return 10;
    }
    return code >= 'A' && code <= 'Z' ? 8 : 7;
}

static int width_to(const char *text, int font, int most)
{
    int tenths = 0;
    for (int letters = 0; *text; letters++) {
        int32_t code = 0;
        text += next_letter(text, &code);
        if (letters == most) {
            tenths += 10; // the ellipsis
            break;
        }
        tenths += letter_width(code);
    }
    return (tenths * font + 9) / 10;
}

int cli_svg_width(const char *text, int font)
{
    return width_to(text, font, TOKEN_LETTERS);
}

int cli_svg_width_whole(const char *text, int font)
{
    return width_to(text, font, INT_MAX);
}

cla_status cli_svg_begin(cla_text *out, const char *title, int width, int height)
{
    const int least = cli_svg_width_whole(title, TITLE_FONT) + 2 * MARGIN;
    CLA_TRY(cla_text_add(out,
                         "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
                         "height=\"%d\" font-family=\"sans-serif\" font-size=\"%d\">\n"
                         "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
                         "<text x=\"%d\" y=\"18\" font-size=\"%d\">",
                         width > least ? width : least, height, CLI_SVG_FONT, MARGIN,
                         TITLE_FONT));
    CLA_TRY(cli_svg_escaped_whole(out, title));
    return cla_text_add(out, "</text>\n");
}
