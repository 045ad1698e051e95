/* TCP ports on loopback. */
#ifndef TESTS_LIB_PORT_H
#define TESTS_LIB_PORT_H

#include <netinet/in.h>
#include <stdint.h>

/* Returns a port on 127.0.0.1 that nothing is bound to, and that no process of the tests
 * returned before, as long as that process lives.
 *
 * It lies below the range from which the kernel takes the ports of outgoing connections: a server
 * that was killed finds its port free again, and a client that connects again and again to a port
 * where no process listens can never be connected to itself. */
uint16_t port_free(void);

/* The address of @port there. */
struct sockaddr_in port_address(uint16_t port);

#endif
