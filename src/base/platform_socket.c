/* platform_socket.c - opens a socket that listens, by POSIX. */
#include "base/platform_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static int open_socket(const struct addrinfo *at)
{
    const int yes = 1;
#ifdef __linux__
    const int fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                          at->ai_protocol);
#else
    const int fd = socket(at->ai_family, at->ai_socktype, at->ai_protocol);
    if (fd >= 0) {
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        fcntl(fd, F_SETFL, O_NONBLOCK);
    }
#endif
    if (fd < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(fd, at->ai_addr, at->ai_addrlen) || listen(fd, SOMAXCONN)) {
        const int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* Reads the port that the system chose; 0 when it is not known. */
static int read_port(int fd)
{
    struct sockaddr_storage at;
    socklen_t size = sizeof at;
    char text[NI_MAXSERV];
    const bool known = !getsockname(fd, (struct sockaddr *)&at, &size) &&
                       !getnameinfo((struct sockaddr *)&at, size, NULL, 0, text,
                                    sizeof text, NI_NUMERICSERV);
    return known ? (int)strtol(text, NULL, 10) : 0;
}

bool cla_os_listen(int *fd, int *port, const char *address, const char **why)
{
    const struct addrinfo wanted = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                                     .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    char number[16];
    snprintf(number, sizeof number, "%d", *port);
    const int error = getaddrinfo(address, number, &wanted, &found);
    *why = error ? gai_strerror(error) : NULL;
    if (error) return false;
    *fd = open_socket(found);
    freeaddrinfo(found);
    if (*fd < 0) return false;
    *port = read_port(*fd);
    if (*port) return true;
    close(*fd);
    errno = EADDRNOTAVAIL;
    return false;
}

bool cla_os_ended(int fd)
{
    char byte;
    const ssize_t n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n == 0 ||
           (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}
