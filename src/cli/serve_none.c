/* serve_none.c - replaces serve_http.c in a build without libmicrohttpd. */
#include "cli/serve.h"

cla_status serve_available(void)
{
    return cla_fail(CLA_E_USAGE, "clattn was built without libmicrohttpd (meson option "
                                 "serve)");
}

cla_status serve_run(serve *s, const char *address, int port)
{
    (void)s, (void)address, (void)port;
    return serve_available();
}
