/* serve_listen.c - the socket that the service listens on. */
#include "cli/serve_listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int open_socket(const struct addrinfo *at)
{
    const int yes = 1;
    const int fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                          at->ai_protocol);
    if (fd < 0) {
        return -1;
    }
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(fd, at->ai_addr, at->ai_addrlen) || listen(fd, SOMAXCONN)) {
        const int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* The port that the system chose. */
static int port_of(int fd, int port)
{
    struct sockaddr_storage at = { .ss_family = AF_UNSPEC };
    socklen_t size = sizeof at;
    if (getsockname(fd, (struct sockaddr *)&at, &size)) {
        return port;
    }
    return ntohs(at.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&at)->sin6_port
                                          : ((struct sockaddr_in *)&at)->sin_port);
}

cla_status serve_listen(int *fd, int *port, const char *address)
{
    const struct addrinfo wanted = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                                     .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    char number[16];
    snprintf(number, sizeof number, "%d", *port);
    const int error = getaddrinfo(address, number, &wanted, &found);
    if (error) {
        return cla_fail(CLA_E_USAGE, "--host is '%.80s': %s", address,
                        gai_strerror(error));
    }
    *fd = open_socket(found);
    freeaddrinfo(found);
    if (*fd < 0) {
        return cla_fail(CLA_E_IO, "port %d of %s: %s", *port, address, strerror(errno));
    }
    *port = port_of(*fd, *port);
    return CLA_OK;
}
