/* markup_none.c - functions that fail, for builds without Gumbo and MD4C. */
#include "text/markup.h"

static cla_status refuse(const char *markup, const char *library)
{
    return cla_fail(CLA_E_USAGE,
                    "%s: clattn was built without %s (meson option markup)", markup,
                    library);
}

bool cla_markup_there(void)
{
    return false;
}

cla_status cla_html_parts(cla_document *d)
{
    (void)d;
    return refuse("HTML", "Gumbo");
}

cla_status cla_markdown_parts(cla_document *d)
{
    (void)d;
    return refuse("Markdown", "MD4C");
}
