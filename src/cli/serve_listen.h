/* serve_listen.h - the socket that the service listens on. */
#pragma once

#include "base/base.h"

/* Listens at a numeric address (IPv4 or IPv6) and a port; 0: any that is free.
 *
 * fd    out  the caller's to close
 * port  out  the one that it became
 *
 * Errors: CLA_E_USAGE (no address), CLA_E_IO. */
cla_status serve_listen(int *fd, int *port, const char *address);
