/* A TCP proxy on loopback: links that fail as networks do. Each link listens on its own port
 * and hands on what comes, both ways, to one other port.
 *
 * One thread carries all links. The calls may come from any thread; what they ask for takes hold
 * within moments, not before they return. */
#ifndef TESTS_CHAOS_PROXY_H
#define TESTS_CHAOS_PROXY_H

#include <stdbool.h>
#include <stdint.h>

enum {
    PROXY_LINKS_MAX = 32,

    PROXY_THERE = 1, /* the bytes from the side that connected sends */
    PROXY_BACK = 2,  /* the bytes of the answer */
};

struct proxy;

struct proxy *proxy_new(void);

/* Closes all that is open. NULL is fine. */
void proxy_free(struct proxy *proxy);

/* Adds a link to 127.0.0.1:@upstream and returns its number. */
unsigned proxy_add(struct proxy *proxy, uint16_t upstream);

/* The port of @link. */
uint16_t proxy_port(const struct proxy *proxy, unsigned link);

/* From now on holds back what goes in @directions (PROXY_THERE | PROXY_BACK: a black hole), and the
 * ends of connections with it; 0: all flows again. The held bytes arrive then, in order and
 * late, even if its sender has long closed: a packet that was on its way for seconds. */
void proxy_hold(struct proxy *proxy, unsigned link, unsigned directions);

/* Everything takes @delay_ms more, each way. 0: no more. */
void proxy_delay(struct proxy *proxy, unsigned link, unsigned delay_ms);

/* Refuses connections, after resetting the open ones; false: accepts them again. */
void proxy_refuse(struct proxy *proxy, unsigned link, bool refuse);

/* Resets the connections that stand. Held bytes are lost. */
void proxy_reset(struct proxy *proxy, unsigned link);

/* Connections made from now on go to @upstream; open ones stay where they are. */
void proxy_point(struct proxy *proxy, unsigned link, uint16_t upstream);

#endif
