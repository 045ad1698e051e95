/* Listening sockets. */
#ifndef API_WIRE_LISTEN_H
#define API_WIRE_LISTEN_H

#include "fence/protocol/error.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    API_HTTP_SEND_BUFFER = 64 * 1024, /* bytes of answers that the kernel buffers for a
                                       * connection (and as many for itself). By default it
                                       * buffers megabytes for a client that never reads (tcp(7),
                                       * tcp_wmem) */
};

/* Opens a non-blocking listening socket on @address: numeric "host:port", with brackets around an
 * IPv6 host. "localhost:port" is 127.0.0.1. ":port" is all addresses of the machine. Port 0 takes
 * any free port. The caller closes the socket. FENCE_EINVAL: not such an address. FENCE_EIO: the
 * address cannot be used; errno says why. */
FENCE_CHECKED int api_listen(const char *address, bool reuse_port, int *ret_fd);

/* Reports whether other machines can reach @address: it is neither in 127.0.0.0/8 nor ::1 nor a
 * unix socket ("unix:..."). Returns false if @address is not valid. */
bool api_listen_is_public(const char *address);

/* The same for the listening socket @fd. */
bool api_listen_socket_is_public(int fd);

/* Claims @address for several sockets of this process, among which the kernel then distributes the
 * connections (SO_REUSEPORT). Sockets that were just opened with reuse_port would also share the
 * address with another process that does the same. So:
 *
 *     api_listen_claim(address, &claim);
 *     api_listen(address, true, &fd);    any number of times, on the port of @claim
 *     close(claim);
 *
 * The claim is an ordinary listening socket at first: it fails if another socket listens. Only then
 * does it allow other sockets beside it. So at any moment the address is free, claimed, or listened
 * on. A second process can claim it only while it is free. A connection that arrives before the
 * claim is closed may be reset, as it would have been refused just before.
 *
 * Returns the errors of api_listen(). */
FENCE_CHECKED int api_listen_claim(const char *address, int *ret_claim);

/* The port that @fd is bound to; 0 if it cannot be told. */
uint16_t api_listen_port(int fd);

#endif
