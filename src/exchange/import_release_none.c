/* import_release_none.c - in place of import_release.c without zlib or libyaml. */
#include "exchange/import_marian.h"

cla_status cla_marian_read_release(marian *m, const char *dir)
{
    (void)m;
    return cla_fail(CLA_E_USAGE,
                    "%s: clattn was built without zlib or libyaml, which Marian's own "
                    "folders need",
                    dir);
}
