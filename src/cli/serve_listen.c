/* serve_listen.c - opens the socket that the service listens on. */
#include "cli/serve_listen.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text.h"

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

/* Reads the port that the system chose. */
static cla_status read_port(int fd, int *port)
{
    struct sockaddr_storage at;
    socklen_t size = sizeof at;
    char text[NI_MAXSERV];
    int64_t number = 0;
    const bool known = !getsockname(fd, (struct sockaddr *)&at, &size) &&
                       !getnameinfo((struct sockaddr *)&at, size, NULL, 0, text,
                                    sizeof text, NI_NUMERICSERV) &&
                       cla_parse_int(text, &number);
    *port = (int)number;
    return known ? CLA_OK : cla_fail(CLA_E_IO, "serve: the port is not known");
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
    const cla_status status = read_port(*fd, port);
    if (status) {
        close(*fd);
    }
    return status;
}
