/* Listening sockets. */
#ifndef API_LISTEN_H
#define API_LISTEN_H

#include "fence/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Opens a non-blocking listening socket on @address: numeric "host:port", an IPv6 host in brackets;
 * port 0 takes any free one. The caller closes it. FENCE_EINVAL: not such an address. FENCE_EIO:
 * it cannot be had; errno says why. */
FENCE_CHECKED int api_listen(const char *address, bool reuse_port, int *ret_fd);

/* The port that @fd is bound to; 0 if it cannot be told. */
uint16_t api_listen_port(int fd);

#endif
