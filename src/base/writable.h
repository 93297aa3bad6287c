/* writable.h - tells before any work whether an output can be written. */
#pragma once

#include "clattn/status.h"

/* Check that cla_file_write can write path: no folder and no device has this name, and
 * its folder is there and may be written. direct: that the file can be opened for
 * writing, which may be a device or a FIFO, too. Errors: CLA_E_IO (naming path and
 * reason), CLA_E_NOMEM. */
cla_status cla_writable_file(const char *path);
cla_status cla_writable_direct(const char *path);

/* Checks that cla_folder_make can make the folder, or that it is one and may be
 * written. Errors: CLA_E_IO (naming path and reason), CLA_E_NOMEM. */
cla_status cla_writable_folder(const char *path);
