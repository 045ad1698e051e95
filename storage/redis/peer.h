/* Finds which machine is at the other end of a connection. */
#ifndef STORAGE_REDIS_PEER_H
#define STORAGE_REDIS_PEER_H

#include "fence/protocol/limits.h"

/* The names of this machine, for each of its addresses. */
#define STORAGE_HOST_LOCAL "local"

/* Writes the peer's IP address of the connected socket @fd; "" if it is not known. It is
 * STORAGE_HOST_LOCAL for this machine (loopback, a Unix socket, its own address). */
void storage_redis_host(int fd, char ret_host[static FENCE_HOST_MAX + 1]);

#endif
