/* The wait for a lock, which a signal ends. */
#ifndef SERVER_CLI_WAITING_H
#define SERVER_CLI_WAITING_H

#include "api/client/pawl.h"

struct cli_signals;

/* Calls pawl_acquire(), until a signal arrives that ends a process. That signal ends the wait at
 * once, and a grant is released: returns PAWL_ECANCELLED, and *@ret_signal is the signal. Signals
 * that stop a process stop this process. The status of children that end meanwhile is taken. */
int cli_wait(pawl_client *client, const struct pawl_request *request,
             const struct cli_signals *signals, pawl_lock **ret_lock, int *ret_signal)
    __attribute__((warn_unused_result));

#endif
