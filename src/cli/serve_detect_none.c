/* serve_detect_none.c - replaces serve_detect.c in a build without libexttextcat. */
#include "cli/serve.h"

cla_status serve_detector_new(serve_detector **out, const serve_models *m)
{
    (void)m;
    *out = NULL;
    return cla_fail(CLA_E_USAGE,
                    "clattn was built without libexttextcat (meson option detect)");
}

void serve_detector_free(serve_detector **detector)
{
    *detector = NULL;
}

json_t *serve_detect(const serve_detector *detector, const char *text, size_t size)
{
    (void)detector, (void)text, (void)size;
    return json_array();
}
