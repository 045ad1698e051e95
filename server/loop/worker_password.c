/* Changes the password of the masters while a worker serves. */
#include "server/loop/worker.h"
#include "server/loop/worker_state.h"
#include "server/system/log.h"

static void on_password_refused(void *context, unsigned i, const char *why)
{
    const struct server_worker *worker = context;
    server_log_few(
        SERVER_LOG_WARNING, i,
        "%smaster %u (%s) does not accept the new password yet: %s. pawld continues with the old "
        "password. Set the new password at the master, or correct the file and send SIGHUP",
        worker->label, i + 1, server_driver_address(worker->driver, i), why);
}

void server_worker_password(struct server_worker *worker, const char *password)
{
    for (unsigned i = 0; i < worker->config.addresses.n; i++)
        storage_master_password(server_driver_master(worker->driver, i), password,
                                on_password_refused, worker);
}
