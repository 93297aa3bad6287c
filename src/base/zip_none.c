/* zip_none.c - in place of zip.c without zlib. */
#include "base/zip.h"

cla_status cla_zip_open(cla_zip *zip, const char *path, bool paths)
{
    *zip = (cla_zip){ .paths = paths };
    return cla_fail(CLA_E_USAGE,
                    "%s: clattn was built without zlib, which archives need", path);
}

void cla_zip_close(cla_zip *zip)
{
    *zip = (cla_zip){ 0 };
}

const cla_zip_entry *cla_zip_find(const cla_zip *zip, const char *name)
{
    (void)zip;
    (void)name;
    return NULL;
}

cla_status cla_zip_read(const cla_zip *zip, const cla_zip_entry *e, char **data)
{
    (void)e;
    *data = NULL;
    return cla_fail(CLA_E_USAGE, "%s: clattn was built without zlib", zip->path);
}
