/* The keys of a service: its key file, and the check of its addresses. Without keys every caller
 * has all rights. So the service then listens only on addresses that other machines cannot reach,
 * unless --open is given. */
#ifndef SERVER_LOOP_KEYS_H
#define SERVER_LOOP_KEYS_H

#include "api/auth/keyring.h"
#include "server/loop/http_options.h"

/* Checks whether a service with @options may listen on its addresses. Returns 0, or the exit status
 * after one sentence on stderr. Names are not looked up here. */
FENCE_CHECKED int server_keys_check_listens(const struct server_http_options *options);

/* Checks the same for sockets that are already open, no matter which process opened them. Listeners
 * for metrics alone need no keys. */
FENCE_CHECKED int server_keys_check_listeners(const struct server_http_options *options,
                                              const struct server_listeners *listeners);

/* Reads the key file. Without a key file *@ret_ring is NULL. Returns 0, or the exit status, as
 * above. */
FENCE_CHECKED int server_keys_open(const struct server_http_options *options,
                                   struct api_keyring **ret_ring);

/* Reads the key file again, and activates its keys. If the keys are not valid, returns false, logs
 * why, and keeps the old keys. @ring NULL: true. Any thread. */
bool server_keys_reload(const struct server_http_options *options, struct api_keyring *ring);

#endif
