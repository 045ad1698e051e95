/* The keys of a service: its key file, and the check of its addresses. Without keys every caller
 * has all rights. So the service then listens only on addresses that other machines cannot reach,
 * unless
 * --open is given. */
#ifndef SERVER_LOOP_KEYS_H
#define SERVER_LOOP_KEYS_H

#include "api/auth/keyring.h"
#include "server/loop/http_options.h"

/* Reports whether a service with @options may listen where they say. 0, or the exit status: one
 * sentence is on stderr then, which says why. Names are not looked up here. */
FENCE_CHECKED int server_keys_check_listens(const struct server_http_options *options);

/* The same for sockets that are open already, with any opener. Listeners for metrics
 * alone need no keys. */
FENCE_CHECKED int server_keys_check_listeners(const struct server_http_options *options,
                                              const struct server_listeners *listeners);

/* Reads the key file. Without one *@ret_ring is NULL. 0, or the exit status, likewise. */
FENCE_CHECKED int server_keys_open(const struct server_http_options *options,
                                   struct api_keyring **ret_ring);

/* Reads the key file again, and puts its keys in force. False: they are wrong, which the log says,
 * and the old ones stay in force. @ring NULL: true. Any thread. */
bool server_keys_reload(const struct server_http_options *options, struct api_keyring *ring);

#endif
