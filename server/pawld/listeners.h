/* The listeners of pawld: the addresses of --listen, or sockets that it was given. */
#ifndef SERVER_PAWLD_LISTENERS_H
#define SERVER_PAWLD_LISTENERS_H

#include "server/loop/listeners.h"
#include "server/pawld/pawld.h"
#include "server/system/passed_sockets.h"

/* Opens the listeners of all workers: @passed, or where there are none the addresses of @options.
 * 0, or the exit status: the reason is on stderr then, and nothing is open. */
FENCE_CHECKED int pawld_listeners_open(const struct pawld_options *options, struct api_tls *tls,
                                       const struct server_passed *passed,
                                       struct server_listeners *ret_listeners);

#endif
