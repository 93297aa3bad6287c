/* serve_listen.h - the listening socket of the service. */
#pragma once

#include "base/base.h"

/* Listens at a numeric address (IPv4 or IPv6) and a port.
 *
 * fd    out      the caller's to close
 * port  in, out  0: any free port; becomes the chosen port
 *
 * Errors: CLA_E_USAGE (not an address), CLA_E_IO. */
cla_status serve_listen(int *fd, int *port, const char *address);
