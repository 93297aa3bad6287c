/* platform_socket.h - a listening socket, and connections. */
#pragma once

#include <stdbool.h>

/* Listens at a numeric address (IPv4 or IPv6) and a port.
 *
 * fd    out      the caller's to close
 * port  in, out  0: any free port; becomes the chosen port
 * why   out      why the address is none; NULL for another reason, in errno
 *
 * Returns whether it listens. */
bool cla_os_listen(int *fd, int *port, const char *address, const char **why);

/* Returns whether the other end of a connection will send no more, or is gone. */
bool cla_os_ended(int fd);
