/* A free TCP port on loopback. */
#ifndef TESTS_LIB_PORT_H
#define TESTS_LIB_PORT_H

#include <stdint.h>

/* Returns a port on 127.0.0.1 that nothing is bound to, and that this process did not return
 * before.
 *
 * It lies below the range from which the kernel takes the ports of outgoing connections: a server
 * that was killed finds its port free again, and a client that connects again and again to a port
 * where nobody listens can never be connected to itself. */
uint16_t port_free(void);

#endif
