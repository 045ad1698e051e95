/* The listeners of pawld: the addresses of --listen, or sockets that another process passed. */
#ifndef SERVER_PAWLD_LISTENERS_H
#define SERVER_PAWLD_LISTENERS_H

#include "server/loop/listeners.h"
#include "server/pawld/pawld.h"
#include "server/system/passed_sockets.h"

/* Opens the listeners of all workers: @passed, or the addresses of @options if none were passed.
 * Returns 0, or the exit status after the reason on stderr; then nothing is open. */
FENCE_CHECKED int pawld_listeners_open(const struct pawld_options *options, struct api_tls *tls,
                                       const struct server_passed *passed,
                                       struct server_listeners *ret_listeners);

#endif
